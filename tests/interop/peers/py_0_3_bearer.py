"""Calls an agent with a token, where the official Python SDK's 0.3 line puts it by the agent's card: a JSON list of
jobs comes in, one of answers goes out.
"""

import asyncio
import json
import logging
import sys
from contextlib import aclosing
from typing import Any

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.auth import AuthInterceptor, InMemoryContextCredentialStore
from a2a.client.middleware import ClientCallContext
from a2a.types import Message, Part, Role, TextPart, TransportProtocol

from tests.interop.peers.loop import channels


async def said(url: str, version: str, binding: str, credentials: dict[str, str]) -> str:
    """What the agent says; or why it says nothing."""
    assert version == "0.3"
    store = InMemoryContextCredentialStore()
    for scheme, credential in credentials.items():
        await store.set_credentials("this", scheme, credential)
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        config = ClientConfig(
            streaming=False,
            httpx_client=http,
            supported_transports=[TransportProtocol(binding)],
            grpc_channel_factory=channels(url),
        )
        client = ClientFactory(config).create(card, interceptors=[AuthInterceptor(store)])
        message = Message(message_id=f"m-{id(store)}", role=Role.user, parts=[Part(TextPart(text="Who?"))])
        context = ClientCallContext(state={"sessionId": "this"})
        try:
            async with aclosing(client.send_message(message, context=context)) as answers:
                task, _ = await anext(answers)
            return "".join(part.root.text for artifact in task.artifacts or [] for part in artifact.parts)
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is told
            return f"{type(error).__name__}: {error}"
        finally:
            await client.close()


async def main(jobs: list[dict[str, Any]]) -> list[str]:
    return [await said(**job) for job in jobs]


logging.disable(logging.CRITICAL)
json.dump(asyncio.run(main(json.load(sys.stdin))), sys.stdout)
