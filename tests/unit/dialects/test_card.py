"""The agent card as a document, of 1.0 and older."""

from typing import Any

import msgspec
import pytest

from dragoman import operations, types
from dragoman.dialects.base import HttpReply
from dragoman.dialects.card import decode_card, encode_card
from dragoman.dialects.v1_0.jsonrpc import JsonRpc
from dragoman.errors import ReplyMalformed
from tests.unit.dialects import samples

MINIMAL: dict[str, Any] = {
    "name": "Echo",
    "supportedInterfaces": [{"url": "https://e.com", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
}
OLD: dict[str, Any] = {
    "name": "Old",
    "description": "d",
    "version": "1",
    "protocolVersion": "0.3.0",
    "url": "https://e.com/a2a",
    "preferredTransport": "HTTP+JSON",
    "additionalInterfaces": [
        {"url": "https://e.com/a2a", "transport": "HTTP+JSON"},
        {"url": "https://e.com/rpc", "transport": "JSONRPC"},
    ],
    "capabilities": {"streaming": True, "stateTransitionHistory": True},
    "supportsAuthenticatedExtendedCard": True,
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "s", "name": "S", "description": "", "tags": [], "security": [{"key": []}]}],
    "security": [{"key": [], "oauth": ["read"]}],
    "securitySchemes": {
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "http": {"type": "http", "scheme": "bearer"},
        "oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://o.com"},
        "mtls": {"type": "mutualTLS"},
        "oauth": {"type": "oauth2", "flows": {"password": {"tokenUrl": "t", "scopes": {"read": "r"}}}},
        "telepathy": {"type": "telepathy"},
    },
}


def decode(value: Any) -> types.AgentCard:
    return decode_card(msgspec.json.encode(value))


def test_required_members_are_emitted_even_if_empty_and_others_are_not() -> None:
    assert msgspec.json.decode(encode_card(samples.CARD)) == {
        "name": "Echo",
        "description": "",
        "supportedInterfaces": [
            {"url": "https://e.com/a2a", "protocolBinding": "JSONRPC", "tenant": "t", "protocolVersion": "1.0"}
        ],
        "version": "1.0.0",
        "capabilities": {"streaming": True, "pushNotifications": False},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": [],
        "skills": [],
    }


def test_schemes_are_emitted_under_their_kind() -> None:
    schemes: dict[str, types.SecurityScheme] = {
        "key": types.APIKeySecurityScheme(location="header", name="X-Key"),
        "oauth": types.OAuth2SecurityScheme(flow=types.ClientCredentialsOAuthFlow(token_url="t", scopes={})),
        "mtls": types.MutualTlsSecurityScheme(),
    }
    card = msgspec.structs.replace(
        samples.CARD, security_schemes=schemes, security_requirements=({"key": (), "oauth": ("read",)},)
    )
    written = msgspec.json.decode(encode_card(card))
    assert written["securitySchemes"] == {
        "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
        "oauth": {"oauth2SecurityScheme": {"flows": {"clientCredentials": {"tokenUrl": "t", "scopes": {}}}}},
        "mtls": {"mtlsSecurityScheme": {}},
    }
    assert written["securityRequirements"] == [{"schemes": {"key": {}, "oauth": {"list": ["read"]}}}]


def test_the_extended_card_is_the_same_document() -> None:
    body = b'{"jsonrpc":"2.0","id":1,"result":' + encode_card(samples.CARD) + b"}"
    reply = HttpReply(200, {}, body)
    assert JsonRpc().decode_result(operations.GET_EXTENDED_AGENT_CARD, reply) == samples.CARD


def test_empty_members_may_be_missing_and_unknown_ones_be_there() -> None:
    card = decode(MINIMAL | {"x": {"y": 1}, "skills": [{"id": "s"}], "capabilities": {"z": 1}})
    assert card.description == ""
    assert card.capabilities == types.AgentCapabilities()
    assert card.skills == (types.AgentSkill(id="s", name="", description=""),)


def test_a_card_of_0_3_says_where_to_call() -> None:
    card = decode(OLD)
    assert [(entry.url, entry.protocol_binding, entry.protocol_version) for entry in card.supported_interfaces] == [
        ("https://e.com/a2a", "HTTP+JSON", "0.3"),
        ("https://e.com/rpc", "JSONRPC", "0.3"),
    ]
    assert card.capabilities == types.AgentCapabilities(streaming=True, extended_agent_card=True)
    assert card.security_requirements == ({"key": (), "oauth": ("read",)},)
    assert card.skills[0].security_requirements == ({"key": ()},)
    assert card.security_schemes == {
        "key": types.APIKeySecurityScheme(location="header", name="X-Key"),
        "http": types.HTTPAuthSecurityScheme(scheme="bearer"),
        "oidc": types.OpenIdConnectSecurityScheme(open_id_connect_url="https://o.com"),
        "mtls": types.MutualTlsSecurityScheme(),
        "oauth": types.OAuth2SecurityScheme(flow=types.PasswordOAuthFlow(token_url="t", scopes={"read": "r"})),
    }


def test_a_card_of_0_3_with_the_least_is_json_rpc() -> None:
    (interface,) = decode({"name": "n", "url": "https://e.com"}).supported_interfaces
    assert interface == types.AgentInterface(url="https://e.com", protocol_binding="JSONRPC", protocol_version="0.3")


def test_a_card_of_both_generations_is_read_as_the_newer() -> None:
    assert [entry.protocol_version for entry in decode(OLD | MINIMAL).supported_interfaces] == ["1.0"]


def test_an_interface_of_the_draft_takes_its_version_from_the_card() -> None:
    draft = {"name": "n", "protocolVersion": "1.0", "supportedInterfaces": [{"url": "u", "protocolBinding": "JSONRPC"}]}
    assert decode(draft).supported_interfaces[0].protocol_version == "1.0-draft"
    draft["protocolVersion"] = "0.3.0"
    assert decode(draft).supported_interfaces[0].protocol_version == "0.3.0"


WRONG: list[tuple[dict[str, Any], str]] = [
        ({"name": ""}, "name"),
        ({"name": 5}, "name"),
        ({"supportedInterfaces": []}, "supportedInterfaces"),
        ({"supportedInterfaces": "https://e.com"}, "supportedInterfaces"),
        ({"supportedInterfaces": [{"protocolBinding": "X", "protocolVersion": "1.0"}]}, "supportedInterfaces[0].url"),
        ({"supportedInterfaces": [{"url": "u", "protocolVersion": "1.0"}]}, "supportedInterfaces[0].protocolBinding"),
        ({"supportedInterfaces": [{"url": "u", "protocolBinding": "X"}]}, "supportedInterfaces[0].protocolVersion"),
        ({"supportedInterfaces": ["u"]}, "supportedInterfaces[0]"),
        ({"capabilities": {"streaming": "yes"}}, "capabilities.streaming"),
        ({"skills": [{"id": "s", "tags": [1]}]}, "skills[0].tags[0]"),
        ({"defaultInputModes": "text/plain"}, "defaultInputModes"),
        ({"securitySchemes": {"a": {"mtlsSecurityScheme": 1}}}, "securitySchemes.a.mtlsSecurityScheme"),
        ({"securityRequirements": [{"schemes": {"a": []}}]}, "securityRequirements[0].schemes.a"),
    ]  # fmt: skip


@pytest.mark.parametrize(("changes", "named"), WRONG)
def test_what_is_wrong_with_a_card_is_named(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ReplyMalformed) as caught:
        decode(MINIMAL | changes)
    assert f"cannot be read: {named} " in str(caught.value)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"null", b"{}", b'"card"', b"\xff"])
def test_what_is_no_card_is_malformed(body: bytes) -> None:
    with pytest.raises(ReplyMalformed):
        decode_card(body)
