"""What callers may say for `auth`."""

import threading
from typing import Any

import pytest

from dragoman.client import Environment, Login, Need, Secret
from dragoman.client.login.sources import login_of
from dragoman.errors import ConfigurationError
from dragoman.types.card import HTTPAuthSecurityScheme


def need(name: str = "corp-key", *, scheme: str = "bearer", alone: bool = True) -> Need:
    described = HTTPAuthSecurityScheme(scheme=scheme)
    return Need(name=name, scheme=described, origin="https://a.example", agent="https://a.example", alone=alone)


async def given(login: Login, asked: Need, refused: str | None = None) -> str | None:
    """What it gives, if it says that it might."""
    if not login.takes(asked):
        return "not taken"
    secret = await login.credentials(asked, refused=None if refused is None else Secret(refused))
    return None if secret is None else secret.value


def nothing(_: Need) -> None:
    """Has no credentials."""


@pytest.mark.parametrize("auth", ["s", Secret("s"), ["s"], [{"other": "x"}, "s"]])
async def test_one_secret_is_for_what_is_asked_for_alone(auth: Any) -> None:
    login = login_of(auth)
    assert await given(login, need()) == "s"
    assert await given(login, need(alone=False)) == "not taken"
    assert await given(login, need(), refused="s") is None


async def test_a_secret_without_a_colon_is_no_name_and_password() -> None:
    assert await given(login_of("token"), need(scheme="Basic")) == "not taken"
    assert await given(login_of("alice:pw"), need(scheme="Basic")) == "alice:pw"


async def test_by_name_each_scheme_has_its_own() -> None:
    async def called(asked: Need) -> str:
        return f"for {asked.name}"

    login = login_of({"a": "one", "b": called, "c": Environment({"DRAGOMAN_TOKEN_C": "two"})})
    assert [await given(login, need(name, alone=False)) for name in "abcd"] == ["one", "for b", "two", "not taken"]
    assert await login.credentials(need("d")) is None
    assert await given(login, need("a"), refused="one") is None


async def test_functions_are_called_in_a_thread_unless_they_are_coroutines() -> None:
    threads: list[int] = []

    def plain(_: Need) -> Secret:
        threads.append(threading.get_ident())
        return Secret("plain")

    class Object:
        async def __call__(self, _: Need) -> str:
            threads.append(threading.get_ident())
            return "object"

    assert await given(login_of(plain), need()) == "plain"
    assert await given(login_of(Object()), need()) == "object"
    assert await given(login_of(nothing), need()) is None
    assert await given(login_of(plain), need(), refused="plain") is None
    assert threads[0] != threading.get_ident() == threads[1]


@pytest.mark.parametrize("given_by_it", [42, b"secret", ["secret"]])
async def test_a_function_that_gives_no_secret_is_told_so(given_by_it: Any) -> None:
    def wrong(_: Need) -> Any:
        return given_by_it

    with pytest.raises(ConfigurationError, match=f"not {type(given_by_it).__name__}"):
        await given(login_of(wrong), need())
    assert await given(login_of(lambda _: ""), need()) is None
    assert await given(login_of(lambda _: Secret("")), need()) is None


def test_bytes_are_no_secret() -> None:
    with pytest.raises(ConfigurationError, match="not bytes"):
        login_of(b"secret")  # type: ignore[arg-type]  # what the test is about


async def test_of_several_the_first_that_has_something_new_counts() -> None:
    changing = iter(["two", "three"])

    def changed(_: Need) -> str | None:
        return next(changing, None)

    login = login_of([nothing, "one", {"corp-key": changed}])
    assert await given(login, need()) == "one"
    assert await given(login, need(), refused="one") == "two"
    assert await given(login, need(), refused="two") == "three"
    assert await given(login, need(), refused="three") is None
    assert await given(login, need()) == "one"
    assert await given(login_of([]), need()) == "not taken"


async def test_the_environment_has_them_by_the_names_of_schemes(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"DRAGOMAN_TOKEN": " any\n", "DRAGOMAN_TOKEN_CORP_KEY": "own", "DRAGOMAN_TOKEN_EMPTY": "  "}
    login = Environment(variables)
    assert await given(login, need()) == "own"
    assert await given(login, need(), refused="own") is None
    assert await given(login, need("empty")) == "any"
    assert await given(login, need("other")) == "any"
    assert await given(login, need("other", alone=False)) == "not taken"
    assert await given(login, need("other", scheme="basic")) == "not taken"
    assert await Environment({}).credentials(need()) is None
    monkeypatch.setenv("DRAGOMAN_TOKEN", "of the process")
    assert await given(Environment(), need()) == "of the process"


@pytest.mark.parametrize("auth", [5, b"s", None, object(), Environment, [5], {"a": None}, "", {"a": ""}])
def test_what_is_none_of_these_is_refused_without_repeating_it(auth: Any) -> None:
    with pytest.raises(ConfigurationError) as raised:
        login_of(auth)
    assert "b's'" not in str(raised.value)
