"""What the tests of cards share: a card with something of everything, keys, and signatures made by hand."""

import base64
import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from joserfc.jwk import ECKey

from dragoman.cards import CardKeys, CardSigner, CardVerdict, verify_card
from dragoman.dialects.card import card_members
from dragoman.signing.keys import KeyRing, SigningKey
from dragoman.types.card import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
    APIKeySecurityScheme,
)

NOW = 1_800_000_000.0
KEY = SigningKey.generate("ES256", key_id="first")
OTHER = SigningKey.generate("EdDSA", key_id="second")
PLACE = "https://keys.example/sets/agents.json"

PARAMS: dict[str, Any] = {"whole": 1.0, "none": None, "empty": [], "deep": {"list": [1, 2.5, ""]}}


def card(**changed: Any) -> AgentCard:
    members: dict[str, Any] = {
        "name": "Übersetzer \U0001f5fa",
        "description": "",
        "version": "1.0",
        "supported_interfaces": (
            AgentInterface(url="https://agent.example/", protocol_binding="JSONRPC", protocol_version="1.0"),
        ),
        "capabilities": AgentCapabilities(streaming=False, extensions=(AgentExtension(uri="urn:x", params=PARAMS),)),
        "default_input_modes": ("text/plain",),
        "default_output_modes": ("text/plain",),
        "skills": (AgentSkill(id="s", name="S", description="does"),),
        "icon_url": "",
        "security_schemes": {"key": APIKeySecurityScheme(location="header", name="X-Key")},
        "security_requirements": ({"key": ()},),
    }
    return AgentCard(**members | changed)


def public(*keys: SigningKey) -> dict[str, Any]:
    return {"keys": [key.public_jwk() for key in keys]}


def keys_of(*keys: SigningKey, **options: Any) -> CardKeys:
    return CardKeys(public(*keys), clock=lambda: NOW, **options)


def signed(given: AgentCard | None = None, *keys: SigningKey, jku: str | None = None) -> AgentCard:
    ring = KeyRing.of(*(keys or (KEY,)))
    return CardSigner(ring, jku=jku, clock=lambda: NOW).signed(given or card())


def document(given: AgentCard, **changed: Any) -> bytes:
    """The card's JSON, with members changed, added, or (None) taken away."""
    members = card_members(given) | changed
    return json.dumps({name: value for name, value in members.items() if value is not None}).encode()


def by_hand(payload: bytes, key: SigningKey = KEY, **header: Any) -> dict[str, Any]:
    """An ES256 signature over any bytes, with any protected header."""
    protected = encoded({"alg": "ES256", "kid": key.id, "typ": "JOSE", **header})
    private = ECKey.import_key(key.private_jwk()).private_key
    assert private is not None
    made = private.sign(f"{protected}.{encoded(payload)}".encode(), ECDSA(SHA256()))
    value = b"".join(number.to_bytes(32, "big") for number in decode_dss_signature(made))
    return {"protected": protected, "signature": encoded(value)}


def encoded(value: bytes | dict[str, Any]) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def decoded(part: str) -> dict[str, Any]:
    members: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=="))
    return members


async def verdict(given: AgentCard | bytes, keys: CardKeys | None) -> CardVerdict:
    return await verify_card(given, keys)
