"""The canonical form of cards."""

import json
from typing import Any

import pytest

from dragoman.cards.canonical import Form, canonical, parsed, readings
from dragoman.dialects.card import card_members, encode_card, stated_members
from dragoman.errors import ReplyMalformed
from dragoman.types.card import AgentCapabilities, AgentInterface
from tests.behaviour.manifest import requirement
from tests.unit.cards.parts import card, signed


def form(**members: Any) -> dict[str, Any]:
    """The canonical form, read again, of the card's JSON with these members instead of its own."""
    form: dict[str, Any] = json.loads(canonical(card_members(card()) | members))
    return form


@requirement("R-8.4.1-02")
def test_the_example_of_the_specification_has_the_form_that_is_printed_there() -> None:
    capabilities: dict[str, Any] = {"streaming": False, "pushNotifications": False, "extensions": []}
    fragment: dict[str, Any] = {"name": "Example Agent", "description": "", "capabilities": capabilities, "skills": []}
    whole = json.loads(canonical(fragment))
    shown = {name: whole[name] for name in fragment}
    assert json.dumps(shown, separators=(",", ":"), sort_keys=True) == (
        '{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent",'
        '"skills":[]}'
    )
    # The fragment lacks further required members, which the whole has, empty.
    assert {name for name in whole if name not in fragment} == {
        "version",
        "supportedInterfaces",
        "defaultInputModes",
        "defaultOutputModes",
    }


@requirement("R-8.4.1-01")
def test_members_are_in_the_order_of_utf_16_and_text_is_as_it_is() -> None:
    params = {"\ufb33": 1, "\U0001f600": 2, "b\n": "\u20ac\u2028\x07", "a": "/\\"}
    capabilities = {"extensions": [{"uri": "u", "params": params}]}
    written = canonical(card_members(card()) | {"capabilities": capabilities}).decode()
    assert '"params":{"a":"/\\\\","b\\n":"\u20ac\u2028\\u0007","\U0001f600":2,"\ufb33":1}' in written


@requirement("R-8.4.1-01")
@pytest.mark.parametrize(
    ("number", "written"),
    [
        ("1.0", "1"),
        ("-0", "0"),
        ("1e21", "1e+21"),
        ("123456789012345680000", "123456789012345680000"),
        ("9007199254740993", "9007199254740992"),
        ("0.000001", "0.000001"),
        ("1e-7", "1e-7"),
        ("333333333.33333329", "333333333.3333333"),
    ],
)
def test_numbers_are_written_as_doubles_in_their_shortest_form(number: str, written: str) -> None:
    body = f'{{"name":"n","capabilities":{{"extensions":[{{"params":{{"n":{number}}}}}]}}}}'.encode()
    assert f'{{"n":{written}}}' in canonical(parsed(body)).decode()


@requirement("R-8.4.1-03")
def test_optional_members_that_were_not_set_are_not_there() -> None:
    assert "documentationUrl" not in form()
    assert "pushNotifications" not in form()["capabilities"]
    assert "documentationUrl" not in form(documentationUrl=None)


@requirement("R-8.4.1-04")
def test_optional_members_that_were_set_stay_whatever_they_say() -> None:
    found = form(documentationUrl="", capabilities={"streaming": False, "extendedAgentCard": False})
    assert (found["documentationUrl"], found["iconUrl"]) == ("", "")
    assert found["capabilities"] == {"streaming": False, "extendedAgentCard": False}


@requirement("R-8.4.1-05")
def test_required_members_stay_even_if_they_are_empty_or_were_left_out() -> None:
    skill: dict[str, Any] = {"id": "s", "name": "", "description": "", "tags": []}
    found = form(skills=[skill], defaultInputModes=[], description="", capabilities={})
    assert found["skills"] == [skill]
    assert (found["defaultInputModes"], found["description"], found["capabilities"]) == ([], "", {})
    left_out = {name: value for name, value in card_members(card()).items() if name != "description"}
    assert canonical(left_out) == canonical(card_members(card()))


@requirement("R-8.4.1-06")
def test_other_members_with_their_default_are_not_there() -> None:
    interface = {"url": "https://a/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": ""}
    extension = {"uri": "u", "description": "", "required": False}
    found = form(
        supportedInterfaces=[interface],
        capabilities={"extensions": [extension]},
        securitySchemes={},
        securityRequirements=[],
        skills=[{"id": "s", "name": "S", "description": "d", "tags": [], "examples": [], "inputModes": []}],
    )
    assert "tenant" not in found["supportedInterfaces"][0]
    assert found["capabilities"] == {"extensions": [{"uri": "u"}]}
    assert {"securitySchemes", "securityRequirements"}.isdisjoint(found)
    assert found["skills"] == [{"id": "s", "name": "S", "description": "d", "tags": []}]


@requirement("R-8.4.1-07")
def test_signatures_are_not_in_it() -> None:
    assert "signatures" in card_members(signed())
    assert canonical(card_members(signed())) == canonical(card_members(card()))


def test_what_stands_for_older_readers_is_not_in_it() -> None:
    older = AgentInterface(url="https://agent.example/", protocol_binding="JSONRPC", protocol_version="0.3")
    both = card(supported_interfaces=(*card().supported_interfaces, older))
    everyone, strict = (parsed(encode_card(both, shape)) for shape in ("everyone", "strict-1.0"))
    assert everyone.keys() > strict.keys()
    assert canonical(everyone) == canonical(strict)


def test_what_the_schema_does_not_restrict_stays_whole() -> None:
    params: dict[str, Any] = {"empty": [], "none": None, "no": False, "text": ""}
    found = form(capabilities={"extensions": [{"uri": "u", "params": params}]})
    assert found["capabilities"]["extensions"][0]["params"] == params


def test_a_card_from_json_and_the_card_as_a_value_have_one_form() -> None:
    given = card(capabilities=AgentCapabilities(push_notifications=False))
    assert canonical(parsed(encode_card(given))) == canonical(card_members(given))
    assert stated_members(card_members(given)).keys() == card_members(given).keys()


def test_each_reading_is_there_once_and_that_of_the_specification_is_first() -> None:
    forms = list(readings(card_members(card())))
    assert [each for each, _, _ in forms] == [Form.SPECIFICATION, Form.SDK, Form.ESCAPED]
    assert len({payload for _, payload, _ in forms}) == len(forms)
    legacy = {**card_members(card()), "url": "https://agent.example/"}
    assert [each for each, _, _ in readings(legacy)][3:] == [Form.WHOLE, Form.WHOLE_SDK, Form.WHOLE_ESCAPED]


@pytest.mark.parametrize(
    "body",
    [
        b'{"name":"a","name":"b"}',
        b'{"name":"a","capabilities":{"streaming":true,"streaming":false}}',
        b'["name"]',
        b'{"name":"a"} {}',
        b'{"name":NaN}',
        b'{"name":"\\ud800"}',
        b'{"name":"\xff"}',
        b"\xef\xbb\xbf{}",
        b'{"a":' * 200 + b"1" + b"}" * 200,
        b'{"a":' * 100_000,
        b"",
    ],
)
def test_what_two_readers_could_read_in_two_ways_is_no_card(body: bytes) -> None:
    with pytest.raises(ReplyMalformed):
        parsed(body)


def test_a_member_of_another_type_has_no_form() -> None:
    with pytest.raises(ReplyMalformed, match=r"skills must be an array"):
        canonical({"name": "x", "skills": {}})
