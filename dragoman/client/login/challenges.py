"""What `WWW-Authenticate` says (RFC 9110 section 11.6.1)."""

import re

__all__ = ["challenges_in"]

MOST = 16
LONGEST = 4096
_PIECE = re.compile(r'((?:[^",]|"(?:[^"\\]|\\.)*")+)')
_BEGINS = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:\s+\S.*)?", re.DOTALL)
_PARAMETER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\s*=")


def challenges_in(field: str) -> tuple[str, ...]:
    """Each challenge by itself: a scheme with its parameters; at most 16, of the first 4,096 characters."""
    found: list[str] = []
    for piece in _PIECE.findall(field[:LONGEST]):
        text = piece.strip()
        if _BEGINS.fullmatch(text) is not None and _PARAMETER.match(text) is None:
            found.append(text)
        elif found and text:
            found[-1] += f", {text}"
    return tuple(found[:MOST])
