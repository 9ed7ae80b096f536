// The client of the official JavaScript SDK's 0.3 line.
//
// node js_0_3_client.mjs FOLDER, where FOLDER holds the SDK under node_modules.

import { randomUUID } from "node:crypto";
import { serve } from "./loop.mjs";
import { credentials, sdk } from "./sdk.mjs";

const { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } = await sdk("client");
const { GrpcTransportFactory } = await sdk("client/transports/grpc");

const FACTORIES = {
  JSONRPC: JsonRpcTransportFactory,
  "HTTP+JSON": RestTransportFactory,
  GRPC: GrpcTransportFactory,
};
const CODES = {
  [-32001]: "TaskNotFoundError",
  [-32002]: "TaskNotCancelableError",
  [-32003]: "PushNotificationNotSupportedError",
  [-32004]: "UnsupportedOperationError",
  [-32600]: "InvalidRequestError",
  [-32602]: "InvalidParamsError",
  [-32603]: "InternalError",
};
const NAMED = /^(Task|PushNotification|UnsupportedOperation|ContentType|InvalidAgent|Authenticated)\w*Error$/;

function sdkPart(part) {
  if ("text" in part) return { kind: "text", text: part.text };
  if ("data" in part) return { kind: "data", data: part.data };
  const file = { mimeType: part.type, name: part.name };
  return { kind: "file", file: "raw" in part ? { ...file, bytes: part.raw } : { ...file, uri: part.url } };
}

function plainPart(part) {
  if (part.kind === "text") return { text: part.text };
  if (part.kind === "data") return { data: part.data };
  const { bytes, uri, mimeType, name } = part.file;
  const plain = bytes === undefined ? { url: uri } : { raw: bytes };
  if (mimeType) plain.type = mimeType;
  if (name) plain.name = name;
  return plain;
}

const textOf = (message) => (message?.parts ?? []).map((part) => part.text ?? "").join("");

const seen = (task) => ({
  id: task.id,
  context: task.contextId,
  state: task.status.state,
  note: textOf(task.status.message),
  artifacts: Object.fromEntries((task.artifacts ?? []).map((each) => [each.artifactId, each.parts.map(plainPart)])),
  history: (task.history ?? []).map(textOf),
});
const told = (message) => ({ id: "", context: message.contextId ?? "", state: "", note: textOf(message) });
const answer = (result) => (result.kind === "task" ? seen(result) : told(result));

function eventOf(event) {
  if (event.kind === "task") return { kind: "task", seen: seen(event) };
  if (event.kind === "message") return { kind: "message", seen: told(event) };
  if (event.kind === "status-update") return { kind: "status", state: event.status.state };
  const { artifactId, parts } = event.artifact;
  return { kind: "artifact", artifact: artifactId, parts: parts.map(plainPart), append: event.append ?? false };
}

const configOf = ({ id, url, token, scheme, credentials }) => ({
  id: id || undefined,
  url,
  token: token || undefined,
  authentication: scheme ? { schemes: [scheme], credentials } : undefined,
});

const request = (say, wait) => ({
  message: {
    kind: "message",
    messageId: randomUUID(),
    role: "user",
    contextId: (say.task ? say.task.context : say.context) || undefined,
    taskId: say.task ? say.task.id : undefined,
    parts: [{ text: say.text }, ...say.parts].map(sdkPart),
    metadata: say.metadata ?? undefined,
  },
  configuration: { blocking: wait, pushNotificationConfig: say.webhook ? configOf(say.webhook) : undefined },
});

const webhookOf = ({ taskId: task, pushNotificationConfig: { id, url, token, authentication } }) => ({
  task,
  id: id ?? "",
  url,
  token: token ?? "",
  scheme: authentication?.schemes[0] ?? "",
  credentials: authentication?.credentials ?? "",
});

async function push(client, verb, webhook) {
  const { task, id } = webhook;
  const named = { id: task, pushNotificationConfigId: id };
  switch (verb) {
    case "create": {
      const config = { taskId: task, pushNotificationConfig: configOf(webhook) };
      return [webhookOf(await client.setTaskPushNotificationConfig(config))];
    }
    case "get":
      return [webhookOf(await client.getTaskPushNotificationConfig(named))];
    case "list":
      return (await client.listTaskPushNotificationConfig({ id: task })).map(webhookOf);
    default:
      await client.deleteTaskPushNotificationConfig(named);
      return [];
  }
}

async function* events(stream) {
  for await (const event of stream) yield eventOf(event);
}

// A client that uses this binding, or the one that it prefers; the card says where.
async function open(url, version, binding) {
  const options = { grpcChannelCredentials: credentials(url) };
  const factory = binding ? new ClientFactory({ transports: [new FACTORIES[binding](options)] }) : new ClientFactory();
  const client = await factory.createFromUrl(url);
  return {
    send: async ({ say, wait }) => answer(await client.sendMessage(request(say, wait))),
    stream: ({ say }) => events(client.sendMessageStream(request(say, true))),
    get: async ({ task_id: id, history }) => seen(await client.getTask({ id, historyLength: history ?? undefined })),
    cancel: async ({ task_id: id }) => seen(await client.cancelTask({ id })),
    subscribe: ({ task_id: id }) => events(client.resubscribeTask({ id })),
    push: ({ verb, webhook }) => push(client, verb, webhook),
    read: async ({ body }) => eventOf(body),
    extended_card: async () => (await client.getAgentCard()).name,
  };
}

// JSON-RPC errors carry their code, those of the other bindings have a class of their own or gRPC's status and text;
// in a stream they are the cause of an untyped one.
function nameOf(error) {
  if (!error) return undefined;
  const code = error.errorResponse?.error?.code;
  if (code !== undefined) return CODES[code] ?? `code ${code}`;
  if (NAMED.test(error.constructor.name)) return error.constructor.name;
  const [named] = /^\w+Error(?=:)/.exec(error.details ?? "") ?? [];
  return named ?? nameOf(error.cause);
}

await serve(open, nameOf);
