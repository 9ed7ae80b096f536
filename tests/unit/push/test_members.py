"""Members of a configuration end up in headers, and are fit for that."""

from typing import Any

import pytest

from dragoman.errors import InvalidParamsError
from dragoman.push.members import LONGEST, LONGEST_ID, check_members, origin_of
from dragoman.types.push import AuthenticationInfo, TaskPushNotificationConfig

URL = "https://hook.example/path"


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"token": "a\r\nX-Evil: 1"}, "token"),
        ({"token": " a"}, "token"),
        ({"token": "ä"}, "token"),
        ({"token": "a" * (LONGEST + 1)}, "token"),
        ({"id": "a\nb"}, "id"),
        ({"id": "a b"}, "id"),
        ({"id": "a" * (LONGEST_ID + 1)}, "id"),
        ({"url": "https://hook.example/" + "a" * LONGEST}, "url"),
        ({"url": "https://hook.example:99999999/"}, "url"),
        ({"url": "https://[/"}, "url"),
        ({"authentication": AuthenticationInfo(scheme="Bearer\r\n", credentials="x")}, "authentication.scheme"),
        ({"authentication": AuthenticationInfo(scheme="", credentials="x")}, "authentication.scheme"),
        ({"authentication": AuthenticationInfo(scheme="Bearer x")}, "authentication.scheme"),
        ({"authentication": AuthenticationInfo(scheme="Bearer", credentials="x\n")}, "authentication.credentials"),
        ({"authentication": AuthenticationInfo(scheme="Bearer", credentials="x\0")}, "authentication.credentials"),
    ],
    ids=str,
)
def test_what_cannot_stand_in_a_header_is_refused(members: dict[str, Any], field: str) -> None:
    given: dict[str, Any] = {"url": URL, **members}
    with pytest.raises(InvalidParamsError) as caught:
        check_members(TaskPushNotificationConfig(**given), "in.")
    assert [violation.field for violation in caught.value.violations] == [f"in.{field}"]
    assert "Evil" not in str(caught.value)


@pytest.mark.parametrize(
    "members",
    [
        {"token": "a b:c/d=="},
        {"token": ""},
        {"id": "a/b%c"},
        {"authentication": AuthenticationInfo(scheme="X-API-Key", credentials="k")},
        {"authentication": AuthenticationInfo(scheme="Basic", credentials="name:pass word")},
        {"authentication": AuthenticationInfo(scheme="Bearer")},
    ],
    ids=str,
)
def test_what_can_is_taken(members: dict[str, Any]) -> None:
    check_members(TaskPushNotificationConfig(url=URL, **members), "")


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://hook.example", "https://hook.example"),
        ("HTTPS://user:word@Hook.Example:443/path?a#b", "https://hook.example"),
        ("http://hook.example:80", "http://hook.example"),
        ("http://hook.example:443", "http://hook.example:443"),
        ("https://[FD00::1]:8443/", "https://[fd00::1]:8443"),
    ],
)
def test_an_origin_is_scheme_host_and_port_in_one_spelling(url: str, origin: str) -> None:
    assert origin_of(url) == origin
