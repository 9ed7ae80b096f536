"""The extension "timestamp" on the client of the official Python SDK's 0.3 line, as its sample does it."""

import asyncio
import json
import sys
from datetime import UTC, datetime

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.extensions.common import find_extension_by_uri
from a2a.types import Message, Part, Role, TaskArtifactUpdateEvent, TaskStatusUpdateEvent, TextPart, TransportProtocol

from tests.interop.peers.loop import channels

CORE = "github.com/a2aproject/a2a-samples/extensions/timestamp/v1"
URI = f"https://{CORE}"
FIELD = f"{CORE}/timestamp"
TRANSPORTS = {
    "JSONRPC": TransportProtocol.jsonrpc,
    "HTTP+JSON": TransportProtocol.http_json,
    "GRPC": TransportProtocol.grpc,
}


async def ask(url: str, binding: str) -> None:
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        assert find_extension_by_uri(card, URI) is not None
        config = ClientConfig(
            httpx_client=http,
            supported_transports=[TRANSPORTS[binding]],
            use_client_preference=True,
            grpc_channel_factory=channels(url),
            extensions=[URI],
        )
        client = ClientFactory(config).create(card)
        sent = datetime.now(UTC).isoformat()
        parts = [Part(TextPart(text="when?"))]
        message = Message(message_id="m", role=Role.user, parts=parts, metadata={FIELD: sent})
        found, text = [], ""
        async for answer in client.send_message(message):
            update = answer[1]
            # Of what came as protobuf it makes up a message without parts where there is none.
            if isinstance(update, TaskStatusUpdateEvent) and update.status.message and update.status.message.parts:
                found.append(update.status.message.metadata[FIELD])
            if isinstance(update, TaskArtifactUpdateEvent):
                found.append(update.artifact.metadata[FIELD])
                text = update.artifact.parts[0].root.text
    now = datetime.now(UTC)
    ages = [(now - datetime.fromisoformat(one)).total_seconds() for one in found]
    print(json.dumps({"ages": ages, "heard": datetime.fromisoformat(text) == datetime.fromisoformat(sent)}))


if __name__ == "__main__":
    asyncio.run(ask(*sys.argv[1:]))
