// A peer's client program: a line of JSON on standard input is a call, a line of output its answer or one event.
// The calls are those of `Caller` in words.py, and `open`; each has a number `n`, which its answers repeat.

import { createInterface } from "node:readline";

const STREAMS = new Set(["stream", "subscribe"]);

const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

// `open(url, version, binding)` gives an object with the calls as methods; `nameOf(error)` the specification's name of
// an error that the agent answered, undefined for any other failure.
export async function serve(open, nameOf) {
  let caller;
  const left = new Set();

  async function answer({ n, call, with: given }) {
    try {
      if (call === "open") {
        caller = await open(given.url, given.version, given.binding);
        tell({ n, result: null });
      } else if (STREAMS.has(call)) {
        for await (const event of caller[call](given)) {
          if (left.has(n)) return;
          tell({ n, event });
        }
        tell({ n, result: null });
      } else {
        tell({ n, result: await caller[call](given) });
      }
    } catch (error) {
      tell({ n, error: nameOf(error) ?? null, trace: `${error?.stack ?? error}\n${error?.cause?.stack ?? ""}` });
    }
  }

  for await (const line of createInterface({ input: process.stdin })) {
    const call = JSON.parse(line);
    if (call.call === "leave") left.add(call.n);
    else answer(call);
  }
  process.exit(0);
}
