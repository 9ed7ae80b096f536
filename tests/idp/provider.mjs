// A certified OpenID Provider, as a process of its own: `oidc-provider`, configured.
//
// node provider.mjs FOLDER, where FOLDER holds the package under node_modules. Prints `{"issuer": ...}` when it can be
// called, and serves until its input ends. Whoever is asked to sign in is signed in, and agrees to everything: as the
// `login_hint` says, else as alice; a hint of "nobody" refuses.
//
// Beside the provider's own there are routes under /control, for tests: see `control`.

import { generateKeyPairSync, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";
import { CLIENTS } from "./clients.mjs";

// The package prints notices on standard output, which nobody reads after its first line.
console.info = console.error;

const home = pathToFileURL(`${process.argv[2]}/node_modules/oidc-provider/lib/`);
const { Provider, errors } = await import(new URL("index.js", home));
const { createMemoryAdapter } = await import(new URL("adapters/memory_adapter.js", home));

const SCOPES = "chat pay call";
const DEFAULT_RESOURCE = "https://agent.example";
const BRIEF = 2;
const LIFE = 600;
const CURVES = { ES256: ["ec", { namedCurve: "P-256" }], EdDSA: ["ed25519"], RS256: ["rsa", { modulusLength: 2048 }] };

function newKey(alg) {
  const { privateKey } = generateKeyPairSync(...CURVES[alg]);
  return { ...privateKey.export({ format: "jwk" }), alg, use: "sig", kid: randomUUID() };
}

// What is signed in, granted and issued outlives a change of keys.
const adapter = createMemoryAdapter(0);
const life = (_, __, client) => (client.clientId.endsWith("-brief") ? BRIEF : LIFE);
const always = async () => true;

function provider(issuer, keys) {
  const [{ alg, kid }] = keys;
  const resourceIndicators = {
    enabled: true,
    defaultResource: async (_, __, several) => several?.[0] ?? DEFAULT_RESOURCE,
    useGrantedResource: always,
    getResourceServerInfo: async (_, resource, client) => {
      if (resource.includes("nowhere")) throw new errors.InvalidTarget();
      const accessTokenFormat = client.clientId.includes("-opaque") ? "opaque" : "jwt";
      return { scope: SCOPES, audience: resource, accessTokenFormat, jwt: { sign: { alg, kid } } };
    },
  };
  return new Provider(issuer, {
    adapter,
    clients: CLIENTS,
    clientDefaults: { id_token_signed_response_alg: alg },
    clockTolerance: 0,
    cookies: { keys: ["of these tests"] },
    expiresWithSession: async () => false,
    extraTokenClaims: async (_, token) => ({ org: token.accountId === "bob" ? "globex" : "acme" }),
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      deviceFlow: { enabled: true },
      dPoP: { enabled: false },
      introspection: { enabled: true, allowedPolicy: always },
      resourceIndicators,
      revocation: { enabled: true, allowedPolicy: always },
    },
    findAccount: async (_, accountId) => ({ accountId, claims: async () => ({ sub: accountId }) }),
    interactions: { url: (_, { uid }) => `/sign-in/${uid}` },
    issueRefreshToken: async (_, client) => client.grantTypeAllowed("refresh_token"),
    jwks: { keys },
    rotateRefreshToken: true,
    scopes: ["openid", "offline_access", ...SCOPES.split(" ")],
    ttl: { AccessToken: life, ClientCredentials: life, RefreshToken: 3600, DeviceCode: 600, IdToken: LIFE },
  });
}

// Where a browser would show a page to sign in on, and one to agree on.
async function signIn(current, request, response) {
  const { params, prompt, grantId } = await current.interactionDetails(request, response);
  const accountId = params.login_hint ?? "alice";
  if (accountId === "nobody") {
    return current.interactionFinished(request, response, { error: "access_denied" });
  }
  const clientId = params.client_id;
  const grant = grantId ? await current.Grant.find(grantId) : new current.Grant({ accountId, clientId });
  grant.addOIDCScope(`openid offline_access ${SCOPES}`);
  const resources = [params.resource ?? DEFAULT_RESOURCE].flat();
  for (const resource of resources) grant.addResourceScope(resource, params.scope ?? SCOPES);
  const result = { login: { accountId }, consent: { grantId: await grant.save() } };
  return current.interactionFinished(request, response, result, { mergeWithLastSubmission: prompt.name !== "login" });
}

const real = Date.now;
const calls = {};
const failing = {};
const listener = createServer();
listener.listen(0, "127.0.0.1");
await once(listener, "listening");
const issuer = `http://127.0.0.1:${listener.address().port}`;
let keys = [newKey("ES256")];
let current = provider(issuer, keys);

// What a test may ask for, each with what it tells back.
const control = {
  // From now on a new key signs; the old ones stay in the key set until they are retired.
  rotate({ algorithm = "ES256" }) {
    keys = [newKey(algorithm), ...keys];
    current = provider(issuer, keys);
    return { kid: keys[0].kid };
  },
  // The key set is the key that signs, alone.
  retire() {
    keys = keys.slice(0, 1);
    current = provider(issuer, keys);
    return {};
  },
  // The clock is so many seconds ahead of the real one, or behind it.
  clock({ ahead }) {
    Date.now = () => real() + 1000 * ahead;
    return {};
  },
  // This path answers with this status, or never (0), until it is told to work again (without one).
  fail({ path, status }) {
    if (status) failing[path] = Number(status);
    else delete failing[path];
    return {};
  },
  // How often each path was called.
  calls: () => calls,
};

async function controlled(name, request, response) {
  const chunks = await request.toArray();
  const told = control[name](Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString())));
  response.end(JSON.stringify(told));
}

async function answer(request, response) {
  const [path] = request.url.split("?");
  const [, first, name] = path.split("/");
  if (first === "control") return controlled(name, request, response);
  calls[path] = (calls[path] ?? 0) + 1;
  if (path in failing) {
    if (failing[path]) response.writeHead(failing[path]).end();
    return undefined;
  }
  if (first === "sign-in") return signIn(current, request, response);
  return current.callback()(request, response);
}

listener.on("request", (request, response) => {
  answer(request, response).catch((error) => {
    console.error(error);
    response.writeHead(500).end();
  });
});
console.log(JSON.stringify({ issuer }));
process.stdin.resume();
await once(process.stdin, "end");
process.exit(0);
