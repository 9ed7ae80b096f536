"""The agent card of A2A 1.0 as JSON (specification sections 4.4, 4.5 and 8.4.1).

Required members are always emitted, even if empty; `optional` ones when they are stated, even if false; all others
when they are not empty. Cards that leave out empty members are read all the same. A card of 0.3 is read as far as it
says where and how to call.
"""

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from dragoman import types
from dragoman.dialects.liberal import Irregular
from dragoman.dialects.v1_0 import security
from dragoman.errors import ReplyMalformed

__all__ = ["DRAFT_VERSION", "AgentCard", "read_card", "upgraded", "write_card"]

DRAFT_VERSION = "1.0-draft"
"""The version of interfaces in cards of the 1.0 draft, as far as clients are concerned."""
_VERSIONS = frozenset({"protocolVersion", "protocol_version"})


class _Provider(msgspec.Struct, rename="camel", kw_only=True):
    url: str
    organization: str


class _Interface(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    url: str
    protocol_binding: str
    tenant: str = ""
    protocol_version: str


class _Extension(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    uri: str = ""
    description: str = ""
    required: bool = False
    params: types.JsonObject | None = None


class _Capabilities(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    streaming: bool | None = None
    push_notifications: bool | None = None
    extensions: tuple[_Extension, ...] = ()
    extended_agent_card: bool | None = None


class _Skill(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    id: str
    name: str
    description: str
    tags: tuple[str, ...]
    examples: tuple[str, ...] = ()
    input_modes: tuple[str, ...] = ()
    output_modes: tuple[str, ...] = ()
    security_requirements: tuple[security.Requirement, ...] = ()


class _Signature(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    protected: str
    signature: str
    header: types.JsonObject | None = None


class AgentCard(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    name: str
    description: str
    supported_interfaces: tuple[_Interface, ...]
    provider: _Provider | None = None
    version: str
    documentation_url: str | None = None
    capabilities: _Capabilities
    security_schemes: dict[str, security.Scheme] = {}
    security_requirements: tuple[security.Requirement, ...] = ()
    default_input_modes: tuple[str, ...]
    default_output_modes: tuple[str, ...]
    skills: tuple[_Skill, ...]
    signatures: tuple[_Signature, ...] = ()
    icon_url: str | None = None


def write_card(card: types.AgentCard) -> AgentCard:
    provider = card.provider
    return AgentCard(
        name=card.name,
        description=card.description,
        supported_interfaces=tuple([_write_interface(interface) for interface in card.supported_interfaces]),
        provider=None if provider is None else _Provider(url=provider.url, organization=provider.organization),
        version=card.version,
        documentation_url=card.documentation_url,
        capabilities=_write_capabilities(card.capabilities),
        security_schemes={name: security.write_scheme(scheme) for name, scheme in card.security_schemes.items()},
        security_requirements=security.write_requirements(card.security_requirements),
        default_input_modes=card.default_input_modes,
        default_output_modes=card.default_output_modes,
        skills=tuple([_write_skill(skill) for skill in card.skills]),
        signatures=tuple([_write_signature(signature) for signature in card.signatures]),
        icon_url=card.icon_url,
    )


def _write_interface(interface: types.AgentInterface) -> _Interface:
    return _Interface(
        url=interface.url,
        protocol_binding=interface.protocol_binding,
        tenant=interface.tenant,
        protocol_version=interface.protocol_version,
    )


def _write_capabilities(given: types.AgentCapabilities) -> _Capabilities:
    return _Capabilities(
        streaming=given.streaming,
        push_notifications=given.push_notifications,
        extensions=tuple([_write_extension(extension) for extension in given.extensions]),
        extended_agent_card=given.extended_agent_card,
    )


def _write_extension(extension: types.AgentExtension) -> _Extension:
    return _Extension(
        uri=extension.uri,
        description=extension.description,
        required=extension.required,
        params=extension.params,
    )


def _write_signature(signature: types.AgentCardSignature) -> _Signature:
    return _Signature(protected=signature.protected, signature=signature.signature, header=signature.header)


def _write_skill(skill: types.AgentSkill) -> _Skill:
    return _Skill(
        id=skill.id,
        name=skill.name,
        description=skill.description,
        tags=skill.tags,
        examples=skill.examples,
        input_modes=skill.input_modes,
        output_modes=skill.output_modes,
        security_requirements=security.write_requirements(skill.security_requirements),
    )


def read_card(card: AgentCard) -> types.AgentCard:
    provider = card.provider
    return types.AgentCard(
        name=_stated(card.name, "name"),
        description=card.description,
        version=card.version,
        supported_interfaces=_read_interfaces(card.supported_interfaces),
        capabilities=_read_capabilities(card.capabilities),
        default_input_modes=card.default_input_modes,
        default_output_modes=card.default_output_modes,
        skills=tuple([_read_skill(skill) for skill in card.skills]),
        provider=None
        if provider is None
        else types.AgentProvider(organization=provider.organization, url=provider.url),
        documentation_url=card.documentation_url,
        icon_url=card.icon_url,
        security_schemes=security.read_schemes(card.security_schemes),
        security_requirements=security.read_requirements(card.security_requirements),
        signatures=tuple([_read_signature(signature) for signature in card.signatures]),
    )


def _stated(value: str, where: str) -> str:
    if not value:
        raise Irregular(where, "is required")
    return value


def _read_interfaces(given: tuple[_Interface, ...]) -> tuple[types.AgentInterface, ...]:
    if not given:
        raise Irregular("supportedInterfaces", "is required")
    return tuple(
        [
            types.AgentInterface(
                url=_stated(interface.url, f"supportedInterfaces[{index}].url"),
                protocol_binding=_stated(interface.protocol_binding, f"supportedInterfaces[{index}].protocolBinding"),
                protocol_version=_stated(interface.protocol_version, f"supportedInterfaces[{index}].protocolVersion"),
                tenant=interface.tenant,
            )
            for index, interface in enumerate(given)
        ]
    )


def _read_capabilities(given: _Capabilities) -> types.AgentCapabilities:
    return types.AgentCapabilities(
        streaming=given.streaming,
        push_notifications=given.push_notifications,
        extended_agent_card=given.extended_agent_card,
        extensions=tuple(
            [
                types.AgentExtension(
                    uri=extension.uri,
                    description=extension.description,
                    required=extension.required,
                    params=extension.params,
                )
                for extension in given.extensions
            ]
        ),
    )


def _read_skill(skill: _Skill) -> types.AgentSkill:
    return types.AgentSkill(
        id=skill.id,
        name=skill.name,
        description=skill.description,
        tags=skill.tags,
        examples=skill.examples,
        input_modes=skill.input_modes,
        output_modes=skill.output_modes,
        security_requirements=security.read_requirements(skill.security_requirements),
    )


def _read_signature(signature: _Signature) -> types.AgentCardSignature:
    return types.AgentCardSignature(
        protected=signature.protected, signature=signature.signature, header=signature.header
    )


def upgraded(value: Any) -> Any:
    """A card that was read as JSON, with what older cards say elsewhere put where 1.0 has it."""
    if not isinstance(value, dict):
        raise ReplyMalformed("The agent card is not an object")
    card = dict(cast("dict[str, Any]", value))
    version = card.get("protocolVersion")
    interfaces = card.get("supportedInterfaces") or card.get("supported_interfaces")
    card["supportedInterfaces"] = (
        [_versioned(item, version) for item in cast("Sequence[Any]", interfaces)]
        if isinstance(interfaces, list)
        else _older_interfaces(card, version)
    )
    card["capabilities"] = _older_capabilities(card)
    return security.upgrade(card)


def _versioned(item: Any, version: Any) -> Any:
    """An interface of the 1.0 draft takes its version from the card; the draft calls itself 1.0 there."""
    if isinstance(item, dict) and isinstance(version, str) and _VERSIONS.isdisjoint(cast("dict[str, Any]", item)):
        stated = DRAFT_VERSION if version.split(".")[:2] == ["1", "0"] else version
        return {"protocolVersion": stated, **cast("dict[str, Any]", item)}
    return cast("Any", item)


def _older_interfaces(card: dict[str, Any], version: Any) -> list[Any]:
    """The interfaces of a card of 0.3, the preferred one first, each once."""
    stated = version if isinstance(version, str) else "0.3"
    spoken = ".".join(stated.split(".")[:2])
    further = card.get("additionalInterfaces")
    tenants: dict[tuple[Any, Any], Any] = {(card.get("url"), card.get("preferredTransport") or "JSONRPC"): ""}
    for item in cast("Sequence[Any]", further if isinstance(further, list) else ()):
        if isinstance(item, dict):
            entry = cast("dict[str, Any]", item)
            where = entry.get("url"), entry.get("transport")
            if all(isinstance(said, str) for said in where):
                tenants[where] = entry.get("tenant") or tenants.get(where, "")
    return [
        {"url": url, "protocolBinding": binding, "protocolVersion": spoken, "tenant": tenant}
        for (url, binding), tenant in tenants.items()
        if isinstance(url, str)
    ]


def _older_capabilities(card: dict[str, Any]) -> Any:
    given = card.get("capabilities")
    if given is None:
        given = {}
    extended = card.get("supportsAuthenticatedExtendedCard", card.get("supportsExtendedAgentCard"))
    if extended is not None and isinstance(given, dict) and "extendedAgentCard" not in given:
        return {**cast("dict[str, Any]", given), "extendedAgentCard": extended}
    return cast("Any", given)
