"""An agent whose callers bring tokens of the identity provider that the environment names."""

import os

from dragoman import Agent, TaskContext
from dragoman.auth import ClientCredentialsOAuthFlow, Introspection, OAuth2, OpenIdConnect

ISSUER, AUDIENCE = os.environ["ISSUER"], os.environ["AUDIENCE"]

AUTH = OpenIdConnect(ISSUER, audience=AUDIENCE, scopes=["call"]) | OAuth2(
    ClientCredentialsOAuthFlow(token_url=f"{ISSUER}/token", scopes={"call": "Call the agent"}),
    issuer=ISSUER,
    audience=AUDIENCE,
    metadata_url=f"{ISSUER}/.well-known/oauth-authorization-server",
    introspection=Introspection(client_id="agent", client_secret=os.environ["CLIENT_SECRET"]),
    scopes=["call"],
)
agent = Agent("Known", "Says who calls.", store="memory", auth=AUTH)


@agent.skill
async def who(task: TaskContext) -> str:
    """Say who calls."""
    return task.caller
