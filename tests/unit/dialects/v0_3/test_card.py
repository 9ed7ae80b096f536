"""The agent card of 0.3: written in the form of its schema, read in every form."""

import json
from typing import Any

import msgspec
import pytest

from dragoman import types
from dragoman.dialects.v0_3.card import CODEC, write_card
from tests.unit.dialects import samples

AT = {
    binding: types.AgentInterface(url=f"https://e.com/{binding}", protocol_binding=binding, protocol_version="0.3")
    for binding in ("JSONRPC", "HTTP+JSON")
}
CARD = msgspec.structs.replace(
    samples.CARD,
    supported_interfaces=(*samples.CARD.supported_interfaces, *AT.values()),
    capabilities=types.AgentCapabilities(streaming=True, extended_agent_card=True),
)
FLOWS: dict[str, tuple[types.OAuthFlow, dict[str, Any]]] = {
    "authorizationCode": (
        types.AuthorizationCodeOAuthFlow(authorization_url="a", token_url="t", scopes={"s": "d"}, pkce_required=True),
        {"authorizationUrl": "a", "tokenUrl": "t", "scopes": {"s": "d"}},
    ),
    "clientCredentials": (
        types.ClientCredentialsOAuthFlow(token_url="t", scopes={}, refresh_url="r"),
        {"tokenUrl": "t", "scopes": {}, "refreshUrl": "r"},
    ),
    "implicit": (
        types.ImplicitOAuthFlow(authorization_url="a", scopes={}),
        {"authorizationUrl": "a", "scopes": {}},
    ),
    "password": (types.PasswordOAuthFlow(token_url="t", scopes={"s": ""}), {"tokenUrl": "t", "scopes": {"s": ""}}),
}
SCHEMES: dict[str, tuple[types.SecurityScheme, dict[str, Any]]] = {
    "key": (
        types.APIKeySecurityScheme(location="header", name="x-key", description="d"),
        {"type": "apiKey", "in": "header", "name": "x-key", "description": "d"},
    ),
    "http": (
        types.HTTPAuthSecurityScheme(scheme="Bearer", bearer_format="JWT"),
        {"type": "http", "scheme": "Bearer", "bearerFormat": "JWT"},
    ),
    "oidc": (
        types.OpenIdConnectSecurityScheme(open_id_connect_url="u"),
        {"type": "openIdConnect", "openIdConnectUrl": "u"},
    ),
    "mtls": (types.MutualTlsSecurityScheme(), {"type": "mutualTLS"}),
}


def on_the_wire(card: types.AgentCard) -> dict[str, Any]:
    written: dict[str, Any] = json.loads(msgspec.json.encode(write_card(card)))
    return written


def read(members: dict[str, Any]) -> types.AgentCard:
    return CODEC.decode(json.dumps(members).encode())


def test_a_card_names_the_interfaces_of_0_3_alone_the_first_twice() -> None:
    assert on_the_wire(CARD) == {
        "protocolVersion": "0.3.0",
        "name": "Echo",
        "description": "",
        "version": "1.0.0",
        "url": "https://e.com/JSONRPC",
        "preferredTransport": "JSONRPC",
        "additionalInterfaces": [
            {"url": "https://e.com/JSONRPC", "transport": "JSONRPC"},
            {"url": "https://e.com/HTTP+JSON", "transport": "HTTP+JSON"},
        ],
        "capabilities": {"streaming": True},
        "supportsAuthenticatedExtendedCard": True,
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": [],
        "skills": [],
    }


@pytest.mark.parametrize("name", SCHEMES)
def test_a_scheme_says_its_kind_in_its_type(name: str) -> None:
    scheme, expected = SCHEMES[name]
    card = msgspec.structs.replace(CARD, security_schemes={name: scheme})
    assert on_the_wire(card)["securitySchemes"] == {name: expected}
    assert read(on_the_wire(card)).security_schemes == {name: scheme}


@pytest.mark.parametrize("name", FLOWS)
def test_a_flow_stands_under_its_name(name: str) -> None:
    flow, expected = FLOWS[name]
    scheme = types.OAuth2SecurityScheme(flow=flow, oauth2_metadata_url="m")
    card = msgspec.structs.replace(CARD, security_schemes={"oauth": scheme})
    assert on_the_wire(card)["securitySchemes"]["oauth"] == {
        "type": "oauth2",
        "oauth2MetadataUrl": "m",
        "flows": {name: expected},
    }


def test_a_flow_without_a_word_in_0_3_is_left_out() -> None:
    flow = types.DeviceCodeOAuthFlow(device_authorization_url="d", token_url="t", scopes={})
    card = msgspec.structs.replace(CARD, security_schemes={"oauth": types.OAuth2SecurityScheme(flow=flow)})
    assert on_the_wire(card)["securitySchemes"]["oauth"] == {"type": "oauth2", "flows": {}}


def test_requirements_are_plain_maps_of_the_card_and_of_skills() -> None:
    needed = ({"oauth": ("read", "write"), "key": ()}, {"mtls": ()})
    skill = types.AgentSkill(id="s", name="n", description="d", tags=("t",), security_requirements=needed[:1])
    card = msgspec.structs.replace(CARD, security_requirements=needed, skills=(skill,))
    written = on_the_wire(card)
    assert written["security"] == [{"oauth": ["read", "write"], "key": []}, {"mtls": []}]
    assert written["skills"] == [
        {
            "id": "s",
            "name": "n",
            "description": "d",
            "tags": ["t"],
            "security": [{"oauth": ["read", "write"], "key": []}],
        }
    ]
    assert read(written).security_requirements == needed
    assert read(written).skills == (skill,)


def test_a_card_comes_back_with_its_interfaces_of_0_3() -> None:
    expected = msgspec.structs.replace(CARD, supported_interfaces=tuple(AT.values()))
    assert read(on_the_wire(CARD)) == expected


def test_the_proto_form_is_read_too() -> None:
    members = on_the_wire(CARD) | {
        "securitySchemes": {"key": {"apiKeySecurityScheme": {"location": "header", "name": "x-key"}}},
        "security": [{"schemes": {"key": {"list": ["a"]}}}],
        "additionalInterfaces": [
            {"url": "https://e.com/JSONRPC", "transport": "JSONRPC", "tenant": "acme"},
            {"url": "https://e.com/rest", "transport": "HTTP+JSON"},
        ],
    }
    card = read(members)
    assert card.security_schemes == {"key": types.APIKeySecurityScheme(location="header", name="x-key")}
    assert card.security_requirements == ({"key": ("a",)},)
    assert [(one.protocol_binding, one.tenant) for one in card.supported_interfaces] == [
        ("JSONRPC", "acme"),
        ("HTTP+JSON", ""),
    ]


def test_a_card_without_an_interface_of_0_3_names_those_that_it_has() -> None:
    written = on_the_wire(samples.CARD)
    assert (written["url"], written["preferredTransport"]) == ("https://e.com/a2a", "JSONRPC")
    assert written["additionalInterfaces"] == [{"url": "https://e.com/a2a", "transport": "JSONRPC", "tenant": "t"}]
