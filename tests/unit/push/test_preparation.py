"""From a stored configuration and an event to a request."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from dragoman import types
from dragoman.dialects import push as bodies
from dragoman.ports.call import Scope
from dragoman.ports.push import Push
from dragoman.push.delivery import Delivery, Undeliverable
from dragoman.push.preparation import Preparation
from dragoman.push.seal import KEY_BYTES, Seal
from dragoman.push.signer import HmacSigner, JwtSigner, WebhookSigner
from dragoman.signing.jws import PublicKeys
from dragoman.signing.keys import KeyRing, SigningKey
from dragoman.signing.webhooks import Secret, verify_hmac, verify_jwt
from tests.unit.dialects.samples import MESSAGE, TASK

SEAL = Seal(lambda: bytes(KEY_BYTES))
AT = datetime(2027, 1, 15, 8, 0, tzinfo=UTC)
CONFIG = types.TaskPushNotificationConfig(
    url="https://hook.example/notify",
    id="c-1",
    task_id="t-1",
    token="tok",
    authentication=types.AuthenticationInfo(scheme="Bearer", credentials="secret"),
)
STATUS = types.TaskStatusUpdateEvent(
    task_id="t-1", context_id="c", status=types.TaskStatus(state=types.TaskState.COMPLETED)
)


def stored(dialect: str = "1.0/JSONRPC", task_id: str = "t-1", sealed: bytes | None = None) -> Push:
    return Push(
        n=1,
        task_id=task_id,
        id="c-1",
        scope=Scope(tenant="", principal=""),
        dialect=dialect,
        origin="https://hook.example",
        worker="w",
        created=AT,
        cursor=0,
        sealed=SEAL.seal(CONFIG, task_id, "c-1") if sealed is None else sealed,
    )


def prepared(push: Push, event: types.StreamEvent = STATUS, signer: WebhookSigner | None = None, **at: Any) -> Delivery:
    return Preparation(SEAL, bodies, signer).request(push, event, 0 if event is MESSAGE else 7, AT + timedelta(**at))


def test_a_delivery_has_all_that_the_configuration_says() -> None:
    delivery = prepared(stored())
    assert delivery.url == CONFIG.url
    assert delivery.headers["authorization"] == "Bearer secret"
    assert delivery.headers["a2a-notification-token"] == "tok"
    assert (delivery.headers["content-type"], delivery.headers["a2a-version"]) == ("application/a2a+json", "1.0")
    assert re.fullmatch(r"dragoman/\d+\.\d+\.\d+", delivery.headers["user-agent"])
    assert json.loads(delivery.body)["statusUpdate"]["taskId"] == "t-1"
    assert "secret" not in repr(delivery)


def test_its_id_is_the_same_at_every_attempt_and_its_time_is_not() -> None:
    first, second = prepared(stored()), prepared(stored(), hours=1)
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == "t-1:7:c-1"
    assert first.headers["idempotency-key"] == "t-1:7:c-1"
    times = [int(delivery.headers["webhook-timestamp"]) for delivery in (first, second)]
    assert times == [int(AT.timestamp()), int(AT.timestamp()) + 3_600]


def test_a_direct_answer_goes_by_the_id_of_its_message() -> None:
    assert prepared(stored(task_id=""), MESSAGE).headers["webhook-id"] == f"{MESSAGE.message_id}:0:c-1"


def test_in_0_3_the_body_is_the_bare_task() -> None:
    push = stored("0.3/GRPC")
    assert Preparation(SEAL, bodies).whole(push.dialect)
    assert not Preparation(SEAL, bodies).whole("1.0/GRPC")
    delivery = prepared(push, TASK)
    assert (delivery.headers["content-type"], delivery.headers["a2a-version"]) == ("application/json", "0.3")
    assert json.loads(delivery.body)["kind"] == "task"


def test_the_signature_is_over_what_is_sent() -> None:
    ring = KeyRing.of(SigningKey.generate())
    secret = Secret.generate()
    by_key = prepared(stored(), signer=JwtSigner(ring, "https://agent.example"))
    by_secret = prepared(stored(), signer=HmacSigner(secret.text))
    now = AT.timestamp()
    keys = PublicKeys.read(ring.jwks(now))
    claims = verify_jwt(by_key.headers, by_key.body, keys=keys, audience="https://hook.example", now=now)
    assert (claims.id, claims.task_id) == ("t-1:7:c-1", "t-1")
    assert verify_hmac(by_secret.headers, by_secret.body, shared=[secret], now=now) == "t-1:7:c-1"


@pytest.mark.parametrize(
    ("push", "why"),
    [
        (stored(sealed=b"\x01" + bytes(60)), "cannot be read"),
        (stored(sealed=b""), "cannot be read"),
        (msgspec.structs.replace(stored(), task_id="t-2"), "cannot be read"),
        (stored("7.0/TELEX"), "7.0/TELEX"),
    ],
    ids=["another key", "nothing", "of another task", "a dialect of a later version"],
)
def test_what_can_never_be_delivered_says_so(push: Push, why: str) -> None:
    with pytest.raises(Undeliverable, match=why):
        prepared(push)
