"""From the part options of `send` to the parts of a message, in the order of the command line."""

import mimetypes
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import click
import msgspec

from dragoman.types.content import Part

__all__ = ["parts_from"]


def parts_from(words: dict[str, Any]) -> tuple[Part, ...]:
    """The parts of a message from the values by option name (`message` being the argument), which know their `place`.

    Raises:
        click.UsageError: no part, a media type without a part before it, a file that cannot be read, data that is
            not JSON, or standard input named twice.
    """
    found = [(word.place, kind, str(word)) for kind, values in words.items() for word in values]
    if sum(1 for _, kind, value in found if kind == "data" and value == "-") > 1:
        raise click.UsageError("standard input can be read once only")
    parts: list[Part] = []
    typed: set[int] = set()
    for _, kind, value in sorted(found):
        if kind != "media_type":
            parts.append(_READERS[kind](value))
            continue
        if not parts or len(parts) in typed:
            raise click.UsageError("--media-type belongs right after the part it describes")
        typed.add(len(parts))
        parts[-1] = _typed(parts[-1], value)
    if not parts:
        raise click.UsageError("nothing to send: give a text, --text, --file or --data")
    return tuple(parts)


def _typed(part: Part, media_type: str) -> Part:
    return Part(
        text=part.text,
        base64=part.base64,
        url=part.url,
        data=part.data,
        filename=part.filename,
        media_type=media_type,
    )


def _text_part(value: str) -> Part:
    return Part(text=value)


def _file_part(value: str) -> Part:
    """A URL is sent as it is and never fetched; a path becomes the bytes of the file."""
    if "://" in value:
        address = urlsplit(value)
        name = unquote(address.path.rsplit("/", 1)[-1])
        return Part(url=value, filename=name or None, media_type=mimetypes.guess_type(address.path)[0])
    path = Path(value)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise click.UsageError(f"cannot read the file {value}: {error.strerror or error}") from error
    return Part.from_bytes(content, filename=path.name, media_type=mimetypes.guess_type(path.name)[0])


def _data_part(value: str) -> Part:
    try:
        raw = _standard_input() if value == "-" else Path(value).read_bytes()
    except OSError as error:
        raise click.UsageError(f"cannot read the data {value}: {error.strerror or error}") from error
    try:
        data = msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        raise click.UsageError(f"--data {value} is not JSON: {error}") from error
    return Part(data=data, media_type="application/json")


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise OSError(os.strerror(9))
    return sys.stdin.buffer.read()


_READERS = {"message": _text_part, "text": _text_part, "file": _file_part, "data": _data_part}
