// Signs and verifies cards with the official JavaScript SDK 1.x: a JSON list of jobs comes in, one of answers goes out.
//
// node js_1_cards.mjs FOLDER, where FOLDER holds the SDK under node_modules.

import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { installed, sdk } from "./sdk.mjs";

const { AgentCard, generateAgentCardSignature, verifyAgentCardSignature } = await sdk(".");
const { DefaultAgentCardResolver } = await sdk("client");
const { importJWK } = await import(pathToFileURL(installed.resolve("jose")).href);

// The SDK says of each signature that is wrong that it is, on standard output, which is for the answers.
console.debug = () => {};

async function verified(card, keys) {
  const verify = verifyAgentCardSignature(async (kid) => {
    const key = keys.find((each) => each.kid === kid);
    if (!key) throw new Error(`no key ${kid}`);
    return importJWK(key, key.alg);
  });
  try {
    await verify(card);
    return "verified";
  } catch (error) {
    return String(error);
  }
}

async function signed(card, keys) {
  let made = card;
  for (const key of keys) {
    const header = { alg: key.alg, kid: key.kid, typ: "JOSE" };
    made = await generateAgentCardSignature(await importJWK(key, key.alg), header)(made);
  }
  return made;
}

const work = {
  verify: verified,
  // As the SDK's client gives it to its caller.
  "verify resolved": (card, keys) => verified(new DefaultAgentCardResolver().normalizeAgentCard(card), keys),
  fetch: async (url, keys) => verified(await (await fetch(url)).json(), keys),
  sign: signed,
  // As an object of the SDK's own types, which has another form than JSON where a field is one of several.
  "sign typed": async (card, keys) => AgentCard.toJSON(await signed(AgentCard.fromJSON(card), keys)),
};

const answers = [];
for (const job of JSON.parse(await text(process.stdin))) answers.push(await work[job.do](job.card, job.keys));
process.stdout.write(JSON.stringify(answers));
