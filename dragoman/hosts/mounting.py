"""Mounting in Starlette and FastAPI, which this package does not import."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from dragoman.errors import ConfigurationError
from dragoman.hosts.binding import Receive, Scope, Send

__all__ = ["mount_on"]

ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]


class _Exact:
    """The application at the mount path itself: a mount begins only after the slash, and would redirect."""

    def __init__(self, app: ASGIApp, path: str) -> None:
        self._app = app
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, "root_path": scope.get("root_path", "") + self._path}, receive, send)


def mount_on(
    app: Any, path: str, agent: ASGIApp, open_: Callable[[], Awaitable[None]], close: Callable[[], Awaitable[None]]
) -> None:
    """Mounts `agent` under `path`, and opens and closes it with the application's lifespan."""
    router = getattr(app, "router", None)
    if router is None or not hasattr(app, "mount"):
        raise ConfigurationError("mount() takes a Starlette or FastAPI application; elsewhere use asgi()")
    path = "/" + path.strip("/")
    if path == "/":
        app.mount("/", agent)
    else:
        app.router.add_route(path, _Exact(agent, path), include_in_schema=False)
        app.mount(path, agent)
    inner = router.lifespan_context

    @asynccontextmanager
    async def lifespan(outer: Any) -> AsyncGenerator[Any]:
        await open_()
        try:
            async with inner(outer) as state:
                yield state
        finally:
            await close()

    router.lifespan_context = lifespan
