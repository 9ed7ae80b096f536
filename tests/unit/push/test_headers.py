"""The headers of a delivery."""

from datetime import UTC, datetime
from typing import Any

import pytest

from dragoman import types
from dragoman.push.headers import delivery_headers, delivery_id
from tests.behaviour.manifest import requirement

AT = datetime(2026, 1, 31, 12, 0, 0, 999_000, UTC)


def headers(**config: Any) -> dict[str, str]:
    return delivery_headers(
        types.TaskPushNotificationConfig(url="https://hook.example/", id="c-1", task_id="t-1", **config),
        content_type="application/a2a+json",
        version="1.0",
        identity=delivery_id("t-1", 3, "c-1"),
        at=AT,
        user_agent="dragoman/0",
    )


def authorized(scheme: str, credentials: str | None) -> dict[str, str]:
    given = types.AuthenticationInfo(scheme=scheme, credentials=credentials)
    return {name: value for name, value in headers(authentication=given).items() if name not in headers()}


@requirement("R-T-06")
def test_every_delivery_says_what_it_is_and_which() -> None:
    assert headers() == {
        "content-type": "application/a2a+json",
        "a2a-version": "1.0",
        "user-agent": "dragoman/0",
        "webhook-id": "t-1:3:c-1",
        "idempotency-key": "t-1:3:c-1",
        "webhook-timestamp": "1769860800",
    }


def test_a_token_goes_under_both_names() -> None:
    sent = headers(token="tok-1")
    assert (sent["x-a2a-notification-token"], sent["a2a-notification-token"]) == ("tok-1", "tok-1")


@requirement("R-4.3.3-01", "R-13.2-01")
@pytest.mark.parametrize(
    ("scheme", "credentials", "sent"),
    [
        ("Bearer", "abc.def", {"authorization": "Bearer abc.def"}),
        ("bearer", "abc", {"authorization": "bearer abc"}),
        ("Basic", "QWxhZGRpbjpvcGVuIHNlc2FtZQ==", {"authorization": "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="}),
        ("Basic", "Aladdin:open sesame", {"authorization": "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="}),
        ("basic", "a:b:c", {"authorization": "basic YTpiOmM="}),
        ("Digest", 'username="a"', {"authorization": 'Digest username="a"'}),
        ("Hawk", "a:b", {"authorization": "Hawk a:b"}),
        ("ApiKey", "k", {"authorization": "ApiKey k", "x-api-key": "k"}),
        ("X-API-Key", "k", {"authorization": "X-API-Key k", "x-api-key": "k"}),
        ("api_key", "k", {"authorization": "api_key k", "x-api-key": "k"}),
        ("Bearer", None, {}),
        ("Bearer", "", {}),
    ],
)
def test_credentials_go_as_their_scheme_has_it(scheme: str, credentials: str | None, sent: dict[str, str]) -> None:
    assert authorized(scheme, credentials) == sent


def test_token_and_credentials_go_together() -> None:
    sent = headers(token="tok", authentication=types.AuthenticationInfo(scheme="Bearer", credentials="c"))
    assert (sent["authorization"], sent["a2a-notification-token"]) == ("Bearer c", "tok")


def test_ids_are_fit_for_headers_and_never_the_same_for_different_deliveries() -> None:
    odd = "a:b c.d/é\r\n%"
    assert delivery_id("t", 1, odd) == "t:1:a%3Ab%20c%2Ed%2F%C3%A9%0D%0A%25"
    places = [("t", 1, "a:1:b"), ("t:1:a", 1, "b"), ("t", 1, "a%3A1%3Ab"), ("t", 11, "b"), ("t.1", 1, "b")]
    assert len({delivery_id(*place) for place in places}) == len(places)
