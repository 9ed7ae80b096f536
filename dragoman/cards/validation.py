"""What is wrong with a card, by the schema of the specification and by what its sections ask for (section 4.4)."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec

from dragoman.dialects.card import card_violations
from dragoman.dialects.every import every_dialect

__all__ = ["Finding", "validate_card"]

_LOCATIONS = ("query", "header", "cookie")
_DEPRECATED = ("implicit", "password")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\Z")
_MEDIA_TYPE = re.compile(r"[!#$&^_.+*A-Za-z0-9-]+/[!#$&^_.+*A-Za-z0-9-]+( *;.*)?\Z")
_URLS = ("url", "authorizationUrl", "tokenUrl", "refreshUrl", "deviceAuthorizationUrl", "openIdConnectUrl")
_LOCAL = ("localhost", "127.0.0.1", "::1")


class Finding(msgspec.Struct, frozen=True):
    """What is wrong at a place, which is a JSON pointer (RFC 6901). What is not `serious` could be better."""

    pointer: str
    words: str
    serious: bool = True


def validate_card(card: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Everything that is wrong with a card's JSON, what breaks the schema first.

    Members that the schema does not know are not looked at: older ones may stand beside those of today.
    """
    found = [Finding(_pointer(path), words) for path, words in card_violations(card)]
    broken = {one.pointer for one in found}
    further = (finding for rule in _RULES for finding in rule(card))
    found += [one for one in dict.fromkeys(further) if one.pointer not in broken]
    return tuple(sorted(found, key=lambda one: not one.serious))


def _pointer(path: str) -> str:
    return "".join(f"/{_escaped(piece)}" for piece in re.findall(r"[^.\[\]]+", path))


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _object(value: Any) -> Mapping[str, Any]:
    """The value, if it is an object, else an empty one: that it is none is said by the schema."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _objects(holder: Any, *names: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects in the list or map under a member, with their pointers."""
    value: Any = holder
    for name in names:
        value = cast("Mapping[str, Any]", value).get(name) if isinstance(value, Mapping) else None
    where = "".join(f"/{name}" for name in names)
    for key, item in _members(value):
        if isinstance(item, Mapping):
            yield f"{where}/{_escaped(str(key))}", cast("Mapping[str, Any]", item)


def _members(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, Mapping):
        yield from cast("Mapping[str, Any]", value).items()
    elif isinstance(value, list):
        yield from enumerate(cast("Sequence[Any]", value))


def _empty(card: Mapping[str, Any]) -> Iterator[Finding]:
    """Required strings that say nothing, and required lists without an element (section 5.7)."""
    for name in ("name", "version", "supportedInterfaces"):
        if card.get(name) in ("", []):
            yield Finding(f"/{name}", "must not be empty")
    for name in ("description", "defaultInputModes", "defaultOutputModes", "skills"):
        if card.get(name) in ("", []):
            yield Finding(f"/{name}", "should not be empty", serious=False)


def _interfaces(card: Mapping[str, Any]) -> Iterator[Finding]:
    known = {dialect.binding for dialect in every_dialect()}
    for where, one in _objects(card, "supportedInterfaces"):
        url, binding, version = (one.get(name) for name in ("url", "protocolBinding", "protocolVersion"))
        if isinstance(binding, str) and binding not in known and ":" not in binding:
            yield Finding(f"{where}/protocolBinding", f"must be {', '.join(sorted(known))} or a URI, not {binding!r}")
        if isinstance(version, str) and not _VERSION.match(version):
            yield Finding(f"{where}/protocolVersion", f"must be Major.Minor, not {version!r}")
        if isinstance(url, str) and urlsplit(url).scheme == "http" and urlsplit(url).hostname not in _LOCAL:
            yield Finding(f"{where}/url", "should be under TLS", serious=False)


def _modes(card: Mapping[str, Any]) -> Iterator[Finding]:
    places: list[tuple[str, Mapping[str, Any], tuple[str, ...]]] = [
        ("", card, ("defaultInputModes", "defaultOutputModes"))
    ]
    places += [(where, skill, ("inputModes", "outputModes")) for where, skill in _objects(card, "skills")]
    for where, holder, names in places:
        for name in names:
            listed = holder.get(name)
            for at, mode in enumerate(cast("Sequence[Any]", listed if isinstance(listed, list) else ())):
                if isinstance(mode, str) and not _MEDIA_TYPE.match(mode):
                    yield Finding(f"{where}/{name}/{at}", f"must be a media type, not {mode!r}")


def _skills(card: Mapping[str, Any]) -> Iterator[Finding]:
    skills = list(_objects(card, "skills"))
    times = Counter(str(skill.get("id")) for _, skill in skills)
    for where, skill in skills:
        if times[str(skill.get("id"))] > 1:
            yield Finding(
                f"{where}/id", f"must be its own: {skill.get('id')!r} is there {times[str(skill.get('id'))]} times"
            )
        for name in ("tags", "examples"):
            if not skill.get(name):
                yield Finding(f"{where}/{name}", "should not be empty: agents are found by it", serious=False)


def _schemes(card: Mapping[str, Any]) -> Iterator[Finding]:
    for where, scheme in _objects(card, "securitySchemes"):
        kinds = [name for name in scheme if name.endswith("SecurityScheme")]
        if len(kinds) != 1:
            yield Finding(where, f"must be of one kind, and is of {', '.join(kinds) or 'none'}")
        location = _object(scheme.get("apiKeySecurityScheme")).get("location")
        if location is not None and location not in _LOCATIONS:
            yield Finding(f"{where}/apiKeySecurityScheme/location", f"must be one of {', '.join(_LOCATIONS)}")
        flows = _object(scheme.get("oauth2SecurityScheme")).get("flows")
        if isinstance(flows, Mapping):
            yield from _flows(f"{where}/oauth2SecurityScheme/flows", list(cast("Mapping[str, Any]", flows)))


def _flows(where: str, kinds: Sequence[str]) -> Iterator[Finding]:
    if len(kinds) != 1:
        yield Finding(where, f"must be one flow, and is {', '.join(kinds) or 'none'}")
    for kind in kinds:
        if kind in _DEPRECATED:
            yield Finding(f"{where}/{kind}", "is deprecated", serious=False)


def _requirements(card: Mapping[str, Any]) -> Iterator[Finding]:
    schemes = card.get("securitySchemes")
    declared = set(cast("Mapping[str, Any]", schemes)) if isinstance(schemes, Mapping) else set[str]()
    holders = [("", card), *_objects(card, "skills")]
    for holder_at, holder in holders:
        for where, requirement in _objects(holder, "securityRequirements"):
            named = requirement.get("schemes")
            for name in cast("Mapping[str, Any]", named) if isinstance(named, Mapping) else ():
                if name not in declared:
                    place = f"{holder_at}{where}/schemes/{_escaped(name)}"
                    yield Finding(place, "names a scheme that securitySchemes does not declare")


def _addresses(card: Mapping[str, Any]) -> Iterator[Finding]:
    """URLs that nobody can call. Those of interfaces may do without a scheme: some bindings have none."""
    waiting: list[tuple[str, Any]] = [
        (f"/{name}", card.get(name)) for name in ("provider", "securitySchemes") if isinstance(card.get(name), Mapping)
    ]
    while waiting:
        where, value = waiting.pop(0)
        for name, item in cast("Mapping[str, Any]", value).items():
            at = f"{where}/{_escaped(name)}"
            if isinstance(item, Mapping):
                waiting.append((at, cast("Mapping[str, Any]", item)))
            elif name in _URLS and isinstance(item, str) and item and not _callable(item):
                yield Finding(at, f"must be an absolute URL, not {item!r}")
    for name in ("documentationUrl", "iconUrl"):
        if isinstance(url := card.get(name), str) and not _callable(url):
            yield Finding(f"/{name}", f"must be an absolute URL, not {url!r}")


def _callable(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return bool(parts.scheme and (parts.netloc or parts.scheme == "data"))


def _signed(card: Mapping[str, Any]) -> Iterator[Finding]:
    if not card.get("signatures"):
        yield Finding("/signatures", "should be there: nobody can know that the card is yours", serious=False)


_RULES: tuple[Callable[[Mapping[str, Any]], Iterator[Finding]], ...] = (
    _empty,
    _interfaces,
    _modes,
    _skills,
    _schemes,
    _requirements,
    _addresses,
    _signed,
)
