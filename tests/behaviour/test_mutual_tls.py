"""Callers who are known by their certificates: over real TLS, in every cell."""

import ssl
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from dragoman.auth import ApiKey, Auth, Bearer, MutualTls
from dragoman.dialects.base import HttpRequest
from tests.behaviour.agents import echo
from tests.behaviour.callers import KEYS, keyed
from tests.behaviour.cells import Cell
from tests.behaviour.manifest import requirement
from tests.behaviour.test_auth import hearing
from tests.behaviour.tls import SecureLine, secured
from tests.behaviour.wire import Start, Wire, card_of, refused, wire_to
from tests.unit.auth.certificates import ALICE, Issued, alternative, authority, issued, other_authority
from tests.unit.auth.tokens import AUDIENCE, ISSUER, JWKS, bearer

CHALLENGE = "MutualTLS"
FINAL = Cell("1.0", "JSONRPC")
URI = alternative(uri=ALICE)
FIRST, SECOND = issued(authority(), cn="alice"), issued(authority(), cn="alice")
DAY = timedelta(days=1)
PAST, TOMORROW = datetime.now(UTC) - 2 * DAY, datetime.now(UTC) + DAY

# Who comes, and whether TLS takes the connection, and the agent the call.
CALLERS: dict[str, tuple[Callable[[], Issued | None], bool, bool]] = {
    "nobody": (lambda: None, True, False),
    "of another authority": (lambda: issued(other_authority(), names=URI), False, False),
    "expired": (lambda: issued(authority(), names=URI, begins=PAST, ends=PAST + DAY), False, False),
    "not yet good": (
        lambda: issued(authority(), names=URI, begins=TOMORROW),
        False,
        False,
    ),
    "signed by itself": (lambda: issued(names=URI, cn="alice"), False, False),
    "a server's": (lambda: issued(authority(), names=URI, uses=[ExtendedKeyUsageOID.SERVER_AUTH]), False, False),
    "of a wrong name": (lambda: issued(authority(), names=alternative(uri="spiffe://example.org/eve")), True, False),
    "of a name elsewhere": (lambda: issued(authority(), names=alternative(dns="alice.example"), cn=ALICE), True, False),
    "of two names": (lambda: issued(authority(), names=alternative(uri=[ALICE, "urn:a"])), True, False),
    "right": (lambda: issued(authority(), names=URI), True, True),
}


def wire_over(line: SecureLine, cell: Cell) -> Wire:
    """The wire, without a look at the card: TLS may not take the connection."""
    return Wire(line, cell, "/" if cell.binding == "JSONRPC" else "")


@requirement("R-7.4-01", "R-7.4-02", "R-7.4-03", "R-13.4-08")
@pytest.mark.parametrize("who", CALLERS)
async def test_who_is_let_in_by_a_certificate(cell: Cell, store_kind: str, who: str, tmp_path: Path) -> None:
    assert store_kind == "memory"
    made, taken, right = CALLERS[who]
    heard: list[str] = []
    async with secured(hearing(heard, MutualTls(allowed=[ALICE])), tmp_path) as port:
        wire = wire_over(port.line(made()), cell)
        if not taken:
            with pytest.raises((OSError, EOFError)):
                await wire.send("hello")
        elif right:
            assert (await wire.send("hello"))["status"]["state"] == "TASK_STATE_COMPLETED"
        else:
            with refused("UNAUTHENTICATED") as caught:
                await wire.send("hello")
            assert caught.value.reply.headers["www-authenticate"] == CHALLENGE
            assert "alice" not in caught.value.told
    assert heard == (["hello"] if right else [])


TOKENS = Bearer(issuer=ISSUER, audience=AUDIENCE, keys=JWKS)
COMBINED: dict[str, Auth] = {
    "and": MutualTls(allowed=[ALICE]) & TOKENS,
    "or": MutualTls(allowed=[ALICE]) | ApiKey(KEYS),
}


class Both(NamedTuple):
    """What somebody brings, and whether it is enough."""

    how: str
    certificate: bool
    headers: dict[str, str]
    enough: bool


@requirement("R-7.4-01")
@pytest.mark.parametrize(
    "brought",
    [
        Both("and", True, bearer(), True),
        Both("and", True, {}, False),
        Both("and", False, bearer(), False),
        Both("or", True, {}, True),
        Both("or", False, keyed("alice"), True),
        Both("or", False, {}, False),
        Both("or", True, keyed("alice"), True),
    ],
)
async def test_a_certificate_stands_beside_a_token_or_in_place_of_a_key(
    cell: Cell, store_kind: str, brought: Both, tmp_path: Path
) -> None:
    assert store_kind == "memory"
    async with secured(echo(auth=COMBINED[brought.how]), tmp_path) as port:
        wire = wire_over(port.line(issued(authority(), names=URI) if brought.certificate else None), cell)
        if brought.enough:
            await wire.send("hello", headers=brought.headers)
            return
        with refused("UNAUTHENTICATED") as caught:
            await wire.send("hello", headers=brought.headers)
        # Both are asked for: it is not told which of them was right.
        others = {"and": "Bearer", "or": 'ApiKey in="header", name="X-API-Key"'}
        assert caught.value.reply.headers["www-authenticate"] == f"{CHALLENGE}, {others[brought.how]}"


@requirement("R-7.4-01", "R-13.4-09")
@pytest.mark.parametrize("who", ["its holder", "another", "nobody"])
async def test_a_token_that_is_bound_to_a_certificate_is_good_with_that_alone(
    cell: Cell, store_kind: str, who: str, tmp_path: Path
) -> None:
    """As RFC 8705 has it, also where nobody is known by certificates."""
    assert store_kind == "memory"
    holder = {"its holder": FIRST, "another": SECOND, "nobody": None}[who]
    thumbprint = urlsafe_b64encode(sha256(FIRST.der).digest()).decode().rstrip("=")
    stolen = bearer(cnf={"x5t#S256": thumbprint})
    async with secured(echo(auth=TOKENS), tmp_path) as port:
        wire = wire_over(port.line(holder), cell)
        if holder is FIRST:
            await wire.send("hello", headers=stolen)
            return
        with refused("UNAUTHENTICATED") as caught:
            await wire.send("hello", headers=stolen)
        assert caught.value.reply.headers["www-authenticate"] == 'Bearer error="invalid_token"'


@requirement("R-7.4-01", "R-7.1-02")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_one_caller_is_the_same_over_either_version_of_tls_and_sees_nothing_of_another(
    version: ssl.TLSVersion, tmp_path: Path
) -> None:
    async with secured(echo(auth=MutualTls()), tmp_path) as port:
        alice, again, bob = (
            wire_over(port.line(issued(authority(), names=alternative(uri=uri)), maximum=version), FINAL)
            for uri in (ALICE, ALICE, "spiffe://example.org/bob")
        )
        task = await alice.send("hello")
        assert await again.get(task["id"]) == task
        with refused("TASK_NOT_FOUND"):
            await bob.get(task["id"])


@requirement("R-13.4-09")
async def test_a_certificate_that_is_revoked_opens_nothing_from_the_next_call_on(tmp_path: Path) -> None:
    auth = MutualTls(pinned={"alice": [first.pem for first in (FIRST, SECOND)]})
    async with secured(echo(auth=auth), tmp_path) as port:
        first, second = (wire_over(port.line(own), FINAL) for own in (FIRST, SECOND))
        task = await first.send("hello")
        assert await second.get(task["id"]) == task
        assert auth.revoke(FIRST.pem)
        with refused("UNAUTHENTICATED"):
            await first.get(task["id"])
        assert await second.get(task["id"]) == task


@requirement("R-4.5-01")
async def test_the_card_says_that_certificates_are_asked_for(started: Start) -> None:
    card = await card_of(await started(echo(auth=MutualTls(description="Ask Bob.")).asgi()))
    assert card["securityRequirements"] == [{"schemes": {"mtls": {}}}]
    assert card["securitySchemes"]["mtls"] == {
        "type": "mutualTLS",
        "description": "Ask Bob.",
        "mtlsSecurityScheme": {"description": "Ask Bob."},
    }


@requirement("R-13.4-08")
@pytest.mark.parametrize(
    ("options", "lets_in"),
    [
        ({"trusted_proxies": ["203.0.113.7"], "client_cert_header": True}, True),
        ({"trusted_proxies": ["203.0.113.7"]}, False),
        ({"trusted_proxies": ["10.0.0.1"], "client_cert_header": True}, False),
    ],
    ids=["a proxy that verifies", "a proxy that lets it through", "a stranger"],
)
async def test_the_word_of_a_proxy_about_a_certificate_counts_if_the_owner_says_so(
    started: Start, options: dict[str, Any], lets_in: bool
) -> None:
    bridge = await started(from_address("203.0.113.7", echo(auth=MutualTls(), **options).asgi()))
    wire = await wire_to(bridge, "HTTP+JSON")
    certificate = issued(authority(), names=URI)
    headers = {"client-cert": client_cert(certificate), "x-forwarded-for": "198.51.100.1"}
    if lets_in:
        await wire.send("hello", headers=headers)
        for wrong in (f"{headers['client-cert']}, {headers['client-cert']}", "::", certificate.pem.hex()):
            with refused("UNAUTHENTICATED"):
                await wire.send("hello", headers=headers | {"client-cert": wrong})
    else:
        with refused("UNAUTHENTICATED"):
            await wire.send("hello", headers=headers)


def client_cert(certificate: Issued) -> str:
    """As a proxy says it (RFC 9440)."""
    return f":{b64encode(certificate.der).decode()}:"


def from_address(address: str, app: Any) -> Any:
    """The application, as somebody from this address sees it."""

    async def seen(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "client": (address, 4711)}, receive, send)

    return seen


@pytest.mark.parametrize("wrong", [{"client_cert_error": "expired"}, {"client_cert_chain": ["nonsense"]}, {}])
async def test_the_certificate_is_taken_from_the_scope_of_any_server(started: Start, wrong: dict[str, Any]) -> None:
    tls: dict[str, Any] = {"client_cert_chain": [issued(authority(), names=URI).pem.decode()], **wrong}
    app = echo(auth=MutualTls()).asgi()

    async def seen(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "extensions": {"tls": tls}}, receive, send)

    bridge = await started(seen)
    request = HttpRequest("GET", "/tasks/t", headers={"host": "agent.example", "a2a-version": "1.0"})
    assert (await bridge.send(request)).status == (401 if wrong else 404)
