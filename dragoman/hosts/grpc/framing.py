"""Messages of gRPC: five bytes before each say whether it is compressed, and how long it is (PROTOCOL-HTTP2)."""

import struct
import zlib
from collections.abc import Iterator

from dragoman.errors import RequestTooLargeError
from dragoman.hosts.grpc.status import Code, Fault

__all__ = ["GZIP", "PREFIX_BYTES", "MessageReader", "frame", "unframe"]

GZIP = "gzip"
PREFIX = struct.Struct(">BI")
PREFIX_BYTES = PREFIX.size
WORTH_COMPRESSING = 1024
"""Bytes; a smaller message hardly gets smaller."""
QUICKLY = 1
"""Of zlib's levels: others are waiting for the event loop."""
WITH_GZIP_HEADER = 16 + zlib.MAX_WBITS


def frame(message: bytes, *, gzip: bool = False) -> bytes:
    """The message with its prefix; compressed if the caller can read that and it is worth it."""
    if gzip and len(message) > WORTH_COMPRESSING:
        compressor = zlib.compressobj(QUICKLY, wbits=WITH_GZIP_HEADER)
        message = compressor.compress(message) + compressor.flush()
        return PREFIX.pack(1, len(message)) + message
    return PREFIX.pack(0, len(message)) + message


def unframe(body: bytes, encoding: str, limit: int) -> bytes:
    """The one message of a call that takes one.

    Args:
        body: of the whole request.
        encoding: what the caller says that its messages are compressed with; `identity` or empty for nothing.
        limit: of bytes that the message may have, compressed and not.

    Raises:
        Fault: it is not one message, or it cannot be decompressed.
        RequestTooLargeError: it is longer than the limit.
    """
    if len(body) >= PREFIX_BYTES:
        compressed, size = PREFIX.unpack_from(body)
        if size == len(body) - PREFIX_BYTES and not compressed and size <= limit:
            return body[PREFIX_BYTES:]
    reader = MessageReader(encoding, limit)
    found: bytes | None = None
    for message in reader.feed(body):
        if found is not None:
            raise Fault(Code.UNIMPLEMENTED, "This method takes one message, not several")
        found = message
    reader.end()
    if found is None:
        raise Fault(Code.UNIMPLEMENTED, "This method takes one message, and there is none")
    return found


class MessageReader:
    """Messages out of bytes as they come; what it raises is as for `unframe`. Holds one message at most."""

    def __init__(self, encoding: str, limit: int) -> None:
        self._encoding = encoding
        self._limit = limit
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The messages that are whole with these bytes."""
        held = self._held
        held += data
        while len(held) >= PREFIX_BYTES:
            flag, size = PREFIX.unpack_from(held)
            if flag > 1:
                raise Fault(Code.INTERNAL, f"A message begins with {flag}, which means nothing")
            if size > self._limit:
                raise _too_large(self._limit)
            end = PREFIX_BYTES + size
            if len(held) < end:
                return
            message = bytes(held[PREFIX_BYTES:end])
            del held[:end]
            yield self._decompressed(message) if flag else message

    def end(self) -> None:
        """Nothing more will come; raises if a message was cut off."""
        if self._held:
            raise Fault(Code.INTERNAL, "The last message is cut off")

    def _decompressed(self, message: bytes) -> bytes:
        if self._encoding in {"", "identity"}:
            raise Fault(Code.INTERNAL, "A message is compressed, and grpc-encoding does not say how")
        if self._encoding != GZIP:
            raise Fault(Code.UNIMPLEMENTED, "The compression of the message is not supported; gzip is")
        decompressor = zlib.decompressobj(wbits=WITH_GZIP_HEADER)
        try:
            whole = decompressor.decompress(message, self._limit + 1)
        except zlib.error as error:
            raise Fault(Code.INTERNAL, "A message cannot be decompressed") from error
        if len(whole) > self._limit:
            raise _too_large(self._limit)
        if not decompressor.eof or decompressor.unused_data:
            raise Fault(Code.INTERNAL, "A message is not one whole gzip stream")
        return whole


def _too_large(limit: int) -> RequestTooLargeError:
    return RequestTooLargeError(f"The message is longer than {limit} bytes", details={"maxBodyBytes": str(limit)})
