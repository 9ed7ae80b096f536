"""Bearer tokens: which are good, until when, and everything that is not one."""

import hashlib
import hmac
import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from joserfc.jwk import ECKey
from joserfc.jws import JWSRegistry

from dragoman.auth import Bearer, Credentials, Principal
from dragoman.errors import ConfigurationError, PermissionDeniedError, UnauthenticatedError
from dragoman.ports.auth import Peer
from dragoman.signing.jws import PublicKeys
from dragoman.signing.keys import SigningKey
from tests.unit.auth.tokens import AUDIENCE, ISSUER, JWKS, KEY, OTHER_KEY, token
from tests.unit.signing.fixed import FIXED

NOW = 1_800_000_000.0
GOOD: dict[str, Any] = {"iat": NOW, "exp": NOW + 300}


class Time:
    """What a clock says."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


def scheme(clock: Time | None = None, **options: Any) -> Bearer:
    given: dict[str, Any] = {"issuer": ISSUER, "audience": AUDIENCE, "keys": JWKS, "now": clock or Time(), **options}
    return Bearer(**given)


async def known(bearer: Bearer, text: str) -> Principal:
    return await bearer.authenticate(Credentials({"authorization": f"Bearer {text}"}))


async def refused(bearer: Bearer, text: str) -> bool:
    try:
        await known(bearer, text)
    except UnauthenticatedError as error:
        return error.challenges == ('Bearer error="invalid_token"',)
    return False


async def test_a_good_token_names_its_issuer_and_its_subject_and_says_what_it_is_good_for() -> None:
    bearer = scheme()
    principal = await known(bearer, token("alice", scope="read write", scp=["admin"], email="a@x", **GOOD))
    assert (principal.id, principal.scheme) == (f"{ISSUER} alice", "bearer")
    assert principal.scopes == {"read", "write", "admin"}
    assert principal.claims["email"] == "a@x"
    assert (await known(bearer, token("bob", scope=None, scp="a b", **GOOD))).scopes == {"a", "b"}


@pytest.mark.parametrize("audience", [AUDIENCE, [AUDIENCE], ["https://other.example", AUDIENCE]])
async def test_the_agent_is_among_those_that_a_token_is_for(audience: Any) -> None:
    assert (await known(scheme(), token(aud=audience, **GOOD))).id
    assert await refused(scheme(audience="https://third.example"), token(aud=audience, **GOOD))
    assert (await known(scheme(audience={"https://third.example", AUDIENCE}), token(aud=audience, **GOOD))).id


@pytest.mark.parametrize("kind", ["JWT", "jwt", "at+jwt", "application/at+jwt"])
async def test_access_tokens_are_of_these_kinds(kind: str) -> None:
    assert (await known(scheme(), token(header={"typ": kind}, **GOOD))).id


WRONG: dict[str, dict[str, Any]] = {
    "another issuer": {"iss": "https://other.example"},
    "an issuer that begins alike": {"iss": ISSUER + "/x"},
    "no issuer": {"iss": None},
    "another audience": {"aud": "https://other.example"},
    "no audience": {"aud": None},
    "an empty audience": {"aud": []},
    "an audience that is none": {"aud": {"a": 1}},
    "no end": {"exp": None},
    "an end that is text": {"exp": "9999999999"},
    "an end that is true": {"exp": True},
    "expired": {"iat": NOW - 900, "exp": NOW - 61},
    "not yet": {"nbf": NOW + 61},
    "issued later": {"iat": NOW + 61},
    "nobody": {"sub": None},
    "an empty name": {"sub": ""},
    "a name that is a number": {"sub": 7},
    "a name with control characters": {"sub": "a\nb"},
    "half a character": {"sub": "\ud800"},
    "a logout": {"header": {"typ": "logout+jwt"}},
    "a proof": {"header": {"typ": "dpop+jwt"}},
    "a key of its own": {"key": OTHER_KEY, "header": {"jwk": OTHER_KEY.public_jwk()}},
    "a key elsewhere": {"key": OTHER_KEY, "header": {"jku": "https://evil.example/jwks.json"}},
    "another's key under the same name": {"key": SigningKey.load({**FIXED["EdDSA"], "kid": KEY.id})},
    "a path as the name of its key": {"header": {"kid": "../../etc/passwd"}},
    "a statement as the name of its key": {"header": {"kid": "' or 1=1 --"}},
    "a URL as the name of its key": {"header": {"kid": "https://evil.example/jwks.json"}},
    "nothing as the name of its key": {"header": {"kid": ""}},
    "a certificate of its own": {"key": OTHER_KEY, "header": {"kid": KEY.id, "x5c": ["MIIB"]}},
    "a certificate elsewhere": {"key": OTHER_KEY, "header": {"kid": KEY.id, "x5u": "https://evil.example/chain.pem"}},
    "its own key under the name of the issuer's": {
        "key": OTHER_KEY,
        "header": {"kid": KEY.id, "jwk": OTHER_KEY.public_jwk()},
    },
    "bound to a key": {"cnf": {"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}},
    "bound to a certificate": {"cnf": {"x5t#S256": "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2"}},
    "a scope that is a list": {"scope": ["call"]},
    "an audience of numbers": {"aud": [1]},
    "a time that is text": {"nbf": "0"},
}


@pytest.mark.parametrize("how", WRONG.values(), ids=list(WRONG))
async def test_what_is_wrong_with_a_token_is_not_told(how: dict[str, Any]) -> None:
    assert await refused(scheme(), token(**{**GOOD, **how}))


def _part(value: Any) -> str:
    return urlsafe_b64encode(value if isinstance(value, bytes) else json.dumps(value).encode()).decode().rstrip("=")


CLAIMS: dict[str, Any] = {"iss": ISSUER, "sub": "alice", "aud": AUDIENCE, **GOOD}


def _by_secret(secret: bytes) -> str:
    head = f"{_part({'alg': 'HS256', 'kid': KEY.id})}.{_part(CLAIMS)}"
    return f"{head}.{_part(hmac.digest(secret, head.encode(), 'sha256'))}"


def _signed(header: dict[str, Any], payload: Any) -> str:
    """By the issuer's own key, whatever it is that it signs: libraries refuse to sign some of it."""
    head = f"{_part({'alg': 'ES256', 'typ': 'JWT', 'kid': KEY.id, **header})}.{_part(payload)}"
    signature = JWSRegistry.algorithms["ES256"].sign(head.encode(), ECKey.import_key(KEY.private_jwk()))
    return f"{head}.{_part(signature)}"


def _hostile() -> dict[str, str]:
    good = token(**GOOD)
    head, body, signature = good.split(".")
    return {
        "nothing": "",
        "a word": "x",
        "two parts": f"{head}.{body}",
        "five parts": f"{good}.x.y",
        "no signature": f"{head}.{body}.",
        "half a signature": f"{head}.{body}.{signature[: len(signature) // 2]}",
        "another body": f"{head}.{_part({**CLAIMS, 'sub': 'bob'})}.{signature}",
        "alg none": f"{_part({'alg': 'none', 'kid': KEY.id})}.{_part(CLAIMS)}.{signature}",
        "alg None": f"{_part({'alg': 'None', 'kid': KEY.id})}.{_part(CLAIMS)}.{signature}",
        "a number as the name of its key": f"{_part({'alg': 'ES256', 'kid': 1})}.{body}.{signature}",
        "a critical header": f"{_part({'alg': 'ES256', 'kid': KEY.id, 'crit': ['exp'], 'exp': 1})}.{body}.{signature}",
        "a payload that is not coded": _signed({"b64": False, "crit": ["b64"]}, CLAIMS),
        "b64 that nobody calls critical": _signed({"b64": False}, CLAIMS),
        "critical nothing": _signed({"crit": []}, CLAIMS),
        "a token in a token": _signed({"cty": "JWT"}, good.encode()),
        "a list of claims": _signed({}, [CLAIMS]),
        "claims that are not text": _signed({}, b"\xff\xfe{}"),
        "no claims": _signed({}, b""),
        "an end beyond all numbers": _signed({}, json.dumps(CLAIMS).replace(str(CLAIMS["exp"]), "1e999").encode()),
        "an end that is no number": _signed({}, json.dumps(CLAIMS).replace(str(CLAIMS["exp"]), "NaN").encode()),
        "a subject that is named again": _signed({}, json.dumps(CLAIMS)[:-1].encode() + b', "sub": ""}'),
        "an encrypted one": f"{_part({'alg': 'RSA-OAEP', 'enc': 'A256GCM', 'kid': KEY.id})}.a.b.c.d",
        "no alg": f"{_part({'kid': KEY.id})}.{_part(CLAIMS)}.{signature}",
        "alg that is a list": f"{_part({'alg': ['ES256'], 'kid': KEY.id})}.{_part(CLAIMS)}.{signature}",
        "HS256 by the public key": _by_secret(json.dumps(KEY.public_jwk()).encode()),
        "HS256 by nothing": _by_secret(b""),
        "a signature of zeros": f"{head}.{body}.{_part(bytes(64))}",
        "blanks inside": f"{head}. {body}.{signature}",
        "padding": f"{head}=.{body}.{signature}",
        "too long, but genuine": _signed({}, {**CLAIMS, "about": "x" * 20_000}),
        "too long": f"{head}.{body}{'A' * 20_000}.{signature}",
        "deep": f"{head}.{_part(b'[' * 6000)}.{signature}",
        "a deep header": f"{_part(b'[' * 6000)}.{body}.{signature}",
        "no JSON": f"{_part(b'{')}.{body}.{signature}",
        "quotes": 'a"b.c.d',
        "not ASCII": f"{head}.{body}.ü",
    }


@pytest.mark.parametrize("text", _hostile().values(), ids=list(_hostile()))
async def test_what_is_no_token_of_the_issuer_is_refused(text: str) -> None:
    bearer = scheme()
    for _ in range(2):
        assert await refused(bearer, text)
    assert (await known(bearer, token(**GOOD))).id


async def test_a_link_to_keys_in_a_good_token_is_not_followed_and_of_a_claim_that_comes_twice_the_last_counts() -> None:
    bearer = scheme()
    assert (await known(bearer, _signed({}, CLAIMS))).id
    links = dict.fromkeys(("jku", "x5u"), "https://evil.example/keys")
    assert (await known(bearer, token(header=links | {"jwk": OTHER_KEY.public_jwk()}, **GOOD))).id
    twice = json.dumps({**CLAIMS, "sub": "eve"})[:-1] + f', "iss": "{ISSUER}", "sub": "alice"}}'
    principal = await known(bearer, _signed({}, twice.encode()))
    assert (principal.id, principal.claims["sub"]) == (f"{ISSUER} alice", "alice")


CERTIFICATE = b"a certificate"
THUMBPRINT = urlsafe_b64encode(hashlib.sha256(CERTIFICATE).digest()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("cnf", "certificate", "good"),
    [
        ({"x5t#S256": THUMBPRINT}, CERTIFICATE, True),
        ({"x5t#S256": THUMBPRINT}, b"", False),
        ({"x5t#S256": THUMBPRINT}, b"another", False),
        ({"x5t#S256": THUMBPRINT + "="}, CERTIFICATE, False),
        ({"x5t#S256": THUMBPRINT, "jkt": "x"}, CERTIFICATE, False),
        ({"jkt": "x"}, CERTIFICATE, False),
        ({"x5t#S256": None}, b"", False),
        ({"x5t#S256": urlsafe_b64encode(hashlib.sha256(b"").digest()).decode().rstrip("=")}, b"", False),
        ({}, CERTIFICATE, False),
        (None, CERTIFICATE, False),
        (THUMBPRINT, CERTIFICATE, False),
    ],
)
async def test_a_token_that_is_bound_to_a_certificate_counts_with_that_alone(
    cnf: Any, certificate: bytes, good: bool
) -> None:
    bearer = scheme()
    authorization = f"Bearer {_signed({}, {**CLAIMS, 'cnf': cnf})}"
    held = Credentials({"authorization": authorization}, peer=Peer(certificate=certificate))
    for _ in range(2):
        if good:
            assert (await bearer.authenticate(held)).id
        else:
            with pytest.raises(UnauthenticatedError):
                await bearer.authenticate(held)
    with pytest.raises(UnauthenticatedError):
        await bearer.authenticate(Credentials({"authorization": authorization}))
    assert (await bearer.authenticate(Credentials(bearer_header(), peer=Peer(certificate=certificate)))).id


def bearer_header() -> dict[str, str]:
    return {"authorization": f"Bearer {token(**GOOD)}"}


async def test_an_algorithm_that_is_not_accepted_is_refused() -> None:
    for algorithms in (["RS256"], ["EdDSA"]):
        assert await refused(scheme(algorithms=algorithms), token(**GOOD))
    assert (await known(scheme(algorithms=["ES256"]), token(**GOOD))).id


@pytest.mark.parametrize(("skew", "late", "good"), [(60, 359, True), (60, 360, False), (0, 299, True), (0, 300, False)])
async def test_a_token_is_good_to_the_last_second_and_the_skew_also_when_it_was_good_before(
    skew: float, late: float, good: bool
) -> None:
    clock = Time()
    bearer = scheme(clock, skew=skew)
    text = token(**GOOD)
    assert (await known(bearer, text)).id
    clock.now = NOW + late
    assert await refused(bearer, text) is not good
    assert await refused(scheme(clock, skew=skew), text) is not good


async def test_a_token_that_was_good_is_not_verified_again_until_the_keys_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verified: list[str] = []
    from dragoman.auth import jwt as module
    from dragoman.signing import jws

    def counted(text: str, keys: PublicKeys, **how: Any) -> Any:
        verified.append(text)
        return jws.verify(text, keys, **how)

    class Source:
        def __init__(self) -> None:
            self.now: tuple[PublicKeys, int] = (PublicKeys.read(JWKS), 1)

        async def keys(self, wanted: str = "") -> tuple[PublicKeys, int]:  # noqa: ARG002 -- the port's
            return self.now

    monkeypatch.setattr(module, "verify", counted)
    source = Source()
    bearer = scheme(keys=source)
    text = token(**GOOD)
    for _ in range(3):
        await known(bearer, text)
    assert verified == [text]
    source.now = (PublicKeys.read({"keys": [OTHER_KEY.public_jwk()]}), 2)
    assert await refused(bearer, text)


async def test_a_scope_that_is_missing_is_named_since_the_card_says_it_too() -> None:
    bearer = scheme(scopes=["read", "write"])
    assert bearer.requirements == ({"bearer": ("read", "write")},)
    with pytest.raises(PermissionDeniedError) as caught:
        await known(bearer, token(scope="read", **GOOD))
    assert caught.value.challenges == ('Bearer error="insufficient_scope", scope="read write"',)
    assert (await known(bearer, token(scope="write other read", **GOOD))).id


async def test_another_claim_may_name_the_caller() -> None:
    principal = await known(scheme(subject="client_id"), token(client_id="app", **GOOD))
    assert principal.id == f"{ISSUER} app"
    assert await refused(scheme(subject="client_id"), token(**GOOD))


@pytest.mark.parametrize(
    "options",
    [
        {"issuer": ""},
        {"audience": ""},
        {"audience": []},
        {"audience": [AUDIENCE, ""]},
        {"algorithms": ["HS256"]},
        {"algorithms": ["none"]},
        {"algorithms": []},
        {"keys": None},
        {"jwks_url": "https://issuer.example/jwks.json"},
        {"keys": None, "jwks_url": "http://issuer.example/jwks.json"},
        {"keys": None, "jwks_url": "file:///etc/passwd"},
        {"keys": {"keys": []}},
        {"keys": "{"},
        {"scopes": ['a"\n']},
    ],
)
def test_what_cannot_be_held_to_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        scheme(**options)
