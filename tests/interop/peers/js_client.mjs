// The official JavaScript SDK's client, driven through the scenarios; prints what it saw as one JSON line for each.
//
// node js_client.mjs BINDING ECHO_URL SLOW_URL FOLDER, where FOLDER holds the SDK under node_modules.

import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";

const [binding, echoUrl, slowUrl, folder] = process.argv.slice(2);
const require = createRequire(`${folder}/package.json`);
const { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } = require("@a2a-js/sdk/client");
const { Role, taskStateToJSON } = require("@a2a-js/sdk");

const transport = binding === "JSONRPC" ? new JsonRpcTransportFactory() : new RestTransportFactory();
const factory = new ClientFactory({ transports: [transport] });
const echo = await factory.createFromUrl(echoUrl);
const slow = await factory.createFromUrl(slowUrl);

function request(text, { task, context = "", atOnce = false } = {}) {
  return {
    tenant: "",
    metadata: undefined,
    message: {
      messageId: randomUUID(),
      role: Role.ROLE_USER,
      contextId: task ? task.contextId : context,
      taskId: task ? task.id : "",
      parts: [{ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" }],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: atOnce,
    },
  };
}

const send = (client, text, options) => client.sendMessage(request(text, options));
const get = (client, id, historyLength) => client.getTask({ tenant: "", id, historyLength });
const cancelled = (client, id) => client.cancelTask({ tenant: "", id, metadata: undefined });
const subscribed = (id) => slow.resubscribeTask({ tenant: "", id });

const stateOf = (status) =>
  taskStateToJSON(status.state).replace("TASK_STATE_", "").toLowerCase().replaceAll("_", "-");
const textOf = (parts) => parts.map((part) => (part.content?.$case === "text" ? part.content.value : "")).join("");
const seen = (task) => ({
  state: stateOf(task.status),
  text: task.artifacts.map((artifact) => textOf(artifact.parts)).join(""),
});

// What came, in order; artifacts put together by the rules of append.
async function watch(events) {
  const kinds = [];
  const times = [];
  let texts = new Map();
  let state = "";
  for await (const event of events) {
    const { $case: kind, value } = event.payload;
    kinds.push(kind);
    if (kind === "task") {
      state = stateOf(value.status);
      texts = new Map(value.artifacts.map((artifact) => [artifact.artifactId, textOf(artifact.parts)]));
    } else if (kind === "statusUpdate") {
      state = stateOf(value.status);
    } else if (kind === "artifactUpdate") {
      times.push(performance.now());
      const id = value.artifact.artifactId;
      texts.set(id, (value.append ? (texts.get(id) ?? "") : "") + textOf(value.artifact.parts));
    }
  }
  return {
    first: kinds[0],
    tasks: kinds.filter((kind) => kind === "task").length,
    chunks: times.length,
    spread: times.length ? (times.at(-1) - times[0]) / 1000 : 0,
    text: [...texts.values()].join(""),
    state,
  };
}

async function nameOfError(call) {
  try {
    await call();
  } catch (error) {
    return error.name;
  }
  return "no error";
}

const scenarios = {
  async blocking() {
    return seen(await send(echo, "hello"));
  },
  async stream() {
    return await watch(slow.sendMessageStream(request("20 0.05 up")));
  },
  async get() {
    const sent = await send(echo, "keep this");
    const task = await get(echo, sent.id);
    const bare = await get(echo, sent.id, 0);
    return {
      ...seen(task),
      same: task.id === sent.id && task.contextId === sent.contextId,
      history: task.history.map((message) => textOf(message.parts)),
      history_of_none: bare.history.length,
    };
  },
  async pages() {
    const context = randomUUID();
    const sent = [];
    for (const n of [0, 1, 2]) sent.push((await send(echo, `number ${n}`, { context })).id);
    const sizes = [];
    const found = [];
    let page = { nextPageToken: "" };
    do {
      page = await echo.listTasks({
        tenant: "",
        contextId: context,
        status: 0,
        pageSize: 2,
        pageToken: page.nextPageToken,
        statusTimestampAfter: undefined,
      });
      sizes.push(page.tasks.length);
      found.push(...page.tasks.map((task) => task.id));
    } while (page.nextPageToken && sizes.length < 5);
    return { sizes, total: page.totalSize, newest_first: found.join() === sent.reverse().join() };
  },
  async cancel() {
    const task = await send(slow, "400 0.05 up", { atOnce: true });
    const ended = await cancelled(slow, task.id);
    const later = await get(slow, task.id);
    return { before: stateOf(task.status), state: stateOf(ended.status), later: stateOf(later.status) };
  },
  async subscribe() {
    const task = await send(slow, "20 0.05 up", { atOnce: true });
    return await watch(subscribed(task.id));
  },
  async leave() {
    let id = "";
    for await (const event of slow.sendMessageStream(request("10 0.05 up"))) {
      if (event.payload.$case === "task") id = event.payload.value.id;
      if (event.payload.$case === "artifactUpdate") break;
    }
    return await watch(subscribed(id));
  },
  async follow_up() {
    const asked = await send(slow, "5 0.01");
    const done = await send(slow, "down", { task: asked });
    return {
      ...seen(done),
      asked: stateOf(asked.status),
      question: textOf(asked.status.message.parts),
      same: done.id === asked.id,
    };
  },
  async stream_follow_up() {
    const asked = await watch(slow.sendMessageStream(request("5 0.01")));
    const task = await send(slow, "5 0.01");
    return { ...(await watch(slow.sendMessageStream(request("up", { task })))), asked: asked.state };
  },
  async errors() {
    const done = await send(echo, "done");
    const id = randomUUID();
    return {
      "get unknown": await nameOfError(() => get(echo, id)),
      "cancel unknown": await nameOfError(() => cancelled(echo, id)),
      "cancel completed": await nameOfError(() => cancelled(echo, done.id)),
      "send to completed": await nameOfError(() => send(echo, "more", { task: done })),
      "send to unknown": await nameOfError(() => send(echo, "more", { task: { ...done, id } })),
      "subscribe to unknown": await nameOfError(() => watch(subscribed(id))),
    };
  },
};

for (const [scenario, run] of Object.entries(scenarios)) {
  let facts;
  try {
    facts = await run();
  } catch (error) {
    facts = { broken: error.stack };
  }
  console.log(JSON.stringify({ scenario, ...facts }));
}
