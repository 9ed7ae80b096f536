// What the agents on the official JavaScript SDKs' servers share: what they do, and how they are served.

import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";

const QUESTION = "Up or down?";

// The SDKs say of each webhook that it was called, on standard output, which nobody reads after its first line.
console.info = console.error;

// Does what the first word of the task's first message says; the latest message may answer a question. `work` has
// `give`, `giveBack`, `show`, `ask`, `requireAuth`, `fail`, `reject`, `complete` and `cancelled`.
export async function obey(work, first, latest) {
  const [verb, ...words] = first.split(" ");
  if (verb === "fail") return work.fail("It broke.");
  if (verb === "reject") return work.reject("Not this.");
  if (verb === "say") work.give(first.slice("say ".length), false, true);
  if (verb === "enter") return work.requireAuth("Who are you?");
  if (verb === "parts") work.giveBack();
  if (verb === "show") work.show();
  if (verb === "count") {
    const [number, seconds] = words.map(Number);
    const direction = words[2] ?? latest;
    if (direction !== "up" && direction !== "down") return work.ask(QUESTION);
    for (let n = 1; n <= number; n++) {
      if (work.cancelled()) return undefined;
      work.give(`${direction === "up" ? n : number + 1 - n} `, n > 1, n === number);
      await pause(1000 * seconds);
    }
  }
  return work.complete();
}

// Serves until the input ends; prints where, as soon as it can be called. `made(app, rpc, url, address)` puts the
// agent together, given the Express application, the gRPC server, and the URL and the address that they will have.
export async function serve(express, grpc, made) {
  const app = express();
  const listener = app.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const url = `http://127.0.0.1:${listener.address().port}`;
  const rpc = new grpc.Server();
  const port = await new Promise((resolve, reject) =>
    rpc.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  made(app, rpc, url, `127.0.0.1:${port}`);
  console.log(JSON.stringify({ url }));
  process.stdin.resume();
  await once(process.stdin, "end");
  process.exit(0);
}
