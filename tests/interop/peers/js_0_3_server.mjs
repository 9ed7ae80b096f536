// An agent on the servers of the official JavaScript SDK's 0.3 line, in all its bindings.
//
// node js_0_3_server.mjs FOLDER, where FOLDER holds the SDK under node_modules.

import { randomUUID } from "node:crypto";
import { installed, sdk } from "./sdk.mjs";
import { obey, serve } from "./serving.mjs";

const { DefaultRequestHandler, InMemoryTaskStore } = await sdk("server");
const { agentCardHandler, jsonRpcHandler, restHandler } = await sdk("server/express");
const { A2AService, grpcService } = await sdk("server/grpc");

const textOf = (message) => message.parts.map((part) => part.text ?? "").join("");

function message(text, contextId, taskId) {
  const parts = [{ kind: "text", text }];
  return { kind: "message", messageId: randomUUID(), role: "agent", contextId, taskId, parts };
}

class Obedient {
  #cancelled = new Set();

  execute = async ({ taskId, contextId, task: known, userMessage }, bus) => {
    const latest = textOf(userMessage);
    if (latest.startsWith("tell ")) {
      bus.publish(message(latest.slice("tell ".length), contextId));
      return bus.finished();
    }
    const status = (state, text) => ({
      state,
      message: text && message(text, contextId, taskId),
      timestamp: new Date().toISOString(),
    });
    const begun = { kind: "task", id: taskId, contextId, history: [userMessage] };
    if (!known) bus.publish({ ...begun, status: status("submitted") });
    const tell = (state, text, final = true) =>
      bus.publish({ kind: "status-update", taskId, contextId, status: status(state, text), final });
    const give = (artifactId, parts, append, lastChunk) =>
      bus.publish({ kind: "artifact-update", taskId, contextId, artifact: { artifactId, parts }, append, lastChunk });
    tell("working", undefined, false);
    const work = {
      give: (text, append, last) => give("text", [{ kind: "text", text }], append, last),
      giveBack: () => give("parts", userMessage.parts.slice(1), false, true),
      show: () => give("metadata", [{ kind: "data", data: userMessage.metadata }], false, true),
      ask: (question) => tell("input-required", question),
      requireAuth: (question) => tell("auth-required", question),
      fail: (reason) => tell("failed", reason),
      reject: (reason) => tell("rejected", reason),
      complete: () => tell("completed"),
      cancelled: () => this.#cancelled.has(taskId),
    };
    await obey(work, textOf((known ?? begun).history[0]), latest);
    if (work.cancelled()) tell("canceled");
    return bus.finished();
  };

  cancelTask = async (taskId) => {
    this.#cancelled.add(taskId);
  };
}

function card(name, url, address) {
  const places = { JSONRPC: `${url}/rpc`, "HTTP+JSON": `${url}/rest`, GRPC: address };
  return {
    name,
    description: "An agent on the official SDK.",
    version: "1",
    protocolVersion: "0.3.0",
    url: places.JSONRPC,
    preferredTransport: "JSONRPC",
    additionalInterfaces: Object.entries(places).map(([transport, place]) => ({ transport, url: place })),
    capabilities: { streaming: true, pushNotifications: true },
    supportsAuthenticatedExtendedCard: true,
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "obey", name: "Obey", description: "Does what it is told.", tags: ["peer"] }],
  };
}

// The extended card is for callers who are known.
const userBuilder = async () => ({ isAuthenticated: true, userName: "caller" });

await serve(installed("express"), installed("@grpc/grpc-js"), (app, rpc, url, address) => {
  const extended = card("Interop, extended", url, address);
  const requestHandler = new DefaultRequestHandler(
    card("Interop", url, address),
    new InMemoryTaskStore(),
    new Obedient(),
    undefined,
    undefined,
    undefined,
    extended,
  );
  const options = { requestHandler, userBuilder };
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
  app.use("/rpc", jsonRpcHandler(options));
  app.use("/rest", restHandler(options));
  rpc.addService(A2AService, grpcService(options));
});
