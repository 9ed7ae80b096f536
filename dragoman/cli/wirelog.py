"""What stands between the client and the network: parameters put on, and the exchange told under `--debug`."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager

from dragoman.cli.output import Output
from dragoman.client.network import Guard
from dragoman.client.transport import HttpResponse, HttpTransport

__all__ = ["Wire"]


class Wire:
    """A transport that adds headers to each request and tells the exchange, redacted."""

    def __init__(
        self,
        inner: HttpTransport,
        out: Output,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._inner = inner
        self._out = out
        self.answered = False
        """Whether any answer has come: an error before that is not the agent's."""
        self._headers = headers or {}

    @asynccontextmanager
    async def open(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> AsyncGenerator[HttpResponse, None]:
        sent = {**headers, **self._headers}
        self._out.debug(f"> {method} {url}")
        for name, value in sent.items():
            self._out.debug(f"> {name}: {value}")
        if body:
            self._out.debug(f"> {body.decode('utf-8', 'replace')}")
        async with self._inner.open(method, url, sent, body) as response:
            self.answered = True
            self._out.debug(f"< {response.status}")
            for name, value in response.headers.items():
                self._out.debug(f"< {name}: {value}")
            yield _Told(response, self._out)

    @property
    def guard(self) -> Guard | None:
        """What the transport behind it is under."""
        return getattr(self._inner, "guard", None)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Told:
    """An answer whose body is told line by line, so that no secret is cut in two."""

    def __init__(self, response: HttpResponse, out: Output) -> None:
        self._response = response
        self._out = out
        self.status = response.status
        self.headers = response.headers

    async def body(self) -> AsyncIterator[bytes]:
        pending = b""
        try:
            async for chunk in self._response.body():
                *lines, pending = (pending + chunk).split(b"\n")
                for line in lines:
                    self._tell(line)
                yield chunk
        finally:
            self._tell(pending)

    def _tell(self, line: bytes) -> None:
        if line:
            self._out.debug(f"< {line.decode('utf-8', 'replace')}")
