"""Secrets in their places, and what stands in none."""

import pickle
from base64 import b64decode
from typing import Any

import pytest

from dragoman.client import LoginError, Need, Secret
from dragoman.client.channel import ChannelOptions
from dragoman.client.login.challenges import challenges_in
from dragoman.client.login.placing import Carried, place
from dragoman.types.card import (
    APIKeySecurityScheme,
    ClientCredentialsOAuthFlow,
    HTTPAuthSecurityScheme,
    OAuth2SecurityScheme,
    OpenIdConnectSecurityScheme,
    SecurityScheme,
)

VALUE = "s3cret/+=&;"


def need(scheme: SecurityScheme, name: str = "n") -> Need:
    return Need(name=name, scheme=scheme, origin="https://a.example", agent="https://a.example")


def key(location: str, name: str) -> APIKeySecurityScheme:
    return APIKeySecurityScheme(location=location, name=name)


def http(scheme: str) -> HTTPAuthSecurityScheme:
    return HTTPAuthSecurityScheme(scheme=scheme)


FLOW = ClientCredentialsOAuthFlow(token_url="https://id.example/token", scopes={})


def placed(scheme: SecurityScheme, value: str = "s3cret", **headers: str) -> Carried:
    return place([(need(scheme), Secret(value))], headers)


@pytest.mark.parametrize(
    ("scheme", "headers", "query"),
    [
        (key("header", "X-API-Key"), {"x-api-key": "s3cret"}, ""),
        (key("HEADER", "Authorization"), {"authorization": "s3cret"}, ""),
        (key("cookie", "Key"), {"cookie": "Key=s3cret"}, ""),
        (key("query", "the key"), {}, "the%20key=s3cret"),
        (http("bearer"), {"authorization": "Bearer s3cret"}, ""),
        (http("Bearer"), {"authorization": "Bearer s3cret"}, ""),
        (http("DPoP"), {"authorization": "DPoP s3cret"}, ""),
        (OAuth2SecurityScheme(flow=FLOW), {"authorization": "Bearer s3cret"}, ""),
        (OpenIdConnectSecurityScheme(open_id_connect_url="https://id.example"), {"authorization": "Bearer s3cret"}, ""),
    ],
)
def test_each_scheme_has_its_place(scheme: SecurityScheme, headers: dict[str, str], query: str) -> None:
    carried = placed(scheme)
    assert (carried.headers, carried.query) == (headers, query)


def test_name_and_password_are_coded() -> None:
    told = placed(http("BASIC"), "älice:p:w").headers["authorization"]
    assert b64decode(told.removeprefix("Basic ")).decode() == "älice:p:w"


def test_a_key_in_the_query_cannot_become_two() -> None:
    assert placed(key("query", "k&x"), "a&b=c#d e").query == "k%26x=a%26b%3Dc%23d%20e"


def test_cookies_of_the_caller_stay() -> None:
    assert placed(key("cookie", "k"), cookie="a=b").headers == {"cookie": "a=b; k=s3cret"}


def test_schemes_that_apply_together_are_all_there() -> None:
    carried = place(
        [
            (need(http("basic")), Secret("a:b")),
            (need(key("header", "K")), Secret("h")),
            (need(key("query", "q")), Secret("1")),
            (need(key("query", "r")), Secret("2")),
            (need(key("cookie", "c")), Secret("3")),
            (need(key("cookie", "d")), Secret("4")),
        ],
        {},
    )
    assert carried.headers == {"authorization": "Basic YTpi", "k": "h", "cookie": "c=3; d=4"}
    assert carried.query == "q=1&r=2"


@pytest.mark.parametrize(
    ("scheme", "value"),
    [
        (key("header", "X-Key"), "line\r\nX-Admin: 1"),
        (key("header", "X-Key"), "null\0"),
        (key("header", "X-Key"), "schlüssel"),
        (key("header", "X-Key"), ""),
        (key("header", "X Key"), "v"),
        (key("header", "X-Key\r\nHost: evil"), "v"),
        (key("header", ""), "v"),
        (key("header", "Host"), "v"),
        (key("header", "Content-Length"), "9"),
        (key("header", "Transfer-Encoding"), "chunked"),
        (key("header", "Cookie"), "v"),
        (key("header", "A2A-Version"), "v"),
        (key("cookie", "k=v; x"), "v"),
        (key("cookie", "k"), "v; admin=1"),
        (key("cookie", "k"), 'v"'),
        (http("bearer"), "a\nb"),
        (http("Word x"), "v"),
        (http(""), "v"),
    ],
)
def test_what_would_be_read_as_something_else_is_not_sent(scheme: SecurityScheme, value: str) -> None:
    with pytest.raises(LoginError) as raised:
        placed(scheme, value)
    assert not value or len(value) < 3 or value not in str(raised.value)


def test_two_schemes_in_one_place_are_refused() -> None:
    with pytest.raises(LoginError, match="'authorization' is not free"):
        place([(need(http("basic")), Secret("a:b")), (need(http("bearer")), Secret("t"))], {})


@pytest.mark.parametrize(
    "value", [Secret(VALUE), placed(http("bearer"), VALUE), ChannelOptions(headers={"authorization": VALUE})]
)
def test_nothing_that_is_printed_shows_a_secret(value: Any) -> None:
    assert VALUE not in repr(value) + str(value) + f"{value!r}"
    assert VALUE not in str(list(value.__rich_repr__()))
    assert VALUE.encode() in pickle.dumps(value) or isinstance(value, Carried | ChannelOptions)


@pytest.mark.parametrize(
    ("field", "challenges"),
    [
        ("", ()),
        ("Bearer", ("Bearer",)),
        ('Bearer realm="a, b", error="invalid_token", Basic realm="x"', 2),
        ('ApiKey in="header", name="X-API-Key"', ('ApiKey in="header", name="X-API-Key"',)),
        ("Negotiate abc==, Basic", ("Negotiate abc==", "Basic")),
        (", ,Bearer ,", ("Bearer",)),
        ('Basic realm="a \\", Bearer x"', ('Basic realm="a \\", Bearer x"',)),
        ('a="b"', ()),
        ("Bearer, " * 100, ("Bearer",) * 16),
        ('"' * 5000, ()),
    ],
)
def test_challenges_come_apart(field: str, challenges: tuple[str, ...] | int) -> None:
    found = challenges_in(field)
    assert len(found) == challenges if isinstance(challenges, int) else found == challenges
