"""What has changed between two cards, in words, and whether callers that could call before still can."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from dragoman.types.card import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, SecurityRequirement

__all__ = ["Change", "compare_cards"]


class Change(msgspec.Struct, frozen=True):
    """One difference. `breaking` says that a caller of the old card may fail with the new one."""

    words: str
    breaking: bool = False


def compare_cards(old: AgentCard, new: AgentCard) -> tuple[Change, ...]:
    """All differences, in the order in which a card is read; none if the cards say the same. Signatures are not
    compared: each is of its own card.
    """
    found = [change for part in _PARTS for change in part(old, new)]
    return tuple(dict.fromkeys(found))


def _texts(old: AgentCard, new: AgentCard) -> Iterator[Change]:
    for name in ("name", "version", "description", "documentation_url", "icon_url", "provider"):
        yield from _value(name.replace("_", " "), getattr(old, name), getattr(new, name))


def _value(what: str, old: Any, new: Any, *, breaking: bool = False) -> Iterator[Change]:
    if old != new:
        yield Change(f"{what}: {_shown(old)} is now {_shown(new)}", breaking)


def _shown(value: Any) -> str:
    if isinstance(value, msgspec.Struct):
        members = msgspec.structs.asdict(value).items()
        return "(" + ", ".join(f"{name} {_shown(item)}" for name, item in members if item not in ("", None, ())) + ")"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value in ("", ()):
        return "not stated"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] -- any
    return str(value)


def _interfaces(old: AgentCard, new: AgentCard) -> Iterator[Change]:
    def called(interface: AgentInterface) -> str:
        tenant = f" (tenant {interface.tenant})" if interface.tenant else ""
        return f"interface {interface.protocol_binding} {interface.protocol_version} {interface.url}{tenant}"

    before, after = map(called, old.supported_interfaces), map(called, new.supported_interfaces)
    yield from _listed(list(before), list(after), "the order of interfaces has changed")


def _listed(old: Sequence[str], new: Sequence[str], reordered: str = "") -> Iterator[Change]:
    """What is gone, which breaks callers, and what is new."""
    yield from (Change(f"{one} is gone", breaking=True) for one in old if one not in new)
    yield from (Change(f"{one} is new") for one in new if one not in old)
    if reordered and old != new and sorted(old) == sorted(new):
        yield Change(reordered)


def _capabilities(old: AgentCard, new: AgentCard) -> Iterator[Change]:
    before, after = old.capabilities, new.capabilities
    for name in ("streaming", "push_notifications", "extended_agent_card"):
        had, has = bool(getattr(before, name)), bool(getattr(after, name))
        yield from _value(name.replace("_", " "), had, has, breaking=had)
    yield from _extensions(before, after)


def _extensions(old: AgentCapabilities, new: AgentCapabilities) -> Iterator[Change]:
    before = {one.uri: one for one in old.extensions}
    after = {one.uri: one for one in new.extensions}
    yield from (Change(f"extension {uri} is gone", breaking=True) for uri in before if uri not in after)
    for uri, extension in after.items():
        was = before.get(uri)
        if was is None:
            required = " and required" if extension.required else ""
            yield Change(f"extension {uri} is new{required}", breaking=extension.required)
            continue
        stricter = extension.required and not was.required
        yield from _value(f"extension {uri}: required", was.required, extension.required, breaking=stricter)
        yield from _value(f"extension {uri}: description", was.description, extension.description)
        if was.params != extension.params:
            yield Change(f"extension {uri}: its params have changed", breaking=True)


def _modes(old: AgentCard, new: AgentCard) -> Iterator[Change]:
    yield from _words("input mode", old.default_input_modes, new.default_input_modes)
    yield from _words("output mode", old.default_output_modes, new.default_output_modes)


def _words(what: str, old: Sequence[str], new: Sequence[str]) -> Iterator[Change]:
    yield from _listed([f"{what} {one}" for one in old], [f"{what} {one}" for one in new])


def _schemes(old: AgentCard, new: AgentCard) -> Iterator[Change]:
    before, after = old.security_schemes, new.security_schemes
    yield from _listed([f"security scheme {name}" for name in before], [f"security scheme {name}" for name in after])
    for name, scheme in after.items():
        was = before.get(name, scheme)
        if was != scheme:
            yield Change(f"security scheme {name}: {_kind(was)} is now {_kind(scheme)}", breaking=True)


def _kind(scheme: Any) -> str:
    return f"{type(scheme).__name__.removesuffix('SecurityScheme')} {_shown(scheme)}"


def _requirements(old: AgentCard, new: AgentCard) -> Iterator[Change]:
    yield from _needs("the agent", old.security_requirements, new.security_requirements)


def _needs(who: str, old: Sequence[SecurityRequirement], new: Sequence[SecurityRequirement]) -> Iterator[Change]:
    before, after = [_need(one) for one in old], [_need(one) for one in new]
    if sorted(before) == sorted(after):
        return
    fewer = bool(before) and all(one in after for one in before)
    asked = " or ".join(after) or "nothing"
    yield Change(f"{who} asks for {asked}, no longer for {' or '.join(before) or 'nothing'}", bool(after) and not fewer)


def _need(requirement: Mapping[str, Sequence[str]]) -> str:
    named = [f"{name} ({' '.join(scopes)})" if scopes else name for name, scopes in sorted(requirement.items())]
    return " and ".join(named) or "nothing"


def _skills(old: AgentCard, new: AgentCard) -> Iterator[Change]:
    before = {one.id: one for one in old.skills}
    after = {one.id: one for one in new.skills}
    yield from _listed([f"skill {name}" for name in before], [f"skill {name}" for name in after])
    for name, skill in after.items():
        yield from _skill(f"skill {name}", before.get(name, skill), skill)


def _skill(what: str, old: AgentSkill, new: AgentSkill) -> Iterator[Change]:
    for name in ("name", "description", "tags", "examples"):
        yield from _value(f"{what}: {name}", getattr(old, name), getattr(new, name))
    for name in ("input_modes", "output_modes"):
        gone = set(getattr(old, name)) - set(getattr(new, name))
        # Without modes of its own a skill has those of the card.
        narrowed = bool(gone) or (not getattr(old, name) and bool(getattr(new, name)))
        yield from _value(
            f"{what}: {name.replace('_', ' ')}", getattr(old, name), getattr(new, name), breaking=narrowed
        )
    yield from _needs(what, old.security_requirements, new.security_requirements)


_PARTS: tuple[Callable[[AgentCard, AgentCard], Iterator[Change]], ...] = (
    _texts,
    _interfaces,
    _capabilities,
    _modes,
    _schemes,
    _requirements,
    _skills,
)
