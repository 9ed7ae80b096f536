"""Service parameters as HTTP headers (specification section 3.2.6): version, extensions, and the caller's trace."""

from functools import cache

from dragoman.types.requests import ServiceParameters

__all__ = ["headers_of", "parameters_of"]

VERSION = "a2a-version"
EXTENSIONS = "a2a-extensions"
OLDER_EXTENSIONS = "x-a2a-extensions"
"""The name in 0.3; clients of 0.3 send it, or both."""
OLDER = "0.3"
TRACE = "traceparent"


def parameters_of(headers: dict[str, str], version: str) -> ServiceParameters:
    """What a request's headers say; `version` is that of the dialect, which was chosen before."""
    listed, trace = headers.get(EXTENSIONS), headers.get(TRACE, "")
    if version == OLDER:
        listed = headers.get(OLDER_EXTENSIONS) or listed
    if not listed and not trace:
        return _plain(version)
    names = [name.strip() for name in listed.split(",")] if listed else []
    extensions = tuple(dict.fromkeys(name for name in names if name))
    return ServiceParameters(version=version, extensions=extensions, trace=trace)


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
    return headers
