"""What has changed between two cards."""

from typing import Any

import pytest

from dragoman.cards.comparison import Change, compare_cards
from dragoman.types.card import (
    AgentCapabilities,
    AgentExtension,
    AgentInterface,
    AgentProvider,
    AgentSkill,
    APIKeySecurityScheme,
    MutualTlsSecurityScheme,
)
from tests.unit.cards.parts import card, signed

HERE = AgentInterface(url="https://agent.example/", protocol_binding="JSONRPC", protocol_version="1.0")
THERE = AgentInterface(url="https://agent.example", protocol_binding="HTTP+JSON", protocol_version="1.0", tenant="t")
SKILL = AgentSkill(id="s", name="S", description="does")


def caps(*extensions: AgentExtension, **stated: bool) -> dict[str, Any]:
    return {"capabilities": AgentCapabilities(extensions=extensions, **stated)}


KEY = APIKeySecurityScheme(location="header", name="X-Key")

CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any], list[Change]]] = {
    "a version": ({}, {"version": "2"}, [Change("version: 1.0 is now 2")]),
    "a description": ({"description": "a"}, {"description": ""}, [Change("description: a is now not stated")]),
    "a provider": (
        {},
        {"provider": AgentProvider(organization="O", url="https://o")},
        [Change("provider: not stated is now (organization O, url https://o)")],
    ),
    "an interface more": (
        {},
        {"supported_interfaces": (HERE, THERE)},
        [Change("interface HTTP+JSON 1.0 https://agent.example (tenant t) is new")],
    ),
    "an interface moved": (
        {},
        {
            "supported_interfaces": (
                AgentInterface(url="https://b/", protocol_binding="JSONRPC", protocol_version="1.0"),
            )
        },
        [
            Change("interface JSONRPC 1.0 https://agent.example/ is gone", breaking=True),
            Change("interface JSONRPC 1.0 https://b/ is new"),
        ],
    ),
    "an order": (
        {"supported_interfaces": (HERE, THERE)},
        {"supported_interfaces": (THERE, HERE)},
        [Change("the order of interfaces has changed")],
    ),
    "a capability gone": (
        caps(streaming=True),
        caps(streaming=False),
        [Change("streaming: yes is now no", breaking=True)],
    ),
    "a capability more": (caps(), caps(push_notifications=True), [Change("push notifications: no is now yes")]),
    "what is not stated and no": (caps(), caps(streaming=False), []),
    "an extension required": (
        caps(AgentExtension(uri="u")),
        caps(AgentExtension(uri="u", required=True)),
        [Change("extension u: required: no is now yes", breaking=True)],
    ),
    "an extension new and required": (
        caps(),
        caps(AgentExtension(uri="u", required=True)),
        [Change("extension u is new and required", breaking=True)],
    ),
    "an extension new": (caps(), caps(AgentExtension(uri="u")), [Change("extension u is new")]),
    "an extension gone": (caps(AgentExtension(uri="u")), caps(), [Change("extension u is gone", breaking=True)]),
    "params": (
        caps(AgentExtension(uri="u", params={"a": 1})),
        caps(AgentExtension(uri="u", params={"a": 2})),
        [Change("extension u: its params have changed", breaking=True)],
    ),
    "a mode gone": (
        {"default_input_modes": ("text/plain", "image/png")},
        {},
        [Change("input mode image/png is gone", breaking=True)],
    ),
    "a scheme": (
        {},
        {"security_schemes": {"key": APIKeySecurityScheme(location="query", name="X-Key")}},
        [
            Change(
                "security scheme key: APIKey (location header, name X-Key) is now APIKey (location query, name X-Key)",
                breaking=True,
            )
        ],
    ),
    "a scheme more": (
        {},
        {"security_schemes": {"key": KEY, "tls": MutualTlsSecurityScheme()}},
        [Change("security scheme tls is new")],
    ),
    "a requirement more strict": (
        {},
        {"security_requirements": ({"key": (), "tls": ("a", "b")},)},
        [Change("the agent asks for key and tls (a b), no longer for key", breaking=True)],
    ),
    "a requirement less strict": (
        {},
        {"security_requirements": ({"key": ()}, {})},
        [Change("the agent asks for key or nothing, no longer for key")],
    ),
    "a requirement gone": (
        {},
        {"security_requirements": ()},
        [Change("the agent asks for nothing, no longer for key")],
    ),
    "a requirement new": (
        {"security_requirements": ()},
        {},
        [Change("the agent asks for key, no longer for nothing", breaking=True)],
    ),
    "a skill gone and one new": (
        {},
        {"skills": (AgentSkill(id="t", name="T", description="d"),)},
        [Change("skill s is gone", breaking=True), Change("skill t is new")],
    ),
    "a skill": (
        {"skills": (SKILL,)},
        {"skills": (AgentSkill(id="s", name="S", description="did", tags=("a", "b"), input_modes=("text/plain",)),)},
        [
            Change("skill s: description: does is now did"),
            Change("skill s: tags: not stated is now a, b"),
            Change("skill s: input modes: not stated is now text/plain", breaking=True),
        ],
    ),
    "what a skill asks for": (
        {"skills": (SKILL,)},
        {"skills": (AgentSkill(id="s", name="S", description="does", security_requirements=({"key": ()},)),)},
        [Change("skill s asks for key, no longer for nothing", breaking=True)],
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_told_in_words_and_as_breaking_if_it_is(what: str) -> None:
    old, new, expected = CHANGES[what]
    assert list(compare_cards(card(**old), card(**new))) == expected


def test_equal_cards_have_no_changes_whoever_has_signed_them() -> None:
    assert compare_cards(card(), signed()) == ()
