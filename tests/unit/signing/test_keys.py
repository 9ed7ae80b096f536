"""Signing keys in files, and rings in which they follow each other."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import OKPKey

from dragoman.errors import ConfigurationError
from dragoman.signing import jws
from dragoman.signing.jws import NotVerified, PublicKeys, verify
from dragoman.signing.keys import ALGORITHMS, LEAD, OVERLAP, Algorithm, KeyRing, RingKey, SigningKey
from tests.unit.signing.fixed import EC_ON_P384, ED25519, FIXED, RSA_OF_1024_BITS

NOW = 1_800_000_000.0


@pytest.fixture(params=ALGORITHMS)
def key(request: pytest.FixtureRequest) -> SigningKey:
    return SigningKey.load(FIXED[request.param])


def _published(*keys: SigningKey) -> PublicKeys:
    return PublicKeys.read(KeyRing.of(*keys).jwks(NOW))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_new_key_signs_what_its_public_half_verifies(algorithm: Algorithm) -> None:
    key = SigningKey.generate(algorithm)
    verified = verify(key.sign(b"payload", {"typ": "JOSE"}), _published(key))
    assert verified.payload == b"payload"
    assert verified.header == {"alg": algorithm, "kid": key.id, "typ": "JOSE"}


def test_two_new_keys_have_different_ids() -> None:
    assert SigningKey.generate().id != SigningKey.generate().id


def test_no_key_is_made_for_another_algorithm() -> None:
    with pytest.raises(ConfigurationError, match="HS256"):
        SigningKey.generate("HS256")  # type: ignore[arg-type]  # what it is about


@pytest.mark.parametrize("name", ["key.pem", "key.json", "key"])
def test_a_key_comes_back_from_its_file(key: SigningKey, name: str, tmp_path: Path) -> None:
    key.write(tmp_path / name)
    again = SigningKey.read(tmp_path / name)
    assert (again.id, again.algorithm, again.public_jwk()) == (key.id, key.algorithm, key.public_jwk())
    assert verify(again.sign(b"x"), _published(key)).payload == b"x"
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_only_the_owner_can_read_the_file(mask: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        for name in ("key.pem", "key.json"):
            (tmp_path / name).write_text("older")
            (tmp_path / name).chmod(0o644)
            SigningKey.load(FIXED["EdDSA"]).write(tmp_path / name)
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
        KeyRing.open(tmp_path / "ring.json")
        assert stat.S_IMODE((tmp_path / "ring.json").stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_of_a_key_that_others_can_read_a_warning_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "key.pem"
    SigningKey.load(FIXED["EdDSA"]).write(path)
    SigningKey.read(path)
    assert caplog.messages == []
    path.chmod(0o640)
    SigningKey.read(path)
    assert caplog.messages == [f"{path} can be read by others than its owner"]


def test_the_id_of_a_key_is_its_thumbprint() -> None:
    # The key of RFC 8037 appendix A.1, and its thumbprint of A.3.
    assert SigningKey.load(ED25519).id == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


def test_the_id_that_a_file_says_counts() -> None:
    assert SigningKey.load(FIXED["ES256"] | {"kid": "mine"}).id == "mine"


@pytest.mark.parametrize(
    "more", [{"alg": "Ed25519"}, {"key_ops": ["sign"]}, {"use": "sig"}, {"x5t": "AA", "note": "mine"}]
)
def test_what_a_file_says_beside_the_key_is_not_published(more: dict[str, Any]) -> None:
    key = SigningKey.load(FIXED["EdDSA"] | more)
    assert key.public_jwk() == SigningKey.load(FIXED["EdDSA"]).public_jwk()
    assert verify(key.sign(b"x"), _published(key)).payload == b"x"


def test_a_signature_with_ed25519_is_that_of_the_standard() -> None:
    # RFC 8037 appendix A.4.
    assert jws.sign(b"Example of Ed25519 signing", {}, OKPKey.import_key(dict[str, Any](ED25519)), "EdDSA") == (
        "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc."
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    )


@pytest.mark.parametrize("algorithm", ["EdDSA", "RS256"])
def test_the_same_text_has_the_same_signature(algorithm: Algorithm) -> None:
    key = SigningKey.load(FIXED[algorithm])
    assert key.sign(b"text") == key.sign(b"text")


def test_what_is_public_and_what_is_shown_has_no_secret(key: SigningKey) -> None:
    ring = KeyRing.of(key)
    secret = key.private_jwk()["d"]
    for shown in (repr(key), repr(ring), repr(ring.keys), str(key.public_jwk()), ring.jwks(NOW).decode()):
        assert secret not in shown
    assert {"kid", "alg", "use", "kty"} < key.public_jwk().keys()
    assert not {"d", "p", "q", "dp", "dq", "qi"} & key.public_jwk().keys()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"nonsense",
        b"{",
        b"{}",
        b'{"kty":"EC"}',
        b'{"kty":"oct","k":"c2VjcmV0"}',
        b"-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----",
        SigningKey.load(FIXED["ES256"]).public_jwk(),
        FIXED["ES256"] | {"alg": "ES384"},
        FIXED["ES256"] | {"alg": "Ed25519"},
        FIXED["ES256"] | {"alg": ["ES256"]},
        FIXED["ES256"] | {"use": "enc"},
        FIXED["ES256"] | {"d": 5},
        EC_ON_P384,
        RSA_OF_1024_BITS,
    ],
)
@pytest.mark.filterwarnings("ignore:Key size:joserfc.errors.SecurityWarning")
def test_what_is_no_private_key_to_sign_with_is_refused(text: bytes | dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="signing"):
        SigningKey.load(text)


def test_a_text_that_is_refused_is_not_told() -> None:
    with pytest.raises(ConfigurationError) as caught:
        SigningKey.load(FIXED["RS256"] | {"n": "AQ"})
    assert FIXED["RS256"]["d"] not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"absent\.pem"):
        SigningKey.read(tmp_path / "absent.pem")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    key = SigningKey.load(FIXED["EdDSA"])
    for write in (key.write, KeyRing.of(key).write, KeyRing.open):
        with pytest.raises(ConfigurationError, match=r"absent.key\.pem cannot be written"):
            write(tmp_path / "absent" / "key.pem")


# Rings.

OLD, NEW, NEWER = (SigningKey.generate("EdDSA", key_id=name) for name in ("old", "new", "newer"))


def _ids(ring: KeyRing, now: float) -> tuple[str, list[str]]:
    return ring.current(now).id, [key.id for key in ring.published(now)]


def test_a_new_key_is_published_before_it_signs_and_an_old_one_stays_for_a_time() -> None:
    ring = KeyRing.of(OLD).rotated(NEW, NOW)
    begins = NOW + LEAD
    ends = begins + OVERLAP
    assert [_ids(ring, moment) for moment in (NOW, begins - 1, begins, ends - 1, ends)] == [
        ("old", ["old", "new"]),
        ("old", ["old", "new"]),
        ("new", ["old", "new"]),
        ("new", ["old", "new"]),
        ("new", ["new"]),
    ]


def test_whatever_signs_is_published_at_every_moment_of_many_rotations() -> None:
    ring = KeyRing.of(OLD)
    known: set[str] = set()
    signed: list[tuple[float, str]] = []
    for step in range(200):
        now = NOW + step * 500.0
        if step % 40 == 7:
            ring = ring.rotated(SigningKey.generate("EdDSA", key_id=f"k{step}"), now, overlap=20_000)
        current, published = _ids(ring, now)
        assert current in published
        assert not signed or current in known, "a key signed before it was published"
        # What has been signed in the last hour can be verified with what is published now.
        assert {name for moment, name in signed if now - moment < 3_600} <= set(published)
        known = set(published)
        signed.append((now, current))
    assert len({name for _, name in signed}) == 6
    assert len(ring.keys) < 6, "what is published no more is dropped"


def test_a_rotation_in_a_hurry_takes_effect_at_once() -> None:
    ring = KeyRing.of(OLD).rotated(NEW, NOW, lead=0, overlap=0)
    assert _ids(ring, NOW) == ("new", ["new"])


def test_a_second_rotation_does_not_lengthen_the_life_of_the_first_key() -> None:
    ring = KeyRing.of(OLD).rotated(NEW, NOW).rotated(NEWER, NOW + 2 * LEAD)
    assert _ids(ring, NOW + LEAD + OVERLAP) == ("newer", ["new", "newer"])


def test_a_ring_whose_only_key_has_run_out_still_signs_and_publishes_it() -> None:
    ring = KeyRing([RingKey(OLD, published_until=NOW - 1)])
    assert _ids(ring, NOW) == ("old", ["old"])


def test_a_ring_comes_back_from_its_file(tmp_path: Path) -> None:
    ring = KeyRing.of(OLD, NEW).rotated(NEWER, NOW)
    ring.write(tmp_path / "ring.json")
    again = KeyRing.read(tmp_path / "ring.json")
    for moment in (NOW, NOW + LEAD, NOW + LEAD + OVERLAP):
        assert again.jwks(moment) == ring.jwks(moment)
        assert again.current(moment).id == ring.current(moment).id


def test_opening_makes_a_ring_once(tmp_path: Path) -> None:
    first = KeyRing.open(tmp_path / "ring.json", "EdDSA")
    second = KeyRing.open(tmp_path / "ring.json")
    assert first.current(NOW).algorithm == "EdDSA"
    assert second.jwks(NOW) == first.jwks(NOW)
    assert [path.name for path in tmp_path.iterdir()] == ["ring.json"]


def test_who_comes_second_to_a_new_file_takes_what_stands_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ring.json"

    def other_process(algorithm: Algorithm) -> SigningKey:
        KeyRing.of(OLD).write(path)
        return NEW

    monkeypatch.setattr(SigningKey, "generate", other_process)
    assert KeyRing.open(path).current(NOW).id == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["ring.json"]


@pytest.mark.parametrize("name", ["key.pem", "key.json"])
def test_a_file_with_one_key_is_a_ring_of_one(name: str, tmp_path: Path) -> None:
    key = SigningKey.load(FIXED["ES256"])
    key.write(tmp_path / name)
    assert _ids(KeyRing.read(tmp_path / name), NOW) == (key.id, [key.id])


@pytest.mark.parametrize(
    "text",
    [
        '{"keys":[]}',
        '{"keys":{}}',
        '{"keys":[1]}',
        '{"keys":[{}]}',
        json.dumps({"keys": [FIXED["ES256"], FIXED["ES256"]]}),
        json.dumps({"keys": [FIXED["ES256"] | {"nbf": "tomorrow"}]}),
        json.dumps({"keys": [FIXED["ES256"] | {"exp": [1]}]}),
    ],
)
def test_what_is_no_ring_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "ring.json").write_text(text)
    with pytest.raises(ConfigurationError):
        KeyRing.read(tmp_path / "ring.json")


def test_a_set_of_somebody_else_s_keys_gives_those_that_can_be_read() -> None:
    good = SigningKey.load(FIXED["ES256"]).public_jwk()
    others = [
        7,
        {},
        {"kty": "oct", "kid": "secret", "k": "c2VjcmV0"},
        {"kty": "EC", "kid": "half", "crv": "P-256", "x": "AQ"},
        {"kty": "PQ", "kid": "later"},
        good | {"kid": "enc", "use": "enc"},
        FIXED["EdDSA"] | {"kid": "private"},
        good | {"kid": 5},
    ]
    assert PublicKeys.read({"keys": [*others, good]}).ids == (good["kid"],)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{}", b"nonsense", b"\xff", b"[" * 100_000, b'{"keys":[%s0]}' % (b"0," * 100)]
)
def test_what_is_no_set_of_keys_is_refused(text: bytes) -> None:
    with pytest.raises(NotVerified, match="key set"):
        PublicKeys.read(text)
