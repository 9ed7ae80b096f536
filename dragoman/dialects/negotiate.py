"""Which dialect a request speaks (specification section 3.6): the binding by its address, the version by its header.

binding     version asked for            answered in
JSON-RPC    POST to the interface URL    a served version: that dialect
HTTP+JSON   anything else                none or an empty one: 0.3, if it is served; else as `missing_version` says
                                         another: VersionNotSupportedError, in the first dialect of the binding
"""

import re
from collections.abc import Sequence
from typing import Literal
from urllib.parse import parse_qsl

from dragoman.dialects.base import Call, Dialect, HttpRequest, Refusal, served_versions
from dragoman.errors import MethodNotFoundError, VersionNotSupportedError

__all__ = ["Negotiator"]

_ABSENT = "0.3"
"""What a request without a version means (section 3.6.2)."""
_JSONRPC = "JSONRPC"
_REST = "HTTP+JSON"
_VERSION = re.compile(r"([0-9]{1,4}\.[0-9]{1,4})(?:\.[0-9]{1,9})?", re.ASCII)


class Negotiator:
    """Chooses among the dialects served, in their order of preference.

    `missing_version` decides about a request that names no version while 0.3 is not served: `strict` refuses it, as
    the specification says; `by-grammar` takes it for what its address and form say.
    """

    def __init__(
        self, dialects: Sequence[Dialect], missing_version: Literal["strict", "by-grammar"] = "strict"
    ) -> None:
        if not dialects:
            raise ValueError("at least one dialect must be served")
        self._dialects = tuple(dialects)
        self._table = {(dialect.binding, dialect.version): dialect for dialect in reversed(self._dialects)}
        self._first = {dialect.binding: dialect for dialect in reversed(self._dialects)}
        self._lenient = missing_version == "by-grammar"

    def choose(self, request: HttpRequest) -> Dialect:
        """The dialect in which to answer, whatever the body is; for refusals before the body has been read."""
        return self._choose(_binding(request), _asked(request))[0]

    def decode(self, request: HttpRequest) -> tuple[Dialect, Call | Refusal]:
        """The dialect and what it makes of the request. Refusals are in the caller's own dialect, as far as there is
        one, and name the request's id where it can be read.
        """
        binding, asked = _binding(request), _asked(request)
        dialect, served = self._choose(binding, asked)
        if dialect.binding != binding:
            return dialect, Refusal(MethodNotFoundError(f"The binding {binding} is not served here"))
        outcome = dialect.decode_request(request)
        if served:
            return dialect, outcome
        return dialect, Refusal(self._unsupported(asked), outcome.reply_to)

    def _choose(self, binding: str, asked: str) -> tuple[Dialect, bool]:
        """The dialect to answer in, and whether it is the one that was asked for."""
        dialect = self._table.get((binding, asked))
        if dialect is None:
            exact = _VERSION.fullmatch(asked or _ABSENT)
            dialect = self._table.get((binding, exact[1])) if exact else None
        if dialect is not None:
            return dialect, True
        return self._first.get(binding, self._dialects[0]), self._lenient and not asked

    def _unsupported(self, asked: str) -> VersionNotSupportedError:
        versions = ", ".join(served_versions(self._dialects))
        what = (
            f"The protocol version {asked[:20]!r} is not supported"
            if asked
            else f"The request names no protocol version, which means {_ABSENT}, and that is not supported"
        )
        return VersionNotSupportedError(
            f"{what}; supported: {versions} (header A2A-Version)", details={"supportedVersions": versions}
        )


def _binding(request: HttpRequest) -> str:
    return _JSONRPC if request.method == "POST" and request.path in {"", "/"} else _REST


def _asked(request: HttpRequest) -> str:
    """The version asked for, trimmed; empty if there is none."""
    stated = request.headers.get("a2a-version", "").strip()
    if stated or "version" not in request.query.lower():
        return stated
    try:
        pairs = parse_qsl(request.query, max_num_fields=100)
    except ValueError:
        return ""
    return next((value.strip() for name, value in pairs if name.lower() == "a2a-version"), "")
