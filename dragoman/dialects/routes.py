"""Finds the routes of a path. A template is made of segments: words, `{name}`, or `{name}:verb`."""

from urllib.parse import quote, unquote

import msgspec

from dragoman.errors import InvalidParamsError
from dragoman.operations import Operation

__all__ = ["Route", "Routes"]


class Route(msgspec.Struct, frozen=True):
    """How one operation is called. The first verb is the one that a client uses."""

    operation: Operation
    verbs: tuple[str, ...]
    template: str

    @property
    def names(self) -> frozenset[str]:
        """The members that stand in the path."""
        return frozenset(name for name, _ in map(_variable, self.template.split("/")) if name)

    def path_of(self, members: dict[str, object]) -> str:
        """The path with the members put in, percent-encoded."""
        segments: list[str] = []
        for segment in self.template.split("/"):
            name, suffix = _variable(segment)
            segments.append(quote(str(members[name]), safe="") + suffix if name else segment)
        return "/".join(segments)


def _variable(segment: str) -> tuple[str, str]:
    """Name and suffix of `{name}suffix`, else two empty strings."""
    if not segment.startswith("{"):
        return "", ""
    name, _, suffix = segment[1:].partition("}")
    return name, suffix


class _Pattern:
    """The routes that share one template. Only its last segment may have a suffix."""

    def __init__(self, template: str, routes: tuple[Route, ...]) -> None:
        self.routes = routes
        self.segments = tuple((segment, *_variable(segment)) for segment in template.split("/"))
        self.suffix = self.segments[-1][2]

    def match(self, segments: list[str]) -> dict[str, str] | None:
        """The members in the path, still percent-encoded, or None if the path is another one."""
        members: dict[str, str] = {}
        if not segments[-1].endswith(self.suffix):
            return None
        for given, (word, name, suffix) in zip(segments, self.segments, strict=True):
            if not name:
                if given != word and unquote(given) != word:
                    return None
            else:
                members[name] = given.removesuffix(suffix)
        return members


class Routes:
    """A table of routes; an operation without a route does not exist, of several a client takes the first."""

    def __init__(self, *routes: Route) -> None:
        self.rows = routes
        self._by_operation = {route.operation: route for route in reversed(routes)}
        templates = dict.fromkeys(route.template for route in routes)
        patterns = [
            _Pattern(template, tuple(route for route in routes if route.template == template))
            for template in sorted(templates, key=_ends_in_variable)
        ]
        self._by_length: dict[int, list[_Pattern]] = {}
        for pattern in patterns:
            self._by_length.setdefault(len(pattern.segments), []).append(pattern)

    def of(self, operation: Operation) -> Route:
        return self._by_operation[operation]

    def find(self, path: str) -> tuple[tuple[Route, ...], dict[str, str]]:
        """The routes at `path` and what the path names, decoded; no route if there is nothing.

        A path that fits as it is counts before one whose first segment is taken for a tenant.

        Raises:
            InvalidParamsError: a segment is not UTF-8.
        """
        segments = path.removeprefix("/").split("/")
        for tenant, rest in (([], segments), (segments[:1], segments[1:])):
            for pattern in self._by_length.get(len(rest), ()):
                members = pattern.match(rest)
                if members is not None and (not tenant or tenant[0]):
                    if tenant:
                        members["tenant"] = tenant[0]
                    return pattern.routes, _decoded(members) if "%" in path else members
        return (), {}


def _ends_in_variable(template: str) -> bool:
    return template.endswith("}")


def _decoded(members: dict[str, str]) -> dict[str, str]:
    decoded: dict[str, str] = {}
    for name, segment in members.items():
        try:
            decoded[name] = unquote(segment, errors="strict")
        except UnicodeDecodeError:
            raise InvalidParamsError(f"Invalid parameters: {name} in the path is not UTF-8") from None
    return decoded
