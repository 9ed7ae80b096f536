"""The agent of `py_1_server` behind a door over HTTP: known are bearers of a token, and those with a key in the query.

Whoever is not known is refused in bare HTTP, as a gateway in front of an agent does it.
"""

import grpc
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryPushNotificationConfigStore, InMemoryTaskStore
from a2a.types import (
    AgentCard,
    APIKeySecurityScheme,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.interop.peers.py_1_server import Obedient, card
from tests.interop.peers.serving import serve

TOKEN, KEY = "token-of-alice", "key of bob & co"


class Door:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and "/.well-known/" not in scope["path"]:
            request = Request(scope)
            known = request.headers.get("authorization") == f"Bearer {TOKEN}" or request.query_params.get("key") == KEY
            if not known:
                told = {"WWW-Authenticate": 'Bearer realm="peers", error="invalid_token"'}
                return await PlainTextResponse("who are you?", 401, told)(scope, receive, send)
        return await self._app(scope, receive, send)


def guarded(name: str, url: str, address: str) -> AgentCard:
    public = card(name, url, address)
    del public.supported_interfaces[:]
    public.supported_interfaces.extend(
        interface for interface in card(name, url, address).supported_interfaces if interface.protocol_binding != "GRPC"
    )
    bearer = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer"))
    key = SecurityScheme(api_key_security_scheme=APIKeySecurityScheme(location="query", name="key"))
    public.security_schemes["door"].CopyFrom(bearer)
    public.security_schemes["key"].CopyFrom(key)
    for scheme in ("door", "key"):
        public.security_requirements.append(SecurityRequirement(schemes={scheme: StringList()}))
    return public


def made(url: str, _: grpc.aio.Server, address: str) -> Starlette:
    public = guarded("Guarded", url, address)
    handler = DefaultRequestHandler(
        agent_executor=Obedient(),
        task_store=InMemoryTaskStore(),
        agent_card=public,
        extended_agent_card=guarded("Guarded, extended", url, address),
        push_config_store=InMemoryPushNotificationConfigStore(),
    )
    return Starlette(
        routes=[
            *create_agent_card_routes(public),
            *create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=True),
            *create_rest_routes(handler, enable_v0_3_compat=True),
        ],
        middleware=[Middleware(Door)],
    )


if __name__ == "__main__":
    serve(made)
