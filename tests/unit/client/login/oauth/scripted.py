"""A provider that answers what a test says, well or badly, on a real socket."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from dragoman.client.login.need import Need
from dragoman.types.card import OAuth2SecurityScheme, OAuthFlow, OpenIdConnectSecurityScheme

__all__ = ["NOTHING", "ORIGIN", "TOKEN", "Answer", "Scripted", "need_of", "openid_at", "providing"]

ORIGIN = "http://127.0.0.1:9999"
TOKEN = {"access_token": "of-the-provider", "token_type": "Bearer", "expires_in": 300}
NOTHING: dict[str, Any] = {}
Answer = tuple[int, Any]
"""Status, and members or raw bytes."""


class Scripted:
    """Each path has answers, given one after the other and the last again and again."""

    def __init__(self) -> None:
        self.base = ""
        self.answers: dict[str, list[Answer]] = {}
        self.forms: list[tuple[str, dict[str, str]]] = []
        self.headers: list[dict[str, str]] = []
        self.asked_now = asyncio.Event()
        self.answers_now = asyncio.Event()
        """Until it is set nothing is answered."""
        self.answers_now.set()

    def says(self, path: str, *answers: Answer) -> None:
        self.answers[path] = list(answers)

    def metadata(self, **members: Any) -> dict[str, Any]:
        """Well-formed metadata of this provider, but for what is given; None leaves a member out."""
        told: dict[str, Any] = {
            "issuer": self.base,
            "authorization_endpoint": f"{self.base}/auth",
            "token_endpoint": f"{self.base}/token",
            **members,
        }
        return {name: value for name, value in told.items() if value is not None}

    def asked(self, path: str) -> list[dict[str, str]]:
        """The forms that came to a path."""
        return [form for place, form in self.forms if place == path]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.forms.append((request.path, form))
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        self.asked_now.set()
        await self.answers_now.wait()
        waiting = self.answers.get(request.path, [(404, {})])
        status, told = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        if isinstance(told, bytes):
            return web.Response(status=status, body=told)
        if status in {301, 302, 307, 308}:
            return web.Response(status=status, headers={"location": told})
        return web.json_response(told, status=status)


@asynccontextmanager
async def providing() -> AsyncGenerator[Scripted, None]:
    scripted = Scripted()
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", scripted.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        scripted.base = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield scripted
    finally:
        await runner.cleanup()


def need_of(flow: OAuthFlow, *, metadata: str = "", origin: str = ORIGIN) -> Need:
    scheme = OAuth2SecurityScheme(flow=flow, oauth2_metadata_url=metadata)
    return Need(name="oauth", scheme=scheme, scopes=("chat",), origin=origin, agent=f"{origin}/agent")


def openid_at(url: str, *, origin: str = ORIGIN) -> Need:
    scheme = OpenIdConnectSecurityScheme(open_id_connect_url=url)
    return Need(name="openid", scheme=scheme, scopes=("chat",), origin=origin, agent=f"{origin}/agent")
