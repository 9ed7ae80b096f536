"""Hostile inputs a little changed: nobody knows what has to come of them, but for that it is no defect."""

from random import Random

import msgspec

from tests.faults.hostile.cases import Case

__all__ = ["mutated"]

PIECES = (
    b"\r\n",
    b"\n",
    b"\r",
    b"\0",
    b": ",
    b" ",
    b"%",
    b"..",
    b"\xff",
    b'"',
    b"{",
    b"[",
    b"chunked",
    b"HTTP/1.1",
    b"content-length: 5\r\n",
    b"transfer-encoding: chunked\r\n",
    b"\x00\x00\x05\x00\x01\x00\x00\x00\x01",
)
"""What means something somewhere."""
MOST_CHANGES = 4


def mutated(case: Case, chance: Random) -> Case:
    """The same with some bits turned, and bytes put in, left out or said again."""
    pieces = [bytearray(piece) for piece in (case.preface, *case.pieces)]
    for _ in range(chance.randint(1, MOST_CHANGES)):
        _change(chance.choice(pieces if case.http2 else pieces[1:]), chance)
    preface, *rest = map(bytes, pieces)
    return msgspec.structs.replace(case, preface=preface, pieces=tuple(rest))


def _change(piece: bytearray, chance: Random) -> None:
    at = chance.randrange(len(piece) + 1)
    match chance.randrange(4):
        case 0 if at < len(piece):
            piece[at] ^= 1 << chance.randrange(8)
        case 1:
            piece[at:at] = chance.choice(PIECES)
        case 2:
            del piece[at : at + chance.randint(1, 8)]
        case _:
            piece[at:at] = piece[max(0, at - 20) : at]
