"""Service parameters as HTTP headers (specification section 3.2.6): version, extensions, and the caller's trace."""

from dragoman.types.requests import ServiceParameters

__all__ = ["headers_of", "parameters_of"]

VERSION = "a2a-version"
EXTENSIONS = "a2a-extensions"
TRACE = "traceparent"


def parameters_of(headers: dict[str, str], version: str) -> ServiceParameters:
    """What a request's headers say; `version` is that of the dialect, which was chosen before."""
    listed = headers.get(EXTENSIONS, "")
    names = [name.strip() for name in listed.split(",")] if listed else []
    return ServiceParameters(
        version=version,
        extensions=tuple(dict.fromkeys(name for name in names if name)),
        trace=headers.get(TRACE, ""),
    )


def headers_of(parameters: ServiceParameters, version: str) -> dict[str, str]:
    """The headers that a client sends."""
    headers = {VERSION: version}
    if parameters.extensions:
        headers[EXTENSIONS] = ", ".join(parameters.extensions)
    if parameters.trace:
        headers[TRACE] = parameters.trace
    return headers
