// The client of the official JavaScript SDK 1.x, in both protocol versions that it speaks.
//
// node js_1_client.mjs FOLDER, where FOLDER holds the SDK under node_modules.

import { randomUUID } from "node:crypto";
import { serve } from "./loop.mjs";
import { credentials, sdk } from "./sdk.mjs";

const { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } = await sdk("client");
const { GrpcTransportFactory } = await sdk("client/transports/grpc");
const { Role, StreamResponse, taskStateToJSON } = await sdk(".");
const { legacyPushNotificationToV1StreamResponse } = await sdk("compat/v0_3");

const FACTORIES = {
  JSONRPC: JsonRpcTransportFactory,
  "HTTP+JSON": RestTransportFactory,
  GRPC: GrpcTransportFactory,
};

function sdkPart(part) {
  const $case = ["text", "raw", "url", "data"].find((key) => key in part);
  const value = $case === "raw" ? Buffer.from(part.raw, "base64") : part[$case];
  return {
    content: { $case, value },
    metadata: undefined,
    filename: part.name ?? "",
    mediaType: part.type ?? "",
  };
}

function plainPart({ content: { $case, value }, filename, mediaType }) {
  const plain = { [$case]: $case === "raw" ? Buffer.from(value).toString("base64") : value };
  if (mediaType) plain.type = mediaType;
  if (filename) plain.name = filename;
  return plain;
}

const textOf = (message) =>
  (message?.parts ?? []).map((part) => (part.content?.$case === "text" ? part.content.value : "")).join("");
const stateOf = (status) =>
  taskStateToJSON(status.state).replace("TASK_STATE_", "").toLowerCase().replaceAll("_", "-");

const seen = (task) => ({
  id: task.id,
  context: task.contextId,
  state: stateOf(task.status),
  note: textOf(task.status.message),
  artifacts: Object.fromEntries(task.artifacts.map((each) => [each.artifactId, each.parts.map(plainPart)])),
  history: task.history.map(textOf),
});
const told = (message) => ({ id: "", context: message.contextId, state: "", note: textOf(message) });
// Both answers have an id of some kind; only the task has a status.
const answer = (result) => (result.status ? seen(result) : told(result));

function eventOf({ payload: { $case, value } }) {
  if ($case === "task") return { kind: "task", seen: seen(value) };
  if ($case === "message") return { kind: "message", seen: told(value) };
  if ($case === "statusUpdate") return { kind: "status", state: stateOf(value.status) };
  const { artifactId, parts } = value.artifact;
  return { kind: "artifact", artifact: artifactId, parts: parts.map(plainPart), append: value.append };
}

const configOf = ({ task: taskId, id, url, token, scheme, credentials }) => ({
  tenant: "",
  taskId,
  id,
  url,
  token,
  authentication: scheme ? { scheme, credentials } : undefined,
});

const request = (say, wait) => ({
  tenant: say.tenant,
  metadata: undefined,
  message: {
    messageId: randomUUID(),
    role: Role.ROLE_USER,
    contextId: say.task ? say.task.context : say.context,
    taskId: say.task ? say.task.id : "",
    parts: [{ text: say.text }, ...say.parts].map(sdkPart),
    metadata: say.metadata ?? undefined,
    extensions: [],
    referenceTaskIds: [],
  },
  configuration: {
    acceptedOutputModes: [],
    taskPushNotificationConfig: say.webhook ? configOf(say.webhook) : undefined,
    returnImmediately: !wait,
  },
});

const webhookOf = ({ taskId: task, id, url, token, authentication }) => ({
  task,
  id,
  url,
  token,
  scheme: authentication?.scheme ?? "",
  credentials: authentication?.credentials ?? "",
});

async function push(client, verb, webhook) {
  const { task: taskId, id } = webhook;
  const named = { tenant: "", taskId, id };
  switch (verb) {
    case "create":
      return [webhookOf(await client.createTaskPushNotificationConfig(configOf(webhook)))];
    case "get":
      return [webhookOf(await client.getTaskPushNotificationConfig(named))];
    case "list": {
      const listing = { tenant: "", taskId, pageSize: 50, pageToken: "" };
      return (await client.listTaskPushNotificationConfig(listing)).configs.map(webhookOf);
    }
    default:
      await client.deleteTaskPushNotificationConfig(named);
      return [];
  }
}

async function* events(stream) {
  for await (const event of stream) yield eventOf(event);
}

// A client for the one interface of the agent's card that has this version and binding; without, as it comes.
async function connected(url, version, binding) {
  if (!binding) return await new ClientFactory().createFromUrl(url);
  const legacyCompat = { enabled: true };
  const card = await new DefaultAgentCardResolver({ legacyCompat }).resolve(url);
  card.supportedInterfaces = card.supportedInterfaces.filter(
    (each) => each.protocolBinding === binding && each.protocolVersion.startsWith(version),
  );
  const options = { legacyCompat, grpcChannelCredentials: credentials(url) };
  const factory = new ClientFactory({ transports: [new FACTORIES[binding](options)] });
  return await factory.createFromAgentCard(card);
}

async function open(url, version, binding) {
  const client = await connected(url, version, binding);
  return {
    send: async ({ say, wait }) => answer(await client.sendMessage(request(say, wait))),
    stream: ({ say }) => events(client.sendMessageStream(request(say, true))),
    get: async ({ task_id: id, history, tenant }) =>
      seen(await client.getTask({ tenant, id, historyLength: history ?? undefined })),
    async page({ context, size, token }) {
      const page = await client.listTasks({
        tenant: "",
        contextId: context,
        status: 0,
        pageSize: size,
        pageToken: token,
        statusTimestampAfter: undefined,
      });
      return { ids: page.tasks.map((task) => task.id), total: page.totalSize, token: page.nextPageToken };
    },
    cancel: async ({ task_id: id }) => seen(await client.cancelTask({ tenant: "", id, metadata: undefined })),
    subscribe: ({ task_id: id }) => events(client.resubscribeTask({ tenant: "", id })),
    push: ({ verb, webhook }) => push(client, verb, webhook),
    // Bodies of 0.3 have a function of their own.
    read: async ({ body }) =>
      eventOf("kind" in body ? legacyPushNotificationToV1StreamResponse(body) : StreamResponse.fromJSON(body)),
    extended_card: async () => (await client.getAgentCard()).name,
  };
}

// Errors that come in a stream are untyped, with the typed one as their cause.
function nameOf(error) {
  if (!error) return undefined;
  return /^[A-Z]\w+Error$/.test(error.name) && error.name !== "TypeError" ? error.name : nameOf(error.cause);
}

await serve(open, nameOf);
