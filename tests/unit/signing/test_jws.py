"""What a signature is taken for, and what it is not."""

import json
import random
from collections.abc import Mapping
from typing import Any

import pybase64
import pytest

from dragoman.errors import ConfigurationError
from dragoman.signing.jws import ASYMMETRIC, MAX_TOKEN, NotVerified, PublicKeys, verify
from dragoman.signing.keys import ALGORITHMS, Algorithm, KeyRing, SigningKey
from tests.unit.signing.fixed import FIXED

KEYS = {algorithm: SigningKey.load(jwk) for algorithm, jwk in FIXED.items()}
KNOWN = PublicKeys.read(KeyRing.of(*KEYS.values()).jwks(0))


def b64(data: bytes | Mapping[str, Any]) -> str:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return pybase64.urlsafe_b64encode(raw).decode().rstrip("=")


def header_of(token: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(pybase64.urlsafe_b64decode(token.split(".", maxsplit=1)[0] + "=="))
    return read


@pytest.fixture(params=ALGORITHMS)
def key(request: pytest.FixtureRequest) -> SigningKey:
    return KEYS[request.param]


def test_what_was_signed_is_verified_by_the_key_that_it_names(key: SigningKey) -> None:
    assert verify(key.sign(b"payload"), KNOWN).payload == b"payload"


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_changed_character_anywhere_is_found(key: SigningKey, place: int) -> None:
    parts = key.sign(b"payload of some length").split(".")
    random_ = random.Random(7)
    for _ in range(20):
        at = random_.randrange(len(parts[place]) - 1)
        other = random_.choice([letter for letter in "abcXYZ019-_" if letter != parts[place][at]])
        changed = [*parts]
        changed[place] = parts[place][:at] + other + parts[place][at + 1 :]
        with pytest.raises(NotVerified):
            verify(".".join(changed), KNOWN)


def test_a_key_that_is_not_known_verifies_nothing(key: SigningKey) -> None:
    others = PublicKeys.read(KeyRing.of(SigningKey.generate(key.algorithm)).jwks(0))
    with pytest.raises(NotVerified, match="not known"):
        verify(key.sign(b"x"), others)


def test_another_key_with_the_same_name_verifies_nothing(key: SigningKey) -> None:
    impostor = SigningKey.generate(key.algorithm, key_id=key.id)
    with pytest.raises(NotVerified, match="wrong"):
        verify(impostor.sign(b"x"), KNOWN)


@pytest.mark.parametrize("alg", ["none", "None", "NONE", ""])
@pytest.mark.parametrize("signature", ["", "AAAA"])
def test_no_signature_is_no_signature(alg: str, signature: str) -> None:
    token = f"{b64({'alg': alg, 'kid': KEYS['ES256'].id})}.{b64(b'x')}.{signature}"
    with pytest.raises(NotVerified):
        verify(token, KNOWN)


@pytest.mark.parametrize("form", ["pem", "jwk", "n"])
def test_a_public_key_is_no_secret_for_hmac(form: str) -> None:
    import hashlib
    import hmac

    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
    from joserfc.jwk import RSAKey

    public = KEYS["RS256"].public_jwk()
    native = RSAKey.import_key(public).public_key
    secret = {
        "pem": native.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        "jwk": json.dumps(public).encode(),
        "n": public["n"].encode(),
    }[form]
    signed = f"{b64({'alg': 'HS256', 'kid': KEYS['RS256'].id})}.{b64(b'x')}"
    token = f"{signed}.{b64(hmac.digest(secret, signed.encode(), hashlib.sha256))}"
    with pytest.raises(NotVerified):
        verify(token, KNOWN)


@pytest.mark.parametrize("algorithm", ["none", "HS256", "HS512", "RSA1_5", "ES256K"])
def test_nobody_can_ask_for_what_anybody_could_sign(algorithm: str) -> None:
    with pytest.raises(ConfigurationError):
        verify("a.b.c", KNOWN, algorithms=("ES256", algorithm))


def test_only_the_algorithms_that_are_accepted_are(key: SigningKey) -> None:
    with pytest.raises(NotVerified):
        verify(key.sign(b"x"), KNOWN, algorithms=ASYMMETRIC - {key.algorithm})
    assert verify(key.sign(b"x"), KNOWN, algorithms=[key.algorithm]).payload == b"x"


@pytest.mark.parametrize(("signs", "says"), [("RS256", "PS256"), ("EdDSA", "ES256")])
def test_a_key_is_used_with_its_own_algorithm_alone(signs: Algorithm, says: str) -> None:
    jwk = KEYS[signs].public_jwk() | {"alg": says}
    with pytest.raises(NotVerified, match="for another algorithm"):
        verify(KEYS[signs].sign(b"x"), PublicKeys.read({"keys": [jwk]}), algorithms=ASYMMETRIC)


def test_a_key_that_names_no_algorithm_takes_the_one_that_fits_it(key: SigningKey) -> None:
    jwk = {name: value for name, value in key.public_jwk().items() if name != "alg"}
    assert verify(key.sign(b"x"), PublicKeys.read({"keys": [jwk]})).payload == b"x"


def test_both_names_of_ed25519_mean_the_same() -> None:
    jwk = KEYS["EdDSA"].public_jwk() | {"alg": "Ed25519"}
    assert verify(KEYS["EdDSA"].sign(b"x"), PublicKeys.read({"keys": [jwk]})).payload == b"x"


@pytest.mark.parametrize(
    "more",
    [
        {"jwk": SigningKey.load(FIXED["ES256"]).public_jwk()},
        {"jku": "https://evil.example/jwks.json"},
        {"x5u": "https://evil.example/chain.pem"},
    ],
    ids=["jwk", "jku", "x5u"],
)
def test_keys_that_the_signature_brings_along_are_not_believed(more: dict[str, Any]) -> None:
    impostor = SigningKey.load(FIXED["ES256"] | {"kid": "brought"})
    with pytest.raises(NotVerified, match="not known"):
        verify(impostor.sign(b"x", more), KNOWN)


@pytest.mark.parametrize(
    "more", [{"crit": ["exp"], "exp": 1}, {"crit": []}, {"b64": True}, {"b64": False, "crit": ["b64"]}]
)
def test_what_has_to_be_understood_and_is_not_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(NotVerified, match="not known here"):
        verify(by_hand({"alg": "EdDSA", "kid": KEYS["EdDSA"].id, **more}), KNOWN)


def by_hand(header: dict[str, Any]) -> str:
    """A good signature by the key for EdDSA, whatever the header says."""
    from joserfc.jwk import OKPKey

    native: Any = OKPKey.import_key(FIXED["EdDSA"]).private_key  # type: ignore[arg-type]  # a dictionary all the same
    signed = f"{b64(header)}.{b64(b'x')}"
    return f"{signed}.{b64(native.sign(signed.encode()))}"


def test_what_is_signed_by_hand_is_verified() -> None:
    assert verify(by_hand({"alg": "EdDSA", "kid": KEYS["EdDSA"].id, "x": 1}), KNOWN).payload == b"x"


def test_unknown_members_of_a_header_are_let_be(key: SigningKey) -> None:
    token = key.sign(b"x", {"iat": 5, "typ": "JWT"})
    assert verify(token, KNOWN).header == {"alg": key.algorithm, "kid": key.id, "iat": 5, "typ": "JWT"}
    assert header_of(token)["iat"] == 5


@pytest.mark.parametrize("kid", [None, 5, ["a"], {"a": 1}, ""])
def test_who_does_not_name_a_key_has_none(kid: Any) -> None:
    signed = KEYS["EdDSA"].sign(b"x", {"kid": "x"}).split(".")
    token = f"{b64({'alg': 'EdDSA', 'kid': kid})}.{signed[1]}.{signed[2]}"
    with pytest.raises(NotVerified):
        verify(token, KNOWN)


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "a.b",
        "a.b.c",
        "a.b.c.d",
        "é.b.c",
        "bnVsbA.e30.AA",
        "W10.e30.AA",
        "e30.e30.AA",
        "{}.{}.{}",
        "\x00.\x00.\x00",
        b64(b"[" * 50_000) + ".e30.AA",
        b64(b'{"alg":"ES256","kid":"' + b"x" * 20_000 + b'"}') + ".e30.AA",
        "x" * (MAX_TOKEN + 1),
    ],
    ids=lambda token: token[:12],
)
def test_what_is_no_signature_is_refused_and_not_told_back(token: str) -> None:
    with pytest.raises(NotVerified) as caught:
        verify(token, KNOWN)
    assert len(str(caught.value)) < 120


def test_whatever_bytes_come_they_are_not_verified() -> None:
    random_ = random.Random(20260303)
    valid = [key.sign(b'{"iss":"x"}') for key in KEYS.values()]
    alphabet = "abcdefXYZ0189-_=.+/{}\x00é "
    for _ in range(2_000):
        token = list(random_.choice(valid))
        for _ in range(random_.randint(1, 4)):
            at = random_.randrange(len(token) - 1)
            match random_.randrange(3):
                case 0:
                    token[at] = random_.choice(alphabet)
                case 1:
                    del token[at : at + random_.randint(1, 40)]
                case _:
                    token[at:at] = random_.choices(alphabet, k=random_.randint(1, 5))
        text = "".join(token)
        try:
            payload = verify(text, KNOWN).payload
        except NotVerified:
            continue
        assert payload == b'{"iss":"x"}', text
