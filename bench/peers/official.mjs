// The official JavaScript SDK's servers with a small agent and its in-memory store: `node official.mjs FOLDER PORT`.
//
// FOLDER holds the SDK under node_modules. The bindings of HTTP are on that port, gRPC on another one, which the card
// names. The agent is that of official.py.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

process.env.NODE_ENV = "production";

const [folder, given] = process.argv.slice(2);
const installed = createRequire(`${folder}/package.json`);
const sdk = (part) =>
  import(pathToFileURL(`${folder}/node_modules/@a2a-js/sdk/dist/${part}/index.js`).href);

const express = installed("express");
const grpc = installed("@grpc/grpc-js");
const { TaskState } = await sdk(".");
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = await sdk("server");
const { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } = await sdk("server/express");
const { A2AService, grpcService } = await sdk("server/grpc");

const textOf = (message) =>
  message.parts.map((part) => (part.content?.$case === "text" ? part.content.value : "")).join("");
const part = (text) => ({ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" });

class Work {
  execute = async ({ taskId, contextId, userMessage }, bus) => {
    const status = (state) => ({ state, message: undefined, timestamp: new Date().toISOString() });
    const submitted = status(TaskState.TASK_STATE_SUBMITTED);
    const begun = { id: taskId, contextId, status: submitted, artifacts: [], history: [userMessage] };
    bus.publish(AgentEvent.task({ ...begun, metadata: undefined }));
    const give = (text, append, lastChunk) => {
      const rest = { name: "", description: "", metadata: undefined, extensions: [] };
      const artifact = { artifactId: "text", parts: [part(text)], ...rest };
      bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk, metadata: undefined }));
    };
    const text = textOf(userMessage);
    const [word, count] = text.split(" ");
    if (word === "chunks" || word === "artifacts") {
      for (let number = 0; number < Number(count); number++) {
        give(`word${number} `, word === "chunks" && number > 0, false);
      }
    } else if (word === "hold") {
      give("held", false, false);
      await new Promise(() => {});
    } else {
      give(text, false, true);
    }
    const completed = status(TaskState.TASK_STATE_COMPLETED);
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: completed, metadata: undefined }));
    bus.finished();
  };

  cancelTask = async () => {};
}

function card(port, rpcPort) {
  const base = `http://127.0.0.1:${port}`;
  const places = { JSONRPC: `${base}/rpc`, "HTTP+JSON": `${base}/rest`, GRPC: `127.0.0.1:${rpcPort}` };
  const skill = { id: "work", name: "work", description: "Work.", tags: ["bench"], examples: [] };
  return {
    name: "Bench",
    description: "An agent on the official SDK.",
    version: "1",
    provider: undefined,
    capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ ...skill, inputModes: [], outputModes: [], securityRequirements: [] }],
    signatures: [],
    supportedInterfaces: Object.entries(places).map(([protocolBinding, url]) => ({
      url,
      protocolBinding,
      tenant: "",
      protocolVersion: "1.0",
    })),
  };
}

const port = Number(given);
const rpc = new grpc.Server();
const rpcPort = await new Promise((resolve, reject) =>
  rpc.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
    error ? reject(error) : resolve(bound),
  ),
);
const requestHandler = new DefaultRequestHandler(card(port, rpcPort), new InMemoryTaskStore(), new Work());
const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
rpc.addService(A2AService, grpcService(options));
const app = express();
app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
app.use("/rpc", jsonRpcHandler(options));
app.use("/rest", restHandler(options));
app.listen(port, "127.0.0.1");
