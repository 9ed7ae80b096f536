"""The agent card as a document, of 1.0 and older."""

from typing import Any

import msgspec
import pytest

from dragoman import operations, types
from dragoman.dialects.base import Call, HttpReply
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


# One document for readers of every generation.

BOTH = (
    types.AgentInterface(url="https://e.com/", protocol_binding="JSONRPC", protocol_version="1.0"),
    types.AgentInterface(url="e.com:443", protocol_binding="GRPC", protocol_version="1.0"),
    types.AgentInterface(url="https://e.com/", protocol_binding="JSONRPC", protocol_version="0.3"),
    types.AgentInterface(url="https://e.com", protocol_binding="HTTP+JSON", protocol_version="0.3"),
)
SECURED = msgspec.structs.replace(
    samples.CARD,
    supported_interfaces=BOTH,
    capabilities=types.AgentCapabilities(streaming=True, extended_agent_card=True),
    security_schemes={
        "key": types.APIKeySecurityScheme(location="header", name="X-Key", description="d"),
        "http": types.HTTPAuthSecurityScheme(scheme="bearer", bearer_format="JWT"),
        "oidc": types.OpenIdConnectSecurityScheme(open_id_connect_url="https://o.com"),
        "mtls": types.MutualTlsSecurityScheme(),
        "oauth": types.OAuth2SecurityScheme(flow=types.ClientCredentialsOAuthFlow(token_url="t", scopes={"r": "R"})),
        "device": types.OAuth2SecurityScheme(
            flow=types.DeviceCodeOAuthFlow(device_authorization_url="d", token_url="t", scopes={})
        ),
    },
    security_requirements=({"key": (), "oauth": ("r",)},),
    skills=(types.AgentSkill(id="s", name="S", description="d", security_requirements=({"http": ()},)),),
)


def test_a_card_with_an_interface_of_0_3_has_the_members_of_both() -> None:
    card = msgspec.json.decode(encode_card(SECURED))
    assert [(entry["protocolBinding"], entry["protocolVersion"]) for entry in card["supportedInterfaces"]] == [
        ("JSONRPC", "1.0"), ("GRPC", "1.0"), ("JSONRPC", "0.3"), ("HTTP+JSON", "0.3")
    ]  # fmt: skip
    assert (card["protocolVersion"], card["url"], card["preferredTransport"]) == ("0.3.0", "https://e.com/", "JSONRPC")
    assert card["additionalInterfaces"] == [
        {"url": "https://e.com/", "transport": "JSONRPC"},
        {"url": "https://e.com", "transport": "HTTP+JSON"},
    ]
    assert card["supportsAuthenticatedExtendedCard"] is True
    assert card["capabilities"] == {"streaming": True, "extendedAgentCard": True}
    assert card["security"] == [{"key": [], "oauth": ["r"]}]
    assert card["securityRequirements"] == [{"schemes": {"key": {}, "oauth": {"list": ["r"]}}}]
    assert card["skills"] == [
        {
            "id": "s",
            "name": "S",
            "description": "d",
            "tags": [],
            "security": [{"http": []}],
            "securityRequirements": [{"schemes": {"http": {}}}],
        }
    ]


def test_schemes_say_their_kind_in_both_ways() -> None:
    schemes = msgspec.json.decode(encode_card(SECURED))["securitySchemes"]
    assert schemes == {
        "key": {
            "type": "apiKey", "in": "header", "name": "X-Key", "description": "d",
            "apiKeySecurityScheme": {"location": "header", "name": "X-Key", "description": "d"},
        },
        "http": {
            "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
            "httpAuthSecurityScheme": {"scheme": "bearer", "bearerFormat": "JWT"},
        },
        "oidc": {
            "type": "openIdConnect", "openIdConnectUrl": "https://o.com",
            "openIdConnectSecurityScheme": {"openIdConnectUrl": "https://o.com"},
        },
        "mtls": {"type": "mutualTLS", "mtlsSecurityScheme": {}},
        "oauth": {
            "type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "t", "scopes": {"r": "R"}}},
            "oauth2SecurityScheme": {"flows": {"clientCredentials": {"tokenUrl": "t", "scopes": {"r": "R"}}}},
        },
        "device": {
            "type": "oauth2", "flows": {},
            "oauth2SecurityScheme": {
                "flows": {"deviceCode": {"deviceAuthorizationUrl": "d", "tokenUrl": "t", "scopes": {}}}
            },
        },
    }  # fmt: skip


def test_the_document_for_everyone_is_read_as_the_card_that_it_is() -> None:
    assert decode_card(encode_card(SECURED)) == SECURED
    assert encode_card(SECURED) == encode_card(decode_card(encode_card(SECURED)))


def test_a_reader_of_0_3_makes_the_same_of_it() -> None:
    older = {
        name: member
        for name, member in msgspec.json.decode(encode_card(SECURED)).items()
        if name not in {"supportedInterfaces", "securityRequirements"}
    }
    read = decode(older)
    assert [(one.url, one.protocol_binding) for one in read.supported_interfaces] == [
        ("https://e.com/", "JSONRPC"), ("https://e.com", "HTTP+JSON")
    ]  # fmt: skip
    assert read.security_requirements == SECURED.security_requirements


def test_a_strict_card_and_one_without_0_3_have_only_members_of_1_0() -> None:
    known = set(msgspec.json.decode(encode_card(SECURED, "strict-1.0")))
    assert known == {
        "name", "description", "supportedInterfaces", "version", "capabilities", "securitySchemes",
        "securityRequirements", "defaultInputModes", "defaultOutputModes", "skills",
    }  # fmt: skip
    newer = msgspec.structs.replace(SECURED, supported_interfaces=BOTH[:2])
    assert set(msgspec.json.decode(encode_card(newer))) == known
    assert decode_card(encode_card(SECURED, "strict-1.0")) == SECURED


def test_the_extended_card_has_no_older_members() -> None:
    """Official readers of 1.0 take no others there."""
    reply = JsonRpc().encode_result(
        Call(operations.GET_EXTENDED_AGENT_CARD, None, types.ServiceParameters(), 1), SECURED
    )
    assert msgspec.json.decode(reply.body)["result"] == msgspec.json.decode(encode_card(SECURED, "strict-1.0"))
