"""Heads that are not what they should be."""

from tests.faults.hostile.cases import KEY, Case, Cases, requested

__all__ = ["FIELDS"]


def _got(*lines: str, known: bool = True) -> tuple[bytes]:
    return (requested("GET", "/tasks/t", b"", *lines, known=known, sized=False, kind=""),)


def _spelled(line: str) -> tuple[bytes]:
    return (
        requested("GET", "/tasks/t", b"", known=False, sized=False, kind="").replace(
            b"host: agent.example", line.encode("latin-1")
        ),
    )


UNKNOWN = "401 UNAUTHENTICATED"
MISSING = "404 TASK_NOT_FOUND"

FIELDS: Cases = {
    "two hosts": Case("400", _got("host: other.example")),
    "the same host twice": Case("400", _got("host: agent.example")),
    "no host": Case("400", _spelled("x: y")),
    "a host with a path": Case("400", _spelled("host: agent.example/x")),
    "a host with a user": Case("400", _spelled("host: alice@agent.example")),
    "a host with a space": Case("400", _spelled("host: agent example")),
    "a host with a port that is none": Case("400", _spelled("host: agent.example:80a")),
    "a host in markup": Case("400", _spelled("host: <script>")),
    "a host that is a list": Case("400", _spelled("host: a.example, b.example")),
    "a host with a NUL": Case("400", _spelled("host: agent\0.example")),
    "a host in other letters": Case("400", _spelled("host: \xe4gent.example")),
    "a space before the colon": Case("400", _got("x-a : b")),
    "a tab before the colon": Case("400", _got("x-a\t: b")),
    "no colon": Case("400", _got("x-a")),
    "no name": Case("400", _got(": b")),
    "a name with a space": Case("400", _got("x a: b")),
    "a name in other letters": Case("400", _got("x-\xe4: b")),
    "a name in brackets": Case("400", _got("x(a): b")),
    "a value with a NUL": Case("400", _got("x-a: b\0c")),
    "a value with a bare carriage return": Case("400", _got("x-a: b\rx-api-key: c")),
    "a value with a bare line feed": Case("400", _got("x-a: b\nx-b: c")),
    "a value with an escape": Case("400", _got("x-a: \x1b[31m")),
    "a value with a backspace": Case("400", _got("x-a: a\x08")),
    "a folded value": Case("400", _got("x-a: b\r\n c")),
    "a folded key": Case("400", _got(f"x-api-key:\r\n {KEY}", known=False)),
    "a key under a name with underscores": Case(UNKNOWN, _got(f"x_api_key: {KEY}", known=False)),
    "a key under a name with spaces": Case("400", _got(f"x api key: {KEY}", known=False)),
    "a key twice": Case(UNKNOWN, _got(f"x-api-key: {KEY}")),
    "two keys": Case(UNKNOWN, _got("x-api-key: bob-has-another-key")),
    "an empty key before the key": Case(UNKNOWN, _got("x-api-key:", f"x-api-key: {KEY}", known=False)),
    "two versions": Case("400 VERSION_NOT_SUPPORTED", _got("a2a-version: 0.3")),
    "fifty fields and one": Case("431", _got(*[f"x-{number}: y" for number in range(48)])),
    "ten thousand fields": Case("431", _got(*["a:b"] * 10_000)),
    "an address that a stranger states": Case(
        UNKNOWN, _got("x-forwarded-for: 127.0.0.1", "x-real-ip: 127.0.0.1", known=False)
    ),
    "a user that a stranger states": Case(
        UNKNOWN, _got("x-forwarded-user: alice", "x-remote-user: alice", "x-authenticated-userid: alice", known=False)
    ),
    "a certificate that a stranger states": Case(
        UNKNOWN, _got("client-cert: :MIIB:", "x-client-cert: a", "ssl-client-verify: SUCCESS", known=False)
    ),
    "a forwarding that is garbage": Case(
        MISSING, _got('forwarded: for="[::1]";;=,;proto=,for=' + '"' * 99, "x-forwarded-for: ,,,")
    ),
    "another method in a field": Case(MISSING, _got("x-http-method-override: DELETE", "x-method: DELETE")),
    "another target in a field": Case(MISSING, _got("x-original-url: /healthz", "x-rewrite-url: /healthz")),
    "fields that are to be dropped": Case(
        UNKNOWN, (_got(f"x-api-key: {KEY}", known=False)[0].replace(b"x-api-key", b"x-api-ke"),)
    ),
    "a wait for word that is none": Case(MISSING, _got("expect: 200-maybe")),
    "ranges without end": Case(MISSING, _got("range: bytes=" + ",".join(["0-"] * 2000))),
    "types without end": Case(MISSING, _got("accept: " + ",".join(["a/b;q=0.1"] * 1000))),
    "a trace that is none": Case(
        MISSING,
        _got("traceparent: " + "0" * 5000, "x-request-id: " + "a" * 5000),
    ),
}
