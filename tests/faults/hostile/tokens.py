"""JWTs that try to be believed."""

import hmac
import json
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, derive_private_key
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from dragoman.signing.keys import SigningKey
from tests.faults.hostile.cases import Case, Cases, requested
from tests.unit.auth.tokens import AUDIENCE, ISSUER, KEY, OTHER_KEY, token
from tests.unit.signing.fixed import FIXED

__all__ = ["RSA", "TOKENS"]

RSA = SigningKey.load(FIXED["RS256"])
"""Another key of the issuer's, whose public half everybody has."""
FAR = 4_000_000_000
UNKNOWN = "401 UNAUTHENTICATED"
CLAIMS: dict[str, Any] = {"iss": ISSUER, "sub": "alice", "aud": AUDIENCE, "exp": FAR, "iat": int(time.time()) - 10}


def _b64(data: bytes | str | dict[str, Any]) -> str:
    raw = json.dumps(data).encode() if isinstance(data, dict) else data.encode() if isinstance(data, str) else data
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _of(header: dict[str, Any] | str, claims: dict[str, Any] | str = CLAIMS, signature: str = "AAAA") -> str:
    return f"{_b64(header)}.{_b64(claims)}.{signature}"


def _by_public_key(secret: bytes, header: dict[str, Any]) -> str:
    """Signed with what everybody knows."""
    told = f"{_b64({'alg': 'HS256', **header})}.{_b64(CLAIMS)}"
    return f"{told}.{_b64(hmac.digest(secret, told.encode(), sha256))}"


_CURVE = derive_private_key(int.from_bytes(urlsafe_b64decode(FIXED["ES256"]["d"] + "==")), SECP256R1())
"""The issuer's key, with which anything can be signed."""


def _signed(claims: str | bytes, header: dict[str, Any] | str | None = None) -> str:
    """Claims as they are spelled, truly signed under this header, if another than the usual one is given."""
    told = f"{_b64(ES if header is None else header)}.{_b64(claims)}"
    r, s = decode_dss_signature(_CURVE.sign(told.encode(), ECDSA(SHA256())))
    return f"{told}.{_b64(r.to_bytes(32) + s.to_bytes(32))}"


def _under(**members: Any) -> str:
    """Good claims, truly signed under a header with these members too; None leaves one out."""
    header = {name: value for name, value in {**ES, **members}.items() if value is not None}
    return _signed(json.dumps(CLAIMS), header)


def _number(told: str) -> int:
    return int.from_bytes(urlsafe_b64decode(told + "=="))


def _spelled(**members: str) -> str:
    """Good claims but for these, spelled as they are."""
    good = {name: json.dumps(value) for name, value in CLAIMS.items()} | members
    return _signed("{" + ",".join(f'"{name}":{value}' for name, value in good.items()) + "}")


def _kid(kid: Any) -> str:
    return _of({"alg": "ES256", "kid": kid, "typ": "at+jwt"})


PUBLIC = RSA.public_jwk()
ES = {"alg": "ES256", "kid": KEY.public_jwk()["kid"], "typ": "at+jwt"}
GOOD = _signed(json.dumps(CLAIMS))
TOP, MIDDLE, END = GOOD.split(".")
PEM = RSAPublicNumbers(_number(PUBLIC["e"]), _number(PUBLIC["n"])).public_key()
PEM_BYTES = PEM.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

PBES = {"alg": "PBES2-HS256+A128KW", "enc": "A128GCM", "p2c": 2**31, "p2s": "AAAA"}

WRONG: dict[str, str] = {
    "alg none": _of({"alg": "none"}, signature=""),
    "alg none with a key's id": _of({**ES, "alg": "none"}, signature=""),
    "alg NONE": _of({**ES, "alg": "NONE"}, signature=""),
    "alg nOnE with a signature": _of({**ES, "alg": "nOnE"}, signature=END),
    "no alg": _of({"kid": ES["kid"]}, signature=END),
    "alg that is nothing": _of({**ES, "alg": None}, signature=END),
    "alg that is a list": _of({**ES, "alg": ["ES256"]}, signature=END),
    "alg of another spelling": _of({**ES, "alg": "es256"}, signature=END),
    "HS256 with the public key as JSON": _by_public_key(json.dumps(PUBLIC).encode(), {"kid": PUBLIC["kid"]}),
    "HS256 with the public key as PEM": _by_public_key(PEM_BYTES, {"kid": PUBLIC["kid"]}),
    "HS256 with the modulus": _by_public_key(PUBLIC["n"].encode(), {"kid": PUBLIC["kid"]}),
    "HS256 with nothing": _by_public_key(b"", {"kid": PUBLIC["kid"]}),
    "RS256 for an elliptic key": _of({**ES, "alg": "RS256"}, signature=END),
    "an elliptic signature of zeros": _of(ES, signature=_b64(bytes(64))),
    "an elliptic signature of nothing": _of(ES, signature=""),
    "a signature cut short": f"{TOP}.{MIDDLE}.{END[:-4]}",
    "a signature with more behind it": f"{GOOD}AAAA",
    "another's signature": token(key=OTHER_KEY),
    "another's claims": f"{TOP}.{_b64({**CLAIMS, 'sub': 'bob'})}.{END}",
    "another's header": f"{_b64({**ES, 'x': 1})}.{MIDDLE}.{END}",
    "kid that is a path": _kid("../../../../dev/null"),
    "kid that is a file": _kid("/proc/sys/kernel/randomize_va_space"),
    "kid in SQL": _kid("x' UNION SELECT 'a'; --"),
    "kid that is a URL": _kid("https://evil.example/key.jwk"),
    "kid with a command": _kid("|sleep 9"),
    "kid with a NUL": _kid("key\0"),
    "kid of 10 kB": _kid("k" * 10_000),
    "kid that is a number": _kid(1),
    "kid that is nothing": _kid(None),
    "kid that is a list": _kid([ES["kid"]]),
    "no kid": _under(kid=None),
    "a key of its own": OTHER_KEY.sign(json.dumps(CLAIMS).encode(), {"kid": "mine", "jwk": OTHER_KEY.public_jwk()}),
    "a key of its own under a known id": OTHER_KEY.sign(
        json.dumps(CLAIMS).encode(), {"kid": ES["kid"], "jwk": OTHER_KEY.public_jwk()}
    ),
    "a link to keys": OTHER_KEY.sign(json.dumps(CLAIMS).encode(), {"jku": "https://evil.example/jwks.json"}),
    "a link to a certificate": OTHER_KEY.sign(json.dumps(CLAIMS).encode(), {"x5u": "https://evil.example/a.pem"}),
    "a certificate of its own": OTHER_KEY.sign(json.dumps(CLAIMS).encode(), {"x5c": ["MIIB"]}),
    "crit": _under(crit=["exp"], exp=FAR),
    "crit of nothing": _under(crit=[]),
    "crit of what is not there": _under(crit=["admin"], admin=True),
    "b64 false": _under(b64=False, crit=["b64"]),
    "b64 false without crit": _under(b64=False),
    "a token for an identity": _under(typ="id_token+jwt"),
    "a token of a security event": _under(typ="secevent+jwt"),
    "a proof of a key": _under(typ="dpop+jwt"),
    "a header twice": f"{TOP}.{GOOD}",
    "a header with kid twice": _signed(
        json.dumps(CLAIMS), f'{{"alg":"none","alg":"ES256","kid":"{ES["kid"]}","kid":"x"}}'
    ),
    "exp as text": _spelled(exp='"4000000000"'),
    "exp beyond all numbers": _spelled(exp="1e400"),
    "exp below all numbers": _spelled(exp="-1e400"),
    "exp that is negative": _spelled(exp="-1"),
    "exp that is nothing": _spelled(exp="null"),
    "exp that is true": _spelled(exp="true"),
    "exp that is no number": _spelled(exp="NaN"),
    "exp without end": _spelled(exp="9" * 5000),
    "exp just before now": _spelled(exp=str(int(time.time()) - 3600)),
    "no exp": _signed(json.dumps({name: value for name, value in CLAIMS.items() if name != "exp"})),
    "nbf to come": _spelled(nbf=str(FAR)),
    "nbf as text": _spelled(nbf='"0"'),
    "iat to come": _spelled(iat=str(FAR)),
    "iss of another": _spelled(iss='"https://evil.example"'),
    "iss with a slash more": _spelled(iss=json.dumps(f"{ISSUER}/")),
    "iss that is a list": _spelled(iss=json.dumps([ISSUER])),
    "iss twice, the wrong one last": _signed(json.dumps(CLAIMS)[:-1] + ',"iss":"https://evil.example"}'),
    "aud of another": _spelled(aud='"https://other.example"'),
    "aud with more behind it": _spelled(aud=json.dumps(f"{AUDIENCE}.evil.example")),
    "aud that is an object": _spelled(aud=json.dumps({AUDIENCE: True})),
    "aud that is nothing": _spelled(aud="null"),
    "no aud": _signed(json.dumps({name: value for name, value in CLAIMS.items() if name != "aud"})),
    "sub that is nothing": _spelled(sub="null"),
    "sub that is empty": _spelled(sub='""'),
    "sub that is a number": _spelled(sub="1"),
    "sub with a line break": _spelled(sub='"alice\\nadmin"'),
    "sub with a NUL": _spelled(sub='"alice\\u0000"'),
    "claims that are a list": _signed("[]"),
    "claims that are a token": _signed(GOOD),
    "claims that are deep": _signed("[" * 3000),
    "claims in other bytes": _signed(b"\xff\xfe{}"),
    "bound to a key that nobody shows": _spelled(cnf='{"x5t#S256":"AAAA"}'),
    "bound to a key of another kind": _spelled(cnf='{"jkt":"AAAA"}'),
    "encrypted": f"{_b64({'alg': 'RSA-OAEP', 'enc': 'A256GCM'})}.AAAA.AAAA.AAAA.AAAA",
    "encrypted with the password that it brings": f"{_b64(PBES)}.AAAA.AAAA.AAAA.AAAA",
    "two parts": f"{TOP}.{MIDDLE}",
    "four parts": f"{GOOD}.AAAA",
    "dots alone": "..",
    "padding": f"{TOP}=.{MIDDLE}=.{END}=",
    "the other base64": f"{TOP}.{MIDDLE}.{'+/' * 43}",
    "a space inside": GOOD.replace(".", ". ", 1),
    "a tab before": "\t" + GOOD.replace(".", "\t.", 1),
    "in quotes": f'"{GOOD}"',
    "two tokens": f"{GOOD}, {GOOD}",
    "a token and a scheme": f"{GOOD}, Basic YWxpY2U6YQ==",
    "of 15 kB": f"{TOP}.{'A' * 15_000}.{END}",
    "nothing": "",
}

TOKENS: Cases = {
    name: Case(UNKNOWN, (requested("GET", "/tasks/t", b"", f"authorization: Bearer {told}", known=False, kind=""),))
    for name, told in WRONG.items()
} | {
    "a second authorization": Case(
        UNKNOWN,
        (
            requested(
                "GET",
                "/tasks/t",
                b"",
                f"authorization: Bearer {GOOD}",
                f"authorization: Bearer {GOOD}",
                known=False,
                kind="",
            ),
        ),
    ),
    "in the query": Case(UNKNOWN, (requested("GET", f"/tasks/t?access_token={GOOD}", b"", known=False, kind=""),)),
    "in a cookie": Case(
        UNKNOWN, (requested("GET", "/tasks/t", b"", f"cookie: access_token={GOOD}", known=False, kind=""),)
    ),
    "under another scheme": Case(
        UNKNOWN, (requested("GET", "/tasks/t", b"", f"authorization: DPoP {GOOD}", known=False, kind=""),)
    ),
    "a good one": Case(
        "404 TASK_NOT_FOUND",
        (requested("GET", "/tasks/t", b"", f"authorization: Bearer {GOOD}", known=False, kind=""),),
    ),
}
