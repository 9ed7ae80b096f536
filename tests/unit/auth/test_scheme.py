"""Schemes put together: what the card says, who is asked, and what those who are refused are told."""

import pytest

from dragoman.auth import ApiKey, Auth, Basic, Credentials, OwnScheme, Principal
from dragoman.errors import A2AError, ConfigurationError, PermissionDeniedError, UnauthenticatedError, UnavailableError
from dragoman.types.card import HTTPAuthSecurityScheme
from tests.behaviour.callers import PASSWORDS, basic


class Counted:
    """Lets in those who name themselves in a header of its own; those with a star have the scope."""

    def __init__(self) -> None:
        self.asked = 0

    def scheme(self, name: str) -> OwnScheme:
        async def knows(credentials: Credentials) -> Principal | None:
            self.asked += 1
            said = credentials.header(f"x-{name}")
            scopes = frozenset({"call"} if said and said.endswith("*") else ())
            return None if said is None else Principal(said.rstrip("*"), name, scopes)

        return OwnScheme(name, HTTPAuthSecurityScheme(scheme=name), knows, told=name, scopes=["call"])


COUNTED = Counted()
A, B, C = (COUNTED.scheme(name) for name in "abc")


async def outcome(auth: Auth, **headers: str) -> str:
    """Who it is, or what is told."""
    try:
        return (await auth.authenticate(Credentials({f"x-{name}": value for name, value in headers.items()}))).id
    except UnauthenticatedError as error:
        return f"401 {' '.join(error.challenges)}"
    except PermissionDeniedError as error:
        return f"403 {' '.join(error.challenges)}"


@pytest.mark.parametrize(
    ("auth", "names"),
    [
        (A, [["a"]]),
        (A | B | C, [["a"], ["b"], ["c"]]),
        (A & B, [["a", "b"]]),
        (A & B | C, [["a", "b"], ["c"]]),
        ((A | B) & C, [["a", "c"], ["b", "c"]]),
        (A & A | A, [["a"]]),
    ],
)
def test_any_combination_is_alternatives_of_schemes_that_apply_together(auth: Auth, names: list[list[str]]) -> None:
    assert [list(one) for one in auth.requirements] == names
    assert set(auth.schemes) == {name for several in names for name in several}
    assert auth.requirements[0]["a"] == ("call",)


@pytest.mark.parametrize(
    ("auth", "brought", "expected"),
    [
        (A | B, {"a": "ann*"}, "ann"),
        (A | B, {"b": "bob*"}, "bob"),
        (A | B, {"a": "ann*", "b": "bob*"}, "ann"),
        (A | B, {"a": "ann", "b": "bob*"}, "bob"),
        (A | B, {}, "401 a b"),
        (A | B, {"a": "ann"}, "403 a"),
        (A & B, {"a": "ann*", "b": "bob*"}, "ann"),
        (A & B, {"a": "ann*"}, "401 a b"),
        (A & B, {"a": "ann*", "b": "bob"}, "403 b"),
        (A & B, {"a": "ann"}, "401 a b"),
        (A & B, {"b": "bob*"}, "401 a b"),
        (A & B, {}, "401 a b"),
        (A & B | C, {"b": "bob*"}, "401 a b c"),
    ],
)
async def test_who_it_is_and_what_is_told(auth: Auth, brought: dict[str, str], expected: str) -> None:
    assert await outcome(auth, **brought) == expected


async def test_of_two_secrets_nobody_is_told_which_one_was_right() -> None:
    both = ApiKey({"alice": "alice-has-this-key"}) & Basic(PASSWORDS)
    told: set[tuple[str, ...]] = set()
    for key in ("alice-has-this-key", "made-up-by-somebody"):
        for word in ("alice's password", "made-up"):
            headers = {"x-api-key": key, **basic("alice", word)}
            if (key, word) != ("alice-has-this-key", "alice's password"):
                with pytest.raises(UnauthenticatedError) as caught:
                    await both.authenticate(Credentials(headers))
                told.add(caught.value.challenges)
    assert len(told) == 1
    assert len(told.pop()) == 2


async def test_a_scheme_that_cannot_tell_now_is_passed_over_but_is_no_refusal() -> None:
    async def down(_: Credentials) -> str:
        raise UnavailableError

    d = OwnScheme("d", HTTPAuthSecurityScheme(scheme="d"), down, told="d")
    assert await outcome(d | A, a="ann*") == "ann"
    for auth in (d | A, A | d, A & d, d & A):
        with pytest.raises(UnavailableError):
            await outcome(auth)


async def test_a_scheme_of_several_alternatives_is_asked_once() -> None:
    before = COUNTED.asked
    assert await outcome(A & B | A & C, a="ann*", c="cid*") == "ann"
    assert COUNTED.asked - before == 3


def test_two_schemes_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="name="):
        _ = ApiKey({}) | ApiKey({}, query="key")
    assert list((ApiKey({}) | ApiKey({}, query="key", name="other")).schemes) == ["apiKey", "other"]


async def test_the_name_of_a_principal_is_not_empty() -> None:
    async def knows(_: Credentials) -> str:
        return ""

    own = OwnScheme("own", HTTPAuthSecurityScheme(scheme="own"), knows, told="own")
    with pytest.raises(A2AError):
        await own.authenticate(Credentials())


def test_nothing_of_what_a_request_brings_is_shown() -> None:
    credentials = Credentials({"authorization": "secret"}, "key=secret")
    principal = Principal("alice", "bearer", frozenset(), {"email": "secret"})
    assert "secret" not in f"{credentials!r} {principal!r} {[credentials, principal]} {A | B & C}"


@pytest.mark.parametrize(
    ("credentials", "found"),
    [
        (Credentials(query="key=a%20b&other=1"), ("a b", None)),
        (Credentials(query="key=a&key=b"), (None, None)),
        (Credentials(query="&".join(["x=1"] * 200) + "&key=a"), (None, None)),
        (Credentials({"cookie": "a=b; key=c; keys=d"}), (None, "c")),
        (Credentials({"cookie": 'key="c"'}), (None, "c")),
        (Credentials({"cookie": "key=c; key=d"}), (None, None)),
        (Credentials({"cookie": ";;=;key"}), (None, "")),
    ],
)
def test_what_stands_in_query_and_cookies(credentials: Credentials, found: tuple[str | None, str | None]) -> None:
    assert (credentials.parameter("key"), credentials.cookie("key")) == found


@pytest.mark.parametrize("told", ["Bearer x", "bearer  x", " BEARER x "])
def test_the_name_of_an_http_scheme_is_in_any_case(told: str) -> None:
    assert Credentials({"authorization": told}).authorization("Bearer") == "x"
    assert Credentials({"authorization": told}).authorization("Basic") is None
