"""Service parameters as HTTP headers or gRPC metadata (specification section 3.2.6): version, extensions, the caller's
trace, and the last event that it has.
"""

from functools import cache

from dragoman.types.requests import ServiceParameters

__all__ = ["extensions_header", "headers_of", "last_event_in_metadata", "parameters_of"]

VERSION = "a2a-version"
EXTENSIONS = "a2a-extensions"
OLDER_EXTENSIONS = "x-a2a-extensions"
"""The name in 0.3; clients of 0.3 send it, or both."""
OLDER = "0.3"
TRACE = "traceparent"
LAST_EVENT = "last-event-id"
"""As readers of server-sent events say it (WHATWG HTML, section 9.2)."""
LAST_EVENT_ELSEWHERE = "a2a-last-event-id"
"""As our extension has it where there are no server-sent events; read everywhere."""
_LONGEST_NUMBER = 18


def parameters_of(headers: dict[str, str], version: str) -> ServiceParameters:
    """What a request's headers say; `version` is that of the dialect, which was chosen before."""
    listed, trace = headers.get(EXTENSIONS), headers.get(TRACE, "")
    if version == OLDER:
        listed = headers.get(OLDER_EXTENSIONS) or listed
    last = headers.get(LAST_EVENT) or headers.get(LAST_EVENT_ELSEWHERE)
    if not listed and not trace and not last:
        return _plain(version)
    names = [name.strip() for name in listed.split(",")] if listed else []
    extensions = tuple(dict.fromkeys(name for name in names if name))
    return ServiceParameters(
        version=version, extensions=extensions, trace=trace, last_event_id=_number(last) if last else None
    )


def _number(text: str) -> int | None:
    """The number of an event; None for what cannot be one, as ids of other servers.

    Who has it from protobuf may have it as 7.0.
    """
    text = text.removesuffix(".0")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER else None


@cache
def _plain(version: str) -> ServiceParameters:
    return ServiceParameters(version=version)


def headers_of(parameters: ServiceParameters, version: str) -> dict[str, str]:
    """The headers that a client sends."""
    headers = {VERSION: version}
    if parameters.extensions:
        headers[EXTENSIONS] = ", ".join(parameters.extensions)
        if version == OLDER:
            headers[OLDER_EXTENSIONS] = headers[EXTENSIONS]
    if parameters.trace:
        headers[TRACE] = parameters.trace
    if parameters.last_event_id is not None:
        headers[LAST_EVENT] = str(parameters.last_event_id)
    return headers


def extensions_header(version: str) -> str:
    """The header in which an answer of this version lists the extensions in force."""
    return OLDER_EXTENSIONS if version == OLDER else EXTENSIONS


def last_event_in_metadata(headers: dict[str, str]) -> dict[str, str]:
    """The headers as metadata of gRPC, where the last event has another name."""
    if LAST_EVENT in headers:
        headers[LAST_EVENT_ELSEWHERE] = headers.pop(LAST_EVENT)
    return headers
