"""API keys and passwords that try to be believed."""

from base64 import b64encode

from tests.faults.hostile.cases import KEY, Case, Cases, requested

__all__ = ["KEYS"]

UNKNOWN = "401 UNAUTHENTICATED"


def _brought(line: str, target: str = "/tasks/t") -> tuple[bytes]:
    return (requested("GET", target, b"", line, known=False, kind=""),)


def _basic(told: bytes | str) -> tuple[bytes]:
    raw = told if isinstance(told, bytes) else told.encode()
    return _brought(f"authorization: Basic {b64encode(raw).decode()}")


KEYS: Cases = {
    "an empty key": Case(UNKNOWN, _brought("x-api-key:")),
    "a key of spaces": Case(UNKNOWN, _brought("x-api-key:     ")),
    "a key with a NUL": Case("400", _brought(f"x-api-key: {KEY}\0")),
    "a key in capitals": Case(UNKNOWN, _brought(f"x-api-key: {KEY.upper()}")),
    "a key cut short": Case(UNKNOWN, _brought(f"x-api-key: {KEY[:-1]}")),
    "a key with more behind it": Case(UNKNOWN, _brought(f"x-api-key: {KEY}x")),
    "a key in quotes": Case(UNKNOWN, _brought(f'x-api-key: "{KEY}"')),
    "a key of 15 kB": Case(UNKNOWN, _brought("x-api-key: " + "k" * 15_000)),
    "a key in letters that look alike": Case(
        UNKNOWN, _brought("x-api-key: " + KEY.replace("a", "\u0430").encode().decode("latin-1"))
    ),
    "a key behind a mark": Case(UNKNOWN, _brought("x-api-key: \xef\xbb\xbf" + KEY)),
    "the hash of a key": Case(UNKNOWN, _brought("x-api-key: sha256:" + "0" * 64)),
    "a key in SQL": Case(UNKNOWN, _brought("x-api-key: ' OR '1'='1")),
    "a wildcard for a key": Case(UNKNOWN, _brought("x-api-key: *")),
    "a key in the query": Case(UNKNOWN, _brought("x-a: b", f"/tasks/t?x-api-key={KEY}&key={KEY}")),
    "a key in a cookie": Case(UNKNOWN, _brought(f"cookie: x-api-key={KEY}; key={KEY}")),
    "a key as a token": Case(UNKNOWN, _brought(f"authorization: Bearer {KEY}")),
    "a key as a scheme": Case(UNKNOWN, _brought(f"authorization: ApiKey {KEY}")),
    "the name of a caller for a key": Case(UNKNOWN, _brought("x-api-key: alice")),
    "a password without a colon": Case(UNKNOWN, _basic("alice")),
    "a password of nothing": Case(UNKNOWN, _basic("alice:")),
    "a password of nobody": Case(UNKNOWN, _basic(":alice's password")),
    "colons alone": Case(UNKNOWN, _basic(":::")),
    "a password with a NUL": Case(UNKNOWN, _basic("alice\0:alice's password")),
    "a password with a NUL behind it": Case(UNKNOWN, _basic("alice:alice's password\0")),
    "a password in other bytes": Case(UNKNOWN, _basic(b"alice:\xff\xfe")),
    "a password of 10 kB": Case(UNKNOWN, _basic("alice:" + "p" * 10_000)),
    "a name of 10 kB": Case(UNKNOWN, _basic("a" * 10_000 + ":p")),
    "a name in letters that look alike": Case(UNKNOWN, _basic("\u0430lice:alice's password")),
    "a name in wide letters": Case(UNKNOWN, _basic("\uff41lice:alice's password")),
    "a name in capitals": Case(UNKNOWN, _basic("ALICE:alice's password")),
    "the hash of a password": Case(
        UNKNOWN, _basic("alice:scrypt$10$1$1$c2FsdHNhbHRzYWx0c2FsdA$xhCx4NRJuRRKgbg25VAmAS0YM87IWf6G_HPM7Pcz5X8")
    ),
    "no base64": Case(UNKNOWN, _brought("authorization: Basic ***")),
    "half of base64": Case(UNKNOWN, _brought("authorization: Basic YWxpY2U6")),
    "base64 with a space": Case(UNKNOWN, _brought("authorization: Basic YWxp Y2U6YWxpY2UncyBwYXNzd29yZA==")),
    "nothing behind the scheme": Case(UNKNOWN, _brought("authorization: Basic")),
    "no scheme": Case(UNKNOWN, _brought("authorization:")),
    "a scheme that is none": Case(UNKNOWN, _brought("authorization: Negotiate YWxpY2U=")),
    "a digest": Case(
        UNKNOWN, _brought('authorization: Digest username="alice", realm="A2A", nonce="", uri="/", response=""')
    ),
    "credentials for a proxy": Case(UNKNOWN, _brought(f"proxy-authorization: Bearer {KEY}")),
    "two passwords": Case(
        UNKNOWN, _brought("authorization: Basic YWxpY2U6YQ==, Basic YWxpY2U6YWxpY2UncyBwYXNzd29yZA==")
    ),
}
