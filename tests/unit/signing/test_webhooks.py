"""Signatures over deliveries: what an honest receiver takes, and what it does not."""

from typing import Any

import msgspec
import pytest

from dragoman.errors import ConfigurationError
from dragoman.signing.jws import NotVerified, PublicKeys
from dragoman.signing.keys import ALGORITHMS, LEAD, OVERLAP, KeyRing, SigningKey
from dragoman.signing.webhooks import (
    HMAC_HEADER,
    ID_HEADER,
    JWT_HEADER,
    TIMESTAMP_HEADER,
    Claims,
    Secret,
    audience_of,
    body_hash,
    hmac_signature,
    jwt,
    verify_hmac,
    verify_jwt,
)
from tests.unit.signing.fixed import FIXED

NOW = 1_800_000_000
BODY = b'{"task":{"id":"t-1"}}'
KEY = SigningKey.load(FIXED["EdDSA"])
RING = KeyRing.of(KEY)
KEYS = PublicKeys.read(RING.jwks(NOW))
CLAIMS = Claims(
    issuer="https://agent.example",
    audience="https://hook.example",
    issued=NOW,
    expires=NOW + 300,
    id="t-1:3:c-1",
    task_id="t-1",
    body_sha256=body_hash(BODY),
)


def headers_of(claims: Any = CLAIMS, key: SigningKey = KEY, **header: Any) -> dict[str, str]:
    token = key.sign(msgspec.json.encode(claims), {"typ": "JWT", **header})
    return {ID_HEADER: CLAIMS.id, TIMESTAMP_HEADER: str(NOW), JWT_HEADER: token}


def verified(headers: dict[str, str], body: bytes = BODY, now: float = NOW, **how: Any) -> Claims:
    given: dict[str, Any] = {"keys": KEYS, "audience": "https://hook.example", **how}
    return verify_jwt(headers, body, now=now, **given)


def changed(**claims: Any) -> Claims:
    return msgspec.structs.replace(CLAIMS, **claims)


# As a JWT.


def test_the_claims_have_the_names_that_are_documented() -> None:
    assert msgspec.to_builtins(CLAIMS) == {
        "iss": "https://agent.example",
        "aud": "https://hook.example",
        "iat": NOW,
        "exp": NOW + 300,
        "jti": "t-1:3:c-1",
        "taskId": "t-1",
        "body_sha256": "8v4vc6TOTobGU2sDbym1Bo2Kyj0FM9uNXvPcDVYhgdE",
    }


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_delivery_is_verified(algorithm: Any) -> None:
    key = SigningKey.load(FIXED[algorithm])
    headers = headers_of() | {JWT_HEADER: jwt(CLAIMS, key)}
    keys = PublicKeys.read(KeyRing.of(key).jwks(NOW))
    assert verified(headers, keys=keys, issuer="https://agent.example") == CLAIMS


def test_the_same_delivery_has_the_same_signature() -> None:
    assert jwt(CLAIMS, KEY) == jwt(CLAIMS, KEY) == headers_of()[JWT_HEADER]
    assert jwt(CLAIMS, KEY).startswith("eyJhbGciOiJFZERTQSIsImtpZCI6I")


@pytest.mark.parametrize("body", [b"", BODY + b" ", BODY.replace(b"t-1", b"t-2")])
def test_another_body_is_not_verified(body: bytes) -> None:
    with pytest.raises(NotVerified, match="body"):
        verified(headers_of(), body)


@pytest.mark.parametrize("identity", ["", "t-1:4:c-1", None])
def test_another_id_beside_it_is_not_verified(identity: str | None) -> None:
    headers = {name: value for name, value in headers_of().items() if name != ID_HEADER}
    with pytest.raises(NotVerified, match=ID_HEADER):
        verified(headers if identity is None else headers | {ID_HEADER: identity})


@pytest.mark.parametrize(
    "audience",
    [
        "https://other.example",
        "https://hook.example.evil.example",
        "http://hook.example",
        "",
        [],
        ["https://a.example"],
    ],
)
def test_what_is_for_somebody_else_is_not_verified(audience: Any) -> None:
    with pytest.raises(NotVerified, match="receiver"):
        verified(headers_of(changed(audience=audience)))


def test_a_receiver_may_have_several_origins_and_a_jwt_several_audiences() -> None:
    several = ("https://old.example", "https://hook.example")
    assert verified(headers_of(), audience=several) == CLAIMS
    assert verified(headers_of(changed(audience=["https://x.example", "https://hook.example"]))).id == CLAIMS.id


def test_what_is_from_another_agent_is_not_verified_where_it_matters() -> None:
    headers = headers_of(changed(issuer="https://other.example"))
    assert verified(headers).issuer == "https://other.example"
    with pytest.raises(NotVerified, match="agent"):
        verified(headers, issuer="https://agent.example")


@pytest.mark.parametrize(
    ("now", "good"),
    [
        (NOW - 61, False),
        (NOW - 60, True),
        (NOW, True),
        (NOW + 359, True),
        (NOW + 360, False),
        (NOW + 10_000_000, False),
    ],
)
def test_a_jwt_is_good_for_its_time_and_clocks_may_differ_by_a_minute(now: float, *, good: bool) -> None:
    if good:
        assert verified(headers_of(), now=now) == CLAIMS
    else:
        with pytest.raises(NotVerified, match="good"):
            verified(headers_of(), now=now)


def test_a_jwt_that_is_good_for_ever_is_good_for_the_window() -> None:
    headers = headers_of(changed(expires=10**11))
    assert verified(headers, now=NOW + 359).id == CLAIMS.id
    with pytest.raises(NotVerified, match="any more"):
        verified(headers, now=NOW + 360)
    assert verified(headers, now=NOW + 3_600, window=3_600.0).id == CLAIMS.id


@pytest.mark.parametrize("claim", ["iss", "aud", "iat", "exp", "jti", "taskId", "body_sha256"])
@pytest.mark.parametrize("value", ["absent", None, {}, True])
def test_a_claim_that_is_missing_or_odd_is_not_made_up(claim: str, value: Any) -> None:
    claims: dict[str, Any] = msgspec.to_builtins(CLAIMS) | {claim: value}
    if value == "absent":
        del claims[claim]
    with pytest.raises(NotVerified):
        verified(headers_of(claims))


@pytest.mark.parametrize("payload", [b"", b"[]", b"5", b"not json", b"[" * 20_000, b'{"iat":1e999}'])
def test_a_payload_that_is_no_claims_is_not_verified(payload: bytes) -> None:
    with pytest.raises(NotVerified, match="claims"):
        verified(headers_of() | {JWT_HEADER: KEY.sign(payload)})


def test_a_signature_of_something_else_is_no_jwt() -> None:
    with pytest.raises(NotVerified, match="JWT"):
        verified(headers_of(typ="JOSE"))


@pytest.mark.parametrize("token", [None, "", "nonsense", "Bearer x"])
def test_without_a_jwt_nothing_is_verified(token: str | None) -> None:
    headers = {name: value for name, value in headers_of().items() if name != JWT_HEADER}
    with pytest.raises(NotVerified):
        verified(headers if token is None else headers | {JWT_HEADER: token})


def test_what_was_signed_before_a_rotation_is_verified_after_it() -> None:
    newer = SigningKey.generate()
    ring = RING.rotated(newer, NOW)
    begins = int(NOW + LEAD)
    for moment, key in ((NOW, KEY), (begins - 1, KEY), (begins, newer), (begins + 5, newer)):
        assert ring.current(moment) is key
        claims = changed(issued=moment, expires=moment + 300)
        headers = headers_of() | {JWT_HEADER: jwt(claims, ring.current(moment))}
        # A receiver that has fetched the keys when the rotation began knows both; so does one that fetches them late.
        for fetched in (NOW, moment + 300):
            assert verified(headers, now=moment + 200, keys=PublicKeys.read(ring.jwks(fetched))) == claims
    gone = PublicKeys.read(ring.jwks(begins + OVERLAP))
    assert gone.ids == (newer.id,)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://hook.example/a?b=c#d", "https://hook.example"),
        ("https://HOOK.example:443", "https://hook.example"),
        ("https://hook.example:8443/x", "https://hook.example:8443"),
        ("http://localhost:80/", "http://localhost"),
        ("https://[2001:DB8::1]:8443/", "https://[2001:db8::1]:8443"),
    ],
)
def test_the_audience_is_the_origin_of_the_url(url: str, origin: str) -> None:
    assert audience_of(url) == origin


# By HMAC. The first is the example of the Standard Webhooks specification and of its libraries.

VECTOR = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
OTHER = Secret("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD")
SENT_AT = 1614265330
PAYLOAD = b'{"test": 2432232314}'
SIGNED = {
    ID_HEADER: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    TIMESTAMP_HEADER: str(SENT_AT),
    HMAC_HEADER: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}


def checked(headers: dict[str, str], body: bytes = PAYLOAD, now: float = SENT_AT, *shared: Secret, **how: Any) -> str:
    return verify_hmac(headers, body, shared=shared or (VECTOR,), now=now, **how)


def test_the_example_of_the_standard() -> None:
    assert hmac_signature([VECTOR], SIGNED[ID_HEADER], SENT_AT, PAYLOAD) == SIGNED[HMAC_HEADER]
    assert checked(SIGNED) == "msg_p5jXN8AQM9LWM0D4loKWxJek"


def test_a_secret_is_the_same_without_its_prefix() -> None:
    assert checked(SIGNED, PAYLOAD, SENT_AT, Secret(VECTOR.text.removeprefix("whsec_")))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (ID_HEADER, "msg_other"),
        (TIMESTAMP_HEADER, str(SENT_AT + 1)),
        (HMAC_HEADER, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OF="),
        (HMAC_HEADER, "v1,"),
        (HMAC_HEADER, "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        (HMAC_HEADER, "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        (HMAC_HEADER, "v1,é"),
        (HMAC_HEADER, ""),
        (ID_HEADER, ""),
        (TIMESTAMP_HEADER, ""),
        (TIMESTAMP_HEADER, "now"),
        (TIMESTAMP_HEADER, "-1614265330"),
        (TIMESTAMP_HEADER, "1614265330.0"),
        (TIMESTAMP_HEADER, "١٦١٤٢٦٥٣٣٠"),
        (TIMESTAMP_HEADER, "9" * 5_000),
    ],
)
def test_a_changed_header_is_not_verified(name: str, value: str) -> None:
    with pytest.raises(NotVerified):
        checked(SIGNED | {name: value})


@pytest.mark.parametrize("name", [ID_HEADER, TIMESTAMP_HEADER, HMAC_HEADER])
def test_a_header_that_is_missing_is_not_made_up(name: str) -> None:
    with pytest.raises(NotVerified):
        checked({other: value for other, value in SIGNED.items() if other != name})


def test_another_body_or_secret_is_not_verified() -> None:
    with pytest.raises(NotVerified, match="wrong"):
        checked(SIGNED, PAYLOAD + b" ")
    with pytest.raises(NotVerified, match="wrong"):
        checked(SIGNED, PAYLOAD, SENT_AT, OTHER)


@pytest.mark.parametrize(("later", "good"), [(-301, False), (-300, True), (300, True), (301, False)])
def test_a_delivery_outside_the_window_is_not_verified(later: int, *, good: bool) -> None:
    if good:
        assert checked(SIGNED, PAYLOAD, SENT_AT + later)
    else:
        with pytest.raises(NotVerified, match="old"):
            checked(SIGNED, PAYLOAD, SENT_AT + later)
    assert checked(SIGNED, PAYLOAD, SENT_AT + later, window=400.0)


def test_while_a_secret_is_replaced_either_side_may_be_first() -> None:
    both = hmac_signature([OTHER, VECTOR], SIGNED[ID_HEADER], SENT_AT, PAYLOAD)
    assert both.split(" ")[1] == SIGNED[HMAC_HEADER]
    for shared in ((VECTOR,), (OTHER,), (OTHER, VECTOR)):
        assert checked(SIGNED | {HMAC_HEADER: both}, PAYLOAD, SENT_AT, *shared)
    assert checked(SIGNED, PAYLOAD, SENT_AT, OTHER, VECTOR)
    assert checked(SIGNED | {HMAC_HEADER: f"v1a,AAAA {SIGNED[HMAC_HEADER]}"})


def test_no_more_signatures_are_tried_than_anybody_needs() -> None:
    many = " ".join(["v1,AAAA"] * 32)
    with pytest.raises(NotVerified):
        checked(SIGNED | {HMAC_HEADER: f"{many} {SIGNED[HMAC_HEADER]}"})


@pytest.mark.parametrize("text", ["", "whsec_", "whsec_short", "whsec_!!!!", "whsec_" + "QUFB" * 7 + "=", "QUFB" * 30])
def test_what_is_no_secret_is_refused_and_not_told(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Secret(text)
    assert not text.removeprefix("whsec_") or text not in str(caught.value)


def test_a_new_secret_is_one_and_shows_nothing() -> None:
    made = Secret.generate()
    assert Secret(made.text).digest(b"x") == made.digest(b"x") != Secret.generate().digest(b"x")
    assert made.text.startswith("whsec_")
    assert repr(made) == "Secret(...)"
