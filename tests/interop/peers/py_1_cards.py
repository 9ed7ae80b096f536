"""Signs and verifies cards with the official Python SDK 1.x: a JSON list of jobs comes in, one of answers goes out."""

import asyncio
import json
import logging
import sys
from typing import Any

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.card_resolver import parse_agent_card
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.types import GetExtendedAgentCardRequest
from a2a.utils.signing import SignatureVerificationError, create_agent_card_signer, create_signature_verifier
from jwt import PyJWK
from jwt.exceptions import PyJWKError

ALGORITHMS = ["ES256", "EdDSA", "RS256"]


def key_of(keys: list[dict[str, Any]], kid: str | None) -> PyJWK:
    for key in keys:
        if key["kid"] == kid:
            return PyJWK(key)
    raise PyJWKError(f"no key {kid}")


def verified(card: dict[str, Any], keys: list[dict[str, Any]]) -> str:
    """`verified`, or why not. The card is read as the SDK's client reads what it has fetched."""
    verify = create_signature_verifier(lambda kid, _: key_of(keys, kid), ALGORITHMS)
    try:
        verify(parse_agent_card(card))
    except SignatureVerificationError as error:
        return f"{type(error).__name__}: {error}"
    return "verified"


def fetched(url: str, keys: list[dict[str, Any]]) -> str:
    """As `verified`, of a card that the SDK's client fetches and verifies by itself; then the extended one likewise."""
    return asyncio.run(_fetched(url, create_signature_verifier(lambda kid, _: key_of(keys, kid), ALGORITHMS)))


async def _fetched(url: str, verify: Any) -> str:
    async with httpx.AsyncClient() as http:
        try:
            card = await A2ACardResolver(http, url).get_agent_card(signature_verifier=verify)
            factory = ClientFactory(ClientConfig(httpx_client=http, streaming=False))
            extended = await factory.create(card).get_extended_agent_card(
                GetExtendedAgentCardRequest(), signature_verifier=verify
            )
        except SignatureVerificationError as error:
            return f"{type(error).__name__}: {error}"
    return f"verified {card.name} and {extended.name}"


def signed(card: dict[str, Any], keys: list[dict[str, Any]]) -> dict[str, Any]:
    """The card as the SDK's server would serve it, signed with each of the keys."""
    made = parse_agent_card(card)
    for key in keys:
        header: Any = {"alg": key["alg"], "kid": key["kid"], "typ": "JOSE", "jku": None}
        del header["jku"]
        made = create_agent_card_signer(PyJWK(key), header)(made)
    return agent_card_to_dict(made)


logging.disable(logging.CRITICAL)
WORK: dict[str, Any] = {"verify": verified, "fetch": fetched, "sign": signed}
json.dump([WORK[job["do"]](job["card"], job["keys"]) for job in json.load(sys.stdin)], sys.stdout)
