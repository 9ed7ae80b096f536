// The official JavaScript SDK of the folder that the first argument names, and what is installed beside it.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];

export const installed = createRequire(`${folder}/package.json`);

// A part of the SDK by its folder, as an ES module: the CommonJS bundles do not share their error classes.
export const sdk = (part) =>
  import(pathToFileURL(`${folder}/node_modules/@a2a-js/sdk/dist/${part}/index.js`).href);

// What gRPC needs to call an agent whose card is at this URL: TLS if that has it.
export function credentials(url) {
  const { credentials: kinds } = installed("@grpc/grpc-js");
  return url.startsWith("https:") ? kinds.createSsl() : kinds.createInsecure();
}
