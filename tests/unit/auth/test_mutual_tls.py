"""Which name of a certificate is whose, which certificates count, and until when."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.x509 import Certificate
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from dragoman.auth import Credentials, MutualTls, certificate_fingerprint
from dragoman.errors import ConfigurationError, UnauthenticatedError
from dragoman.ports.auth import Peer
from dragoman.ports.call import Principal
from tests.unit.auth.certificates import ALICE, Issued, alternative, authority, issued

ONE = issued(
    authority(),
    names=alternative(uri=ALICE, dns="Alice.Example", email="alice@example.org"),
    cn="Alice A.",
    organization="Example",
)


async def whose(auth: MutualTls, certificate: Issued | bytes | None) -> Principal | None:
    """The principal, or None for nobody."""
    der = b"" if certificate is None else certificate if isinstance(certificate, bytes) else certificate.der
    try:
        return await auth.known(Credentials(peer=Peer("192.0.2.1", der)))
    except UnauthenticatedError as error:
        return None if error.challenges == ("MutualTLS",) else pytest.fail(f"{error.challenges}")


@pytest.mark.parametrize(
    ("subject", "name"),
    [("uri", ALICE), ("dns", "dns:alice.example"), ("email", "email:alice@example.org"), ("cn", "cn:Alice A.")],
)
async def test_the_caller_is_the_name_that_the_owner_looks_at(subject: Any, name: str) -> None:
    found = await whose(MutualTls(subject), ONE)
    assert found is not None
    assert (found.id, found.scheme) == (name, "mtls")
    assert found.claims == {
        "subject": "O=Example,CN=Alice A.",
        "issuer": "CN=The authority",
        "organization": "Example",
        "fingerprint": certificate_fingerprint(ONE.der),
        "uri": [ALICE],
        "dns": ["alice.example"],
        "email": ["alice@example.org"],
        "cn": ["Alice A."],
    }


async def test_of_several_names_only_one_that_is_allowed_counts_and_of_uris_none() -> None:
    several = issued(authority(), names=alternative(dns=["a.example", "B.example"], uri=[ALICE, "urn:a"]))
    assert await whose(MutualTls("dns"), several) is None
    found = await whose(MutualTls("dns", allowed=["b.Example", "c.example"]), several)
    assert found is not None
    assert found.id == "dns:b.example"
    assert await whose(MutualTls("dns", allowed=["a.example", "b.example"]), several) is None
    assert await whose(MutualTls("uri", allowed=[ALICE]), several) is None


@pytest.mark.parametrize("cn", ["", "alice\0.evil", "alice\n", " alice", "alice\u202e", ("alice", "bob"), ()])
async def test_a_name_that_is_none_or_is_not_what_it_looks_like_is_nobodys(cn: Any) -> None:
    if cn == "":
        assert await whose(MutualTls("cn"), issued(authority(), names=alternative(uri=ALICE))) is None
    else:
        assert await whose(MutualTls("cn"), issued(authority(), cn=cn)) is None


@pytest.mark.parametrize("der", [b"", b"0", b"\x30\x82" + bytes(100), ONE.der[:-1], ONE.pem])
async def test_what_is_no_certificate_is_nobodys(der: bytes) -> None:
    assert await whose(MutualTls(), der) is None


@pytest.mark.parametrize(
    ("uses", "good"),
    [
        (None, True),
        ([ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE], True),
        ([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH], True),
        ([ExtendedKeyUsageOID.SERVER_AUTH], False),
        ([ExtendedKeyUsageOID.CODE_SIGNING], False),
    ],
)
async def test_a_certificate_for_something_else_is_not_taken_whoever_has_verified_it(uses: Any, *, good: bool) -> None:
    found = await whose(MutualTls(), issued(authority(), names=alternative(uri=ALICE), uses=uses))
    assert (found is not None) == good


async def test_a_certificate_ends_also_on_a_connection_that_goes_on() -> None:
    begins = datetime(2026, 1, 1, tzinfo=UTC)
    own = issued(authority(), names=alternative(uri=ALICE), begins=begins, ends=begins + timedelta(seconds=60))
    now = begins.timestamp()
    auth = MutualTls(now=lambda: now)
    assert await whose(auth, own) is not None
    now += 60
    assert await whose(auth, own) is not None
    now += 1
    assert await whose(auth, own) is None
    now = begins.timestamp() - 1
    assert await whose(auth, own) is None


async def test_a_function_says_who_it_is_at_each_call() -> None:
    known = {"Alice A.": "alice"}

    def of(certificate: Certificate) -> str | None:
        (cn,) = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        return known.get(str(cn.value))

    auth = MutualTls(of)
    found = await whose(auth, ONE)
    assert found is not None
    assert found.id == "alice"
    known.clear()
    assert await whose(auth, ONE) is None


async def test_pinned_certificates_come_and_go_while_the_agent_runs() -> None:
    first, second = issued(authority(), cn="x"), issued(authority(), cn="x")
    auth = MutualTls(pinned={"alice": first.pem})
    found = await whose(auth, first)
    assert found is not None
    assert found.id == "alice"
    assert await whose(auth, second) is None
    told = certificate_fingerprint(second.pem.decode())
    auth.pin("alice", ":".join(told[at : at + 2].upper() for at in range(0, 64, 2)))
    assert await whose(auth, second) is not None
    assert auth.revoke(first.der)
    assert not auth.revoke(first.der)
    assert await whose(auth, first) is None
    with pytest.raises(ConfigurationError, match="bob and alice"):
        auth.pin("bob", second.pem)


async def test_one_of_those_who_are_known_by_names_can_be_refused() -> None:
    auth = MutualTls()
    assert await whose(auth, ONE) is not None
    assert auth.revoke(ONE.pem)
    assert not auth.revoke(ONE.pem)
    assert await whose(auth, ONE) is None
    with pytest.raises(ConfigurationError):
        auth.pin("alice", ONE.pem)


async def test_little_is_remembered_however_many_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.auth.mutual_tls.REMEMBERED", 3)
    auth = MutualTls("cn")
    many = [issued(authority(), cn=f"caller {number}") for number in range(8)]
    for own in (*many, *many):
        assert await whose(auth, own) is not None
    assert len(auth._read) == 3  # pyright: ignore[reportPrivateUsage] -- nothing else tells


NONSENSE: list[dict[str, Any]] = [
    {"subject": "ip"},
    {"allowed": "alice"},
    {"allowed": ["alice"], "pinned": {}},
    {"subject": str, "allowed": ["alice"]},
    {"pinned": {"": ONE.pem}},
    {"pinned": {"alice": "abc"}},
    {"pinned": {"alice": ONE.pem, "bob": ONE.der}},
]


@pytest.mark.parametrize("wrong", NONSENSE)
def test_what_makes_no_sense_is_told_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        MutualTls(**wrong)
