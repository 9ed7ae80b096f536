"""What is wrong with a card, and where."""

from typing import Any

import pytest

from dragoman.cards.canonical import parsed
from dragoman.cards.validation import Finding, validate_card
from dragoman.dialects.card import CARD_SHAPES, CardShape, card_members, encode_card
from dragoman.types.card import AgentInterface, AgentSkill
from tests.unit.cards.parts import card, signed

SKILL = AgentSkill(id="s", name="S", description="does", tags=("t",), examples=("Do.",))


def good(**changed: Any) -> dict[str, Any]:
    return card_members(signed(card(description="d", icon_url=None, skills=(SKILL,)))) | changed


def found(**changed: Any) -> list[tuple[str, bool]]:
    return [(one.pointer, one.serious) for one in validate_card(good(**changed))]


@pytest.mark.parametrize("shape", CARD_SHAPES)
def test_a_good_card_has_no_findings(shape: CardShape) -> None:
    older = AgentInterface(url="https://agent.example/", protocol_binding="JSONRPC", protocol_version="0.3")
    given = card(description="d", icon_url=None, skills=(SKILL,))
    both = signed(
        card(description="d", icon_url=None, skills=(SKILL,), supported_interfaces=(*given.supported_interfaces, older))
    )
    assert validate_card(parsed(encode_card(both, shape))) == ()


SCHEME = {"apiKeySecurityScheme": {"location": "header", "name": "X"}}

BROKEN: dict[str, tuple[dict[str, Any], list[tuple[str, bool]]]] = {
    "no name": ({"name": None}, [("/name", True)]),
    "an empty name": ({"name": ""}, [("/name", True)]),
    "a number for a version": ({"version": 1}, [("/version", True)]),
    "no interfaces": ({"supportedInterfaces": []}, [("/supportedInterfaces", True)]),
    "an interface without binding": (
        {"supportedInterfaces": [{"url": "https://a/", "protocolVersion": "1.0"}]},
        [("/supportedInterfaces/0/protocolBinding", True)],
    ),
    "an unknown binding": (
        {"supportedInterfaces": [{"url": "https://a/", "protocolBinding": "SOAP", "protocolVersion": "1.0"}]},
        [("/supportedInterfaces/0/protocolBinding", True)],
    ),
    "a version with a patch number": (
        {"supportedInterfaces": [{"url": "https://a/", "protocolBinding": "urn:b", "protocolVersion": "1.0.0"}]},
        [("/supportedInterfaces/0/protocolVersion", True)],
    ),
    "an address without TLS": (
        {"supportedInterfaces": [{"url": "http://a.example/", "protocolBinding": "GRPC", "protocolVersion": "1.0"}]},
        [("/supportedInterfaces/0/url", False)],
    ),
    "a capability that is no bool": ({"capabilities": {"streaming": "yes"}}, [("/capabilities/streaming", True)]),
    "a mode that is no media type": ({"defaultInputModes": ["text/plain", "text"]}, [("/defaultInputModes/1", True)]),
    "no modes": ({"defaultOutputModes": []}, [("/defaultOutputModes", False)]),
    "one id twice": (
        {"skills": good()["skills"] * 2},
        [("/skills/0/id", True), ("/skills/1/id", True)],
    ),
    "a skill without description": (
        {"skills": [{"id": "s", "name": "S", "tags": ["t"], "examples": ["e"]}]},
        [("/skills/0/description", True)],
    ),
    "a mode of a skill": (
        {"skills": [good()["skills"][0] | {"inputModes": ["x"]}]},
        [("/skills/0/inputModes/0", True)],
    ),
    "a skill that nobody finds": (
        {"skills": [{"id": "s", "name": "S", "description": "d", "tags": []}]},
        [("/skills/0/tags", False), ("/skills/0/examples", False)],
    ),
    "a requirement of nothing": (
        {"securityRequirements": [{"schemes": {"a/b": {}}}]},
        [("/securityRequirements/0/schemes/a~1b", True)],
    ),
    "a scheme of no kind": ({"securitySchemes": {"key": {}}}, [("/securitySchemes/key", True)]),
    "a scheme of two kinds": (
        {"securitySchemes": {"key": {**SCHEME, "mtlsSecurityScheme": {}}}},
        [("/securitySchemes/key", True)],
    ),
    "a key in the body": (
        {"securitySchemes": {"key": {"apiKeySecurityScheme": {"location": "body", "name": "X"}}}},
        [("/securitySchemes/key/apiKeySecurityScheme/location", True)],
    ),
    "two flows": (
        {"securitySchemes": {"key": {"oauth2SecurityScheme": {"flows": {"implicit": {}, "password": {}}}}}},
        [
            ("/securitySchemes/key/oauth2SecurityScheme/flows", True),
            ("/securitySchemes/key/oauth2SecurityScheme/flows/implicit", False),
            ("/securitySchemes/key/oauth2SecurityScheme/flows/password", False),
        ],
    ),
    "an address that is none": (
        {"securitySchemes": {"key": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "a/b"}}}},
        [("/securitySchemes/key/openIdConnectSecurityScheme/openIdConnectUrl", True)],
    ),
    "an icon that is none": ({"iconUrl": "icon.png"}, [("/iconUrl", True)]),
    "no signature": ({"signatures": []}, [("/signatures", False)]),
    "a signature without value": ({"signatures": [{"protected": "e30"}]}, [("/signatures/0/signature", True)]),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_wrong_is_found_where_it_is_and_nothing_else(what: str) -> None:
    changed, expected = BROKEN[what]
    assert found(**changed) == expected


def test_what_breaks_the_schema_comes_first_and_each_place_says_it_once() -> None:
    assert validate_card(good(version=1, description="", icon=[])) == (
        Finding("/version", "must be a string"),
        Finding("/description", "should not be empty", serious=False),
    )


@pytest.mark.parametrize("broken", [{}, {"skills": 1, "securitySchemes": [], "supportedInterfaces": {"a": 1}}])
def test_anything_can_be_looked_at(broken: dict[str, Any]) -> None:
    assert [one for one in validate_card(broken) if one.serious]
