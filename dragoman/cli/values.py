"""How the values of options are written. Each reader takes a string and raises ValueError with a sentence."""

import re
from typing import Any, cast

__all__ = ["duration", "json_object", "network", "output_format", "pair", "secret", "switch", "text", "version"]

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_STEP = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")


def text(value: str) -> str:
    return value


def secret(value: str) -> str:
    """What is sent in a header: the message never repeats it."""
    if _CONTROL.search(value):
        raise ValueError("control characters cannot be sent")
    return value


def duration(value: str) -> float:
    """Seconds, from `500ms`, `2s`, `1m30s` or a bare number of seconds; greater than zero."""
    cleaned = value.strip().lower()
    steps = _STEP.findall(cleaned)
    if steps and "".join(number + unit for number, unit in steps) == cleaned:
        seconds = sum(float(number) * _UNITS[unit] for number, unit in steps)
    elif re.fullmatch(r"\d+(\.\d+)?", cleaned):
        seconds = float(cleaned)
    else:
        raise ValueError(f"{value!r} is not a duration such as 500ms, 2s or 1m30s")
    if seconds <= 0:
        raise ValueError("the duration must be longer than zero")
    return seconds


def switch(value: str) -> bool:
    cleaned = value.strip().lower()
    if cleaned in _TRUE:
        return True
    if cleaned in _FALSE:
        return False
    raise ValueError(f"{value!r} is neither true nor false")


def output_format(value: str) -> str:
    cleaned = value.strip().lower()
    if cleaned not in ("text", "json"):
        raise ValueError(f"{value!r} is neither text nor json")
    return cleaned


def network(value: str) -> str:
    cleaned = value.strip().lower()
    if cleaned not in ("any", "public"):
        raise ValueError(f"{value!r} is neither any nor public")
    return cleaned


def version(value: str) -> str:
    """Major.Minor, or the draft of one; a patch number is dropped."""
    match = re.fullmatch(r"(\d+\.\d+(?:-draft)?)(?:\.\d+)?", value.strip())
    if match is None:
        raise ValueError(f"{value!r} is not a version such as 1.0")
    return match[1]


def pair(value: str) -> tuple[str, str]:
    """A name and a value, parted by the first colon."""
    name, colon, rest = value.partition(":")
    if not colon or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name.strip()):
        raise ValueError("write it as NAME:VALUE")
    secret(rest)
    return name.strip(), rest.strip()


def json_object(value: str) -> dict[str, Any]:
    import json  # needed by few commands

    try:
        parsed = json.loads(value)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise ValueError("must be a JSON object")  # noqa: TRY004 - readers promise ValueError
    return cast("dict[str, Any]", parsed)
