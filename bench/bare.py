"""What uvicorn alone can do: an ASGI application that reads the body and answers a fixed SendMessage result.

Run as `python -m bench.bare PORT`. It is no A2A server; it is the ceiling of one written in Python.
"""

import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec
import uvicorn

Event = MutableMapping[str, Any]


def application(
    port: int,
) -> Callable[[Event, Callable[[], Awaitable[Event]], Callable[[Event], Awaitable[None]]], Any]:
    interface = {"url": f"http://127.0.0.1:{port}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    card = msgspec.json.encode({"name": "Bare", "supportedInterfaces": [interface]})
    headers = [(b"content-type", b"application/json")]

    async def answer(
        scope: Event, receive: Callable[[], Awaitable[Event]], send: Callable[[Event], Awaitable[None]]
    ) -> None:
        while (await receive()).get("more_body"):
            pass
        body = RESULT if scope["method"] == "POST" else card
        length = (b"content-length", b"%d" % len(body))
        await send({"type": "http.response.start", "status": 200, "headers": [*headers, length]})
        await send({"type": "http.response.body", "body": body})

    return answer


RESULT = msgspec.json.encode(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "task": {
                "id": "00000000-0000-4000-8000-000000000001",
                "contextId": "00000000-0000-4000-8000-000000000002",
                "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-01-01T00:00:00.000Z"},
                "artifacts": [{"artifactId": "00000000-0000-4000-8000-000000000003", "parts": [{"text": "hello"}]}],
                "history": [
                    {
                        "messageId": "00000000-0000-4000-8000-000000000004",
                        "role": "ROLE_USER",
                        "parts": [{"text": "hello"}],
                    }
                ],
            }
        },
    }
)

if __name__ == "__main__":
    given = int(sys.argv[1])
    uvicorn.run(
        application(given),
        port=given,
        log_level="error",
        access_log=False,
        loop="uvloop",
        http="httptools",
        lifespan="off",
    )
