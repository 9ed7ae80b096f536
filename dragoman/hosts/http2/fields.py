"""Header compression (RFC 7541): a reader that counts while it decodes, and a writer without state.

The tables and the Huffman code are those of `hpack`. Its decoder finds out at the end how much there was, and copies
the rest of the block for each field; this one stops in time.
"""

import re
from collections.abc import Iterable
from email.utils import formatdate
from functools import lru_cache
from time import time

from hpack.exceptions import HPACKError
from hpack.hpack import encode_integer
from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable

from dragoman.hosts.http2.frames import COMPRESSION_ERROR, ConnectionFault

__all__ = [
    "EMPTY_TABLE",
    "OF_A_CONNECTION",
    "TOKEN",
    "Field",
    "FieldReader",
    "encoded_date",
    "encoded_fields",
    "encoded_status",
]

Field = tuple[bytes, bytes]

TABLE_SIZE = 4096
"""Of the dynamic table; the default, which is not advertised."""
ENTRY = 32
"""What each field counts beside its bytes (RFC 9113 section 6.5.2)."""
MOST_RESIZES = 2
"""In one block (RFC 7541 section 4.2)."""
LONGEST_INTEGER = 5
"""Bytes; enough for 32 bits."""
SHORT = 64
"""Bytes of strings that are remembered; longer ones are seldom seen twice."""

INDEXED = MORE = 0x80
LONG_INDEX = 0xFF
RESIZE = 0x20
NEVER_INDEXED = 0x10

EMPTY_TABLE = b"\x20"
"""Says that our dynamic table has no room; we never use it."""

_STATIC = HeaderTable.STATIC_TABLE
_MAPPING = HeaderTable.STATIC_TABLE_MAPPING
_SECRET = frozenset({b"authorization", b"cookie", b"proxy-authorization", b"set-cookie"})
TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+").fullmatch
"""Names and methods."""
OF_A_CONNECTION = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"})
"""Fields that HTTP/2 does not have (RFC 9113 section 8.2.2)."""
_BROKEN = re.compile(rb"[\0\r\n]").search

_plain = lru_cache(4096)(decode_huffman)


class FieldReader:
    """Decodes the header blocks of one connection, each in its turn, for they change the table."""

    def __init__(self, max_bytes: int, max_fields: int) -> None:
        self._max_bytes = max_bytes
        self._max_fields = max_fields
        self._table = HeaderTable()
        self.changes = 0
        """Grows whenever the table changes: until then the same block says the same."""

    def read(self, block: bytes) -> list[Field] | None:
        """The fields in their order; None if they are more than allowed: then the table is right nevertheless.

        :raises ConnectionFault: this is no header block.
        """
        try:
            return self._read(block)
        except (HPACKError, IndexError) as error:
            raise ConnectionFault(COMPRESSION_ERROR, f"header block: {error}") from None

    def _read(self, block: bytes) -> list[Field] | None:
        fields: list[Field] = []
        add, table = fields.append, self._table
        at, end, size, resizes, count = 0, len(block), 0, 0, 0
        while at < end:
            first = block[at]
            if first & INDEXED:
                index, at = (first & 0x7F, at + 1) if first < LONG_INDEX else _integer(block, at, 0x7F)
                # Most fields of most requests: the lookup is spelled out.
                field = _STATIC[index - 1] if 0 < index <= len(_STATIC) else table.get_by_index(index)
            elif first & 0xE0 == RESIZE:
                resizes += 1
                at = self._resized(block, at, late=count > 0 or resizes > MOST_RESIZES)
                continue
            else:
                field, at = self._literal(block, at, first)
            count += 1
            size += ENTRY + len(field[0]) + len(field[1])
            if size > self._max_bytes or count > self._max_fields:
                fields.clear()
            else:
                add(field)
        return fields if size <= self._max_bytes and count <= self._max_fields else None

    def _literal(self, block: bytes, at: int, first: int) -> tuple[Field, int]:
        indexed = first & 0x40
        mask = 0x3F if indexed else 0x0F
        if first & mask:
            index, at = _integer(block, at, mask)
            name = self._table.get_by_index(index)[0]
        else:
            name, at = _string(block, at + 1)
        value, at = _string(block, at)
        if indexed:
            self._table.add(name, value)
            self.changes += 1
        return (name, value), at

    def _resized(self, block: bytes, at: int, *, late: bool) -> int:
        size, at = _integer(block, at, 0x1F)
        if late or size > TABLE_SIZE:
            raise ConnectionFault(COMPRESSION_ERROR, "table size: too large, too late, or too often")
        self._table.maxsize = size
        self.changes += 1
        return at


def _integer(block: bytes, at: int, mask: int) -> tuple[int, int]:
    """The number that begins in the byte at `at`, and where the next thing begins."""
    number = block[at] & mask
    at += 1
    if number < mask:
        return number, at
    for shift in range(0, 7 * LONGEST_INTEGER, 7):
        byte = block[at]
        at += 1
        number += (byte & 0x7F) << shift
        if byte < MORE:
            return number, at
    raise ConnectionFault(COMPRESSION_ERROR, "header block: an integer is too long")


def _string(block: bytes, at: int) -> tuple[bytes, int]:
    huffman = block[at] & 0x80
    size, at = _integer(block, at, 0x7F)
    text = block[at : at + size]
    if len(text) != size:
        raise ConnectionFault(COMPRESSION_ERROR, "header block: cut off")
    if huffman:
        text = _plain(text) if size <= SHORT else decode_huffman(text)
    return text, at + size


@lru_cache(1000)
def encoded_status(status: int) -> bytes:
    """The `:status` field, encoded."""
    return _literal(b":status", b"%d" % status)


def encoded_date() -> bytes:
    """The `date` field of now, encoded (RFC 9110 section 6.6.1)."""
    return _date(int(time()))


@lru_cache(1)
def _date(now: int) -> bytes:
    return _literal(b"date", formatdate(now, usegmt=True).encode("ascii"))


def encoded_fields(fields: Iterable[Iterable[bytes]]) -> bytes:
    """A block of these names and values, which means the same whatever was sent before.

    Names become lower case; fields that HTTP/2 does not have are left out: applications that know HTTP/1.1 send them.

    :raises ValueError: a name is not a token, or a value has line breaks or NUL in it.
    """
    return b"".join([_known(name, value) if len(value) <= SHORT else _encoded(name, value) for name, value in fields])


def _encoded(name: bytes, value: bytes) -> bytes:
    """Indexed if it is in the static table, else a literal that is not to be indexed, never so if it is a secret."""
    name = name.lower()
    if name in OF_A_CONNECTION:
        return b""
    if not TOKEN(name) or _BROKEN(value):
        raise ValueError(f"not a header field: {name!r}")
    return _literal(name, value)


def _literal(name: bytes, value: bytes) -> bytes:
    index, values = _MAPPING.get(name, (0, {}))
    if value in values:
        return bytes([INDEXED | values[value]])
    prefix = encode_integer(index, 4)
    if name in _SECRET:
        prefix[0] |= NEVER_INDEXED
    spelled = b"" if index else encode_integer(len(name), 7) + name
    return bytes(prefix + spelled + encode_integer(len(value), 7) + value)


_known = lru_cache(4096)(_encoded)
