// Who may ask the identity provider for tokens. Secrets are no secrets: the name and "-secret".

const DEVICE = "urn:ietf:params:oauth:grant-type:device_code";
const CALLBACKS = ["http://127.0.0.1/callback", "http://localhost/callback", "http://127.0.0.1/", "http://localhost/"];
const KINDS = {
  // Programs that come for themselves.
  service: { grant_types: ["client_credentials"], token_endpoint_auth_method: "client_secret_basic" },
  "service-post": { grant_types: ["client_credentials"], token_endpoint_auth_method: "client_secret_post" },
  // A program on somebody's machine, which keeps no secret: PKCE, and a loopback address at any port.
  app: {
    grant_types: ["authorization_code", "refresh_token", DEVICE],
    token_endpoint_auth_method: "none",
    application_type: "native",
  },
  // The same with a secret.
  web: {
    grant_types: ["authorization_code", "refresh_token", DEVICE],
    token_endpoint_auth_method: "client_secret_basic",
    application_type: "native",
  },
  // The agent, which asks what tokens are worth.
  agent: { grant_types: [], token_endpoint_auth_method: "client_secret_basic" },
};

// Each kind by its name; with "-opaque" its tokens are no JWTs, with "-brief" they are good for two seconds.
export const CLIENTS = Object.entries(KINDS).flatMap(([kind, metadata]) =>
  ["", "-opaque", "-brief", "-opaque-brief"].map((suffix) => {
    const redirects = metadata.grant_types.includes("authorization_code");
    return {
      client_id: kind + suffix,
      ...(metadata.token_endpoint_auth_method !== "none" && { client_secret: `${kind}${suffix}-secret` }),
      ...metadata,
      redirect_uris: redirects ? CALLBACKS : [],
      response_types: redirects ? ["code"] : [],
    };
  }),
);
