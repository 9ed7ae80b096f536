"""Who signs deliveries, and that receivers can tell."""

from typing import Any

import pytest

from dragoman.errors import ConfigurationError
from dragoman.push.signer import HmacSigner, JwtSigner, WebhookSigner
from dragoman.signing.jws import NotVerified, PublicKeys
from dragoman.signing.keys import LEAD, KeyRing, SigningKey
from dragoman.signing.webhooks import JWT_HEADER, Secret, verify_hmac, verify_jwt
from tests.unit.signing.fixed import FIXED
from tests.unit.signing.test_jws import header_of

NOW = 1_800_000_000
KEY = SigningKey.load(FIXED["EdDSA"])
SECRETS = ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD")
BODY = b'{"task":{}}'


def signed(signer: WebhookSigner, **how: Any) -> dict[str, str]:
    given: dict[str, Any] = {
        "url": "https://hook.example/notify?x=1",
        "identity": "t-1:3:c-1",
        "timestamp": NOW,
        "task_id": "t-1",
        "body": BODY,
    }
    headers = signer.sign(**{**given, **how})
    return headers | {"webhook-id": "t-1:3:c-1", "webhook-timestamp": str(how.get("timestamp", NOW))}


def test_a_jwt_says_what_it_is_about() -> None:
    signer = JwtSigner(KeyRing.of(KEY), "https://agent.example")
    keys = PublicKeys.read(signer.key_set(NOW) or b"")
    claims = verify_jwt(signed(signer), BODY, keys=keys, audience="https://hook.example", now=NOW)
    assert (claims.issuer, claims.audience) == ("https://agent.example", "https://hook.example")
    assert (claims.id, claims.task_id, claims.issued, claims.expires) == ("t-1:3:c-1", "t-1", NOW, NOW + 300)


def test_each_attempt_is_signed_anew() -> None:
    signer = JwtSigner(KeyRing.of(KEY), "https://agent.example", lifetime=60)
    keys = PublicKeys.read(signer.key_set(NOW) or b"")
    first, second = (signed(signer, timestamp=moment) for moment in (NOW, NOW + 3_600))
    assert verify_jwt(second, BODY, keys=keys, audience="https://hook.example", now=NOW + 3_600).expires == NOW + 3_660
    with pytest.raises(NotVerified):
        verify_jwt(first, BODY, keys=keys, audience="https://hook.example", now=NOW + 3_600)


def test_while_keys_follow_each_other_both_are_published_and_the_old_one_signs() -> None:
    newer = SigningKey.generate()
    signer = JwtSigner(KeyRing.of(KEY).rotated(newer, NOW), "https://agent.example")
    before = PublicKeys.read(signer.key_set(NOW) or b"")
    assert set(before.ids) == {KEY.id, newer.id}
    for moment, key in ((NOW, KEY), (int(NOW + LEAD) - 1, KEY), (int(NOW + LEAD), newer)):
        headers = signed(signer, timestamp=moment)
        assert header_of(headers[JWT_HEADER])["kid"] == key.id
        assert verify_jwt(headers, BODY, keys=before, audience="https://hook.example", now=moment).issued == moment


def test_every_secret_signs() -> None:
    signer = HmacSigner(SECRETS)
    assert signer.key_set(NOW) is None
    for secret in SECRETS:
        assert verify_hmac(signed(signer), BODY, shared=[Secret(secret)], now=NOW) == "t-1:3:c-1"
    assert signed(HmacSigner(SECRETS[0]))["webhook-signature"] == signed(signer)["webhook-signature"].split(" ")[0]


@pytest.mark.parametrize("signer", [JwtSigner(KeyRing.of(KEY), "https://a.example"), HmacSigner(SECRETS)])
def test_a_signer_shows_no_secret(signer: WebhookSigner) -> None:
    assert isinstance(signer, WebhookSigner)
    for secret in (*SECRETS, FIXED["EdDSA"]["d"]):
        assert secret.removeprefix("whsec_") not in repr(signer)


def test_what_cannot_sign_is_refused_at_once() -> None:
    with pytest.raises(ConfigurationError, match="issuer"):
        JwtSigner(KeyRing.of(KEY), "")
    with pytest.raises(ConfigurationError, match="lifetime"):
        JwtSigner(KeyRing.of(KEY), "x", lifetime=0)
    with pytest.raises(ConfigurationError, match="secret"):
        HmacSigner([])
    with pytest.raises(ConfigurationError, match="secret"):
        HmacSigner("hunter2")
