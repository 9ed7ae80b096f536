"""SendMessage of a caller known by a JWT, under limits, against that of anybody without any, in paired rounds."""

import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from bench.measures import prove, send_message
from bench.servers import CONTENDERS, Contender, started
from bench.table import Figures, Target
from dragoman.signing.keys import SigningKey

__all__ = ["compare_secured"]

KEPT = 0.8
WITH, WITHOUT = "secured", "open"
ISSUER = "https://bench.example"
"""And the audience, as in `bench.ours`."""


def compare_secured(rounds: int, seconds: float, *, by_cpu: bool) -> None:
    """Prints both rates for each store, and the median of the ratios of the pairs. Which one goes first changes every
    round. One caller sends all: a token is found by its digest, which costs as much with one caller as with many.
    """
    figures = Figures()
    ours = [contender for contender in CONTENDERS if contender.store]
    for turn in range(rounds):
        print(f"authentication and limits, round {turn + 1} of {rounds}", file=sys.stderr, flush=True)
        for contender in ours:
            for column in (WITH, WITHOUT) if turn % 2 else (WITHOUT, WITH):
                figures.add(contender.name, column, _rate(contender, column, seconds, by_cpu=by_cpu))
    targets = tuple(
        Target(
            f"SendMessage with JWT and limits over without, {one.name}",
            one.name,
            WITH,
            over=WITHOUT,
            at_least=KEPT,
        )
        for one in ours
    )
    figures.print({one.name: "tasks/s" for one in ours}, [WITH, WITHOUT], targets)


def _rate(contender: Contender, column: str, seconds: float, *, by_cpu: bool) -> float:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        contender = _secured(contender, folder) if column == WITH else replace(contender, options=["--unlimited"])
        with started(contender, folder, by_cpu=by_cpu) as server:
            prove(server)
            send_message(server, "JSONRPC", 1)
            return send_message(server, "JSONRPC", seconds)


def _secured(contender: Contender, folder: Path) -> Contender:
    key = SigningKey.generate("ES256")
    keys = folder / "keys.json"
    keys.write_text(json.dumps({"keys": [key.public_jwk()]}), encoding="ascii")
    now = int(time.time())
    claims = {"iss": ISSUER, "aud": ISSUER, "sub": "caller", "iat": now, "exp": now + 3600, "scope": "call"}
    token = key.sign(json.dumps(claims).encode(), {"typ": "at+jwt"})
    return replace(contender, options=["--keys", str(keys)], token=token)
