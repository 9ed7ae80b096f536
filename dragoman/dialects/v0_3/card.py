"""The agent card of A2A 0.3 as JSON, in the form of the schema of 0.3.0.

Schemes say their kind in `type`, requirements are plain maps, the card names one URL and lists the others. Written are
the interfaces of 0.3 alone. Lost are what 0.3 has no word for: the device code flow, and whether PKCE is required.
"""

from typing import Any, cast

import msgspec

from dragoman import types
from dragoman.dialects.codec import Codec
from dragoman.dialects.v1_0 import card as newer
from dragoman.dialects.v1_0 import security

__all__ = ["CODEC", "write_card"]

VERSION = "0.3.0"

_AS_IN_1_0 = (
    "name",
    "description",
    "version",
    "provider",
    "documentationUrl",
    "iconUrl",
    "defaultInputModes",
    "defaultOutputModes",
    "signatures",
)
_TYPES = {
    wrapper: (kind, {newer: older for older, newer in renamed.items()})
    for kind, (wrapper, renamed) in security.KINDS.items()
}
_FLOWS = ("authorizationCode", "clientCredentials", "implicit", "password")


def write_card(card: types.AgentCard) -> dict[str, Any]:
    """The members of the card. One without an interface of 0.3 names those that it has."""
    given: dict[str, Any] = msgspec.to_builtins(newer.write_card(card))
    spoken = [one for one in card.supported_interfaces if one.protocol_version == "0.3"]
    interfaces = [_interface(one) for one in spoken or card.supported_interfaces]
    capabilities = given["capabilities"]
    written = {
        "protocolVersion": VERSION,
        **{name: given[name] for name in _AS_IN_1_0 if name in given},
        "url": interfaces[0]["url"] if interfaces else "",
        "preferredTransport": interfaces[0]["transport"] if interfaces else "JSONRPC",
        "additionalInterfaces": interfaces,
        "supportsAuthenticatedExtendedCard": capabilities.pop("extendedAgentCard", None),
        "capabilities": capabilities,
        "securitySchemes": {name: _scheme(scheme) for name, scheme in given.get("securitySchemes", {}).items()} or None,
        "security": _requirements(given),
        "skills": [_skill(skill) for skill in given["skills"]],
    }
    return {name: value for name, value in written.items() if value is not None}


def _interface(interface: types.AgentInterface) -> dict[str, str]:
    written = {"url": interface.url, "transport": interface.protocol_binding, "tenant": interface.tenant}
    return {name: value for name, value in written.items() if value}


def _scheme(scheme: dict[str, Any]) -> dict[str, Any]:
    ((wrapper, members),) = scheme.items()
    kind, renamed = _TYPES[wrapper]
    written: dict[str, Any] = {"type": kind}
    for name, value in cast("dict[str, Any]", members).items():
        written[renamed.get(name, name)] = value
    if "flows" in written:
        written["flows"] = {name: _flow(flow) for name, flow in written["flows"].items() if name in _FLOWS}
    return written


def _flow(flow: dict[str, Any]) -> dict[str, Any]:
    return {"scopes": {}, **{name: value for name, value in flow.items() if name != "pkceRequired"}}


def _requirements(holder: dict[str, Any]) -> list[dict[str, list[str]]] | None:
    given = cast("list[dict[str, Any]]", holder.get("securityRequirements", ()))
    return [
        {name: scopes.get("list", []) for name, scopes in requirement.get("schemes", {}).items()}
        for requirement in given
    ] or None


def _skill(skill: dict[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in skill.items() if name != "securityRequirements"}
    security_of = _requirements(skill)
    return plain if security_of is None else plain | {"security": security_of}


CODEC: Codec[Any, types.AgentCard] = Codec(
    newer.AgentCard, newer.read_card, write_card, shape=newer.upgraded, plain=False
)
"""How a card is read, of 0.3 in any form or newer, and written."""
