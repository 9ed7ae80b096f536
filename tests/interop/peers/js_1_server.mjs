// An agent on the official JavaScript SDK 1.x's servers, in both protocol versions and all bindings that they speak.
//
// node js_1_server.mjs FOLDER, where FOLDER holds the SDK under node_modules.

import { randomUUID } from "node:crypto";
import { installed, sdk } from "./sdk.mjs";
import { obey, serve } from "./serving.mjs";

const { Role, TaskState } = await sdk(".");
const { AgentEvent, DefaultRequestHandler, InMemoryPushNotificationStore, InMemoryTaskStore } = await sdk("server");
const { agentCardHandler, jsonRpcHandler, restHandler } = await sdk("server/express");
const { A2AService, grpcService } = await sdk("server/grpc");
const { createLegacyAwarePushNotificationSender } = await sdk("compat/v0_3/server");
const { LegacyA2AService, legacyGrpcService } = await sdk("compat/v0_3/server/grpc");

const textOf = (message) =>
  message.parts.map((part) => (part.content?.$case === "text" ? part.content.value : "")).join("");
const made = ($case, value) => ({ content: { $case, value }, metadata: undefined, filename: "", mediaType: "" });
const part = (text) => made("text", text);
const data = (value) => made("data", value);

function message(text, contextId, taskId = "") {
  const rest = { metadata: undefined, extensions: [], referenceTaskIds: [] };
  return { messageId: randomUUID(), role: Role.ROLE_AGENT, contextId, taskId, parts: [part(text)], ...rest };
}

class Obedient {
  #cancelled = new Set();

  execute = async ({ taskId, contextId, task: known, userMessage }, bus) => {
    const latest = textOf(userMessage);
    if (latest.startsWith("tell ")) {
      bus.publish(AgentEvent.message(message(latest.slice("tell ".length), contextId)));
      return bus.finished();
    }
    const status = (state, text) => ({
      state,
      message: text && message(text, contextId, taskId),
      timestamp: new Date().toISOString(),
    });
    const begun = { id: taskId, contextId, artifacts: [], history: [userMessage], metadata: undefined };
    bus.publish(AgentEvent.task(known ?? { ...begun, status: status(TaskState.TASK_STATE_SUBMITTED) }));
    const tell = (state, text) =>
      bus.publish(
        AgentEvent.statusUpdate({ taskId, contextId, status: status(state, text), metadata: undefined }),
      );
    const give = (artifactId, parts, append, lastChunk) => {
      const artifact = { artifactId, name: "", description: "", parts, metadata: undefined, extensions: [] };
      bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk, metadata: undefined }));
    };
    tell(TaskState.TASK_STATE_WORKING);
    const work = {
      give: (text, append, last) => give("text", [part(text)], append, last),
      giveBack: () => give("parts", userMessage.parts.slice(1), false, true),
      show: () => give("metadata", [data(userMessage.metadata)], false, true),
      ask: (question) => tell(TaskState.TASK_STATE_INPUT_REQUIRED, question),
      requireAuth: (question) => tell(TaskState.TASK_STATE_AUTH_REQUIRED, question),
      fail: (reason) => tell(TaskState.TASK_STATE_FAILED, reason),
      reject: (reason) => tell(TaskState.TASK_STATE_REJECTED, reason),
      complete: () => tell(TaskState.TASK_STATE_COMPLETED),
      cancelled: () => this.#cancelled.has(taskId),
    };
    await obey(work, textOf((known ?? begun).history[0]), latest);
    if (work.cancelled()) tell(TaskState.TASK_STATE_CANCELED);
    return bus.finished();
  };

  cancelTask = async (taskId) => {
    this.#cancelled.add(taskId);
  };
}

function card(name, url, address) {
  const places = { JSONRPC: `${url}/rpc`, "HTTP+JSON": `${url}/rest`, GRPC: address };
  const skill = { id: "obey", name: "Obey", description: "Does what it is told.", tags: ["peer"] };
  return {
    name,
    description: "An agent on the official SDK.",
    version: "1",
    provider: undefined,
    capabilities: { streaming: true, pushNotifications: true, extensions: [], extendedAgentCard: true },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ["text/plain", "image/png", "application/pdf", "application/json"],
    defaultOutputModes: ["text/plain"],
    skills: [{ ...skill, examples: [], inputModes: [], outputModes: [], securityRequirements: [] }],
    signatures: [],
    supportedInterfaces: ["1.0", "0.3"].flatMap((protocolVersion) =>
      Object.entries(places).map(([protocolBinding, place]) => ({
        url: place,
        protocolBinding,
        tenant: "",
        protocolVersion,
      })),
    ),
  };
}

// The extended card is for callers who are known.
const userBuilder = async () => ({ isAuthenticated: true, userName: "caller" });

await serve(installed("express"), installed("@grpc/grpc-js"), (app, rpc, url, address) => {
  const extended = card("Interop, extended", url, address);
  const webhooks = new InMemoryPushNotificationStore();
  const requestHandler = new DefaultRequestHandler(
    card("Interop", url, address),
    new InMemoryTaskStore(),
    new Obedient(),
    undefined,
    webhooks,
    createLegacyAwarePushNotificationSender(webhooks),
    extended,
  );
  const options = { requestHandler, userBuilder, legacyCompat: { enabled: true } };
  app.use("/.well-known/agent-card.json", agentCardHandler({ ...options, agentCardProvider: requestHandler }));
  app.use("/rpc", jsonRpcHandler(options));
  app.use("/rest", restHandler(options));
  rpc.addService(A2AService, grpcService(options));
  rpc.addService(LegacyA2AService, legacyGrpcService(options));
});
