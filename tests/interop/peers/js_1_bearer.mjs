// Calls an agent without a token, and with one when it is asked for it, as the official JavaScript SDK 1.x does: a JSON
// list of jobs comes in, one of answers goes out. An answer begins with the challenge, if there was one.
//
// node js_1_bearer.mjs FOLDER, where FOLDER holds the SDK under node_modules.

import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";
import { sdk } from "./sdk.mjs";

const {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  createAuthenticatingFetchWithRetry,
} = await sdk("client");
const { Role } = await sdk(".");
const FACTORIES = { JSONRPC: JsonRpcTransportFactory, "HTTP+JSON": RestTransportFactory };
const REFUSALS = [401, 403];

async function said({ url, version, binding, credentials }) {
  let challenge = "";
  const [token] = Object.values(credentials);
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
    headers: async () => ({}),
    async shouldRetryWithHeaders(request, response) {
      if (!REFUSALS.includes(response.status)) return undefined;
      challenge += response.headers.get("www-authenticate");
      return token ? { Authorization: `Bearer ${token}` } : undefined;
    },
  });
  const legacyCompat = { enabled: true };
  const card = await new DefaultAgentCardResolver({ legacyCompat }).resolve(url);
  card.supportedInterfaces = card.supportedInterfaces.filter(
    (each) => each.protocolBinding === binding && each.protocolVersion === version,
  );
  const factory = new ClientFactory({ transports: [new FACTORIES[binding]({ legacyCompat, fetchImpl })] });
  const client = await factory.createFromAgentCard(card);
  const message = {
    messageId: randomUUID(),
    role: Role.ROLE_USER,
    contextId: "",
    taskId: "",
    parts: [{ content: { $case: "text", value: "Who?" }, metadata: undefined, filename: "", mediaType: "" }],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
  try {
    const task = await client.sendMessage({ tenant: "", metadata: undefined, message, configuration: undefined });
    const parts = task.artifacts.flatMap((artifact) => artifact.parts);
    return `${challenge} ${parts.map((part) => part.content.value).join("")}`;
  } catch (error) {
    return `${challenge} ${error.name}: ${error.message}`;
  }
}

const answers = [];
for (const job of JSON.parse(await text(process.stdin))) answers.push(await said(job));
console.log(JSON.stringify(answers));
