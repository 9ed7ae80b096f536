"""Users who are asked: pages that come back, codes of devices, and what is sent to a browser or not."""

import asyncio
import base64
import json
import webbrowser
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from dragoman.client.login.oauth import LoginFailed, OAuth, TokenCache, Visit
from dragoman.client.login.oauth.callback import waiting_for_callback
from dragoman.client.login.oauth.visit import in_browser
from dragoman.types.card import AuthorizationCodeOAuthFlow, DeviceCodeOAuthFlow
from tests.unit.client.login.oauth.scripted import NOTHING, TOKEN, Answer, Scripted, need_of, openid_at

DEVICE: dict[str, Any] = {
    "device_code": "d-secret-1",
    "user_code": "WDJB-MJHT",
    "verification_uri": "https://idp.example/device",
    "expires_in": 1800,
}
PENDING: Answer = (400, {"error": "authorization_pending"})


class Clock:
    def __init__(self) -> None:
        self.time = 1000.0
        self.pauses: list[float] = []

    def now(self) -> float:
        return self.time

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.time += seconds


def by_device(provider: Scripted) -> Any:
    urls = {"device_authorization_url": f"{provider.base}/device", "token_url": f"{provider.base}/token"}
    return need_of(DeviceCodeOAuthFlow(scopes={}, **urls))


def logging_in(cache: TokenCache, clock: Clock, seen: list[Visit], **options: Any) -> OAuth:
    async def show(visit: Visit) -> None:
        seen.append(visit)

    return OAuth("app", interactive=True, show=show, cache=cache, now=clock.now, pause=clock.pause, **options)


@pytest.mark.parametrize(
    ("answers", "told", "pauses"),
    [
        ([(200, TOKEN)], NOTHING, [5.0]),
        ([PENDING, PENDING, (200, TOKEN)], {"interval": 7}, [7.0, 7.0, 7.0]),
        ([PENDING, (400, {"error": "slow_down"}), PENDING, (200, TOKEN)], NOTHING, [5.0, 5.0, 10.0, 10.0]),
        ([(400, {"error": "slow_down"})] * 2 + [(200, TOKEN)], {"interval": 1}, [1.0, 6.0, 11.0]),
        ([(503, NOTHING), (200, TOKEN)], NOTHING, [5.0, 10.0]),
        ([(200, TOKEN)], {"interval": 0}, [1.0]),
    ],
)
async def test_the_pace_of_questions_is_the_providers(
    provider: Scripted, cache: TokenCache, answers: list[Answer], told: dict[str, Any], pauses: list[float]
) -> None:
    clock, seen = Clock(), list[Visit]()
    provider.says("/device", (200, DEVICE | told))
    provider.says("/token", *answers)
    secret = await logging_in(cache, clock, seen).credentials(by_device(provider))
    assert secret is not None
    assert clock.pauses == pauses
    assert [form["device_code"] for form in provider.asked("/token")] == ["d-secret-1"] * len(answers)
    assert seen[0].words() == "To log in, open https://idp.example/device and enter the code WDJB-MJHT"
    assert "d-secret-1" not in repr(seen)


async def test_a_code_that_nobody_enters_expires(provider: Scripted, cache: TokenCache) -> None:
    clock = Clock()
    provider.says("/device", (200, DEVICE | {"expires_in": 12}))
    provider.says("/token", PENDING)
    with pytest.raises(LoginFailed) as caught:
        await logging_in(cache, clock, []).credentials(by_device(provider))
    assert caught.value.code == "expired_token"
    assert clock.pauses == [5.0, 5.0]


async def test_patience_ends_before_an_endless_code(provider: Scripted, cache: TokenCache) -> None:
    clock = Clock()
    provider.says("/device", (200, DEVICE | {"expires_in": 1e12}))
    provider.says("/token", PENDING)
    with pytest.raises(LoginFailed):
        await logging_in(cache, clock, [], patience=20.0).credentials(by_device(provider))
    assert len(clock.pauses) == 3


@pytest.mark.parametrize("code", ["access_denied", "expired_token", "invalid_grant", "unknown_word"])
async def test_other_words_end_the_login(provider: Scripted, cache: TokenCache, code: str) -> None:
    clock = Clock()
    provider.says("/device", (200, DEVICE))
    provider.says("/token", PENDING, (400, {"error": code, "error_description": "of d-secret-1"}))
    with pytest.raises(LoginFailed) as caught:
        await logging_in(cache, clock, []).credentials(by_device(provider))
    assert caught.value.code == code
    assert "d-secret-1" not in str(caught.value)
    assert len(clock.pauses) == 2


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((400, {"error": "invalid_scope"}), "invalid_scope"),
        ((200, NOTHING), "is none"),
        ((200, DEVICE | {"verification_uri": "http://idp.example/device"}), "not https"),
        ((200, DEVICE | {"verification_uri_complete": "javascript:alert(1)"}), "cannot be used"),
        ((200, DEVICE | {"interval": "soon"}), "is none"),
    ],
)
async def test_pages_for_users_are_looked_at(provider: Scripted, cache: TokenCache, answer: Answer, words: str) -> None:
    clock, seen = Clock(), list[Visit]()
    provider.says("/device", answer)
    with pytest.raises(LoginFailed, match=words):
        await logging_in(cache, clock, seen).credentials(by_device(provider))
    assert seen == []
    assert provider.asked("/token") == []


async def test_the_older_name_of_the_page_and_odd_codes_are_read(provider: Scripted, cache: TokenCache) -> None:
    clock, seen = Clock(), list[Visit]()
    older = {name: value for name, value in DEVICE.items() if name != "verification_uri"}
    provider.says("/device", (200, older | {"verification_url": "https://idp.example/d", "user_code": "A\x1b[2JB"}))
    provider.says("/token", (200, TOKEN))
    await logging_in(cache, clock, seen).credentials(by_device(provider))
    assert (seen[0].url, seen[0].code) == ("https://idp.example/d", "A [2JB")


async def test_what_keeps_a_login_is_asked_for_where_the_provider_has_it(provider: Scripted, cache: TokenCache) -> None:
    asked: list[dict[str, list[str]]] = []

    async def show(visit: Visit) -> None:
        asked.append(parse_qs(urlsplit(visit.url).query))
        query = asked[-1]
        await fetched(query["redirect_uri"][0], f"error=access_denied&state={query['state'][0]}")

    place = "/.well-known/openid-configuration"
    told = provider.metadata(
        scopes_supported=["openid", "offline_access"], authorization_endpoint=f"{provider.base}/a?x=1"
    )
    provider.says(place, (200, told))
    login = OAuth("app", interactive=True, show=show, cache=cache)
    with pytest.raises(LoginFailed) as caught:
        await login.credentials(openid_at(provider.base + place))
    assert caught.value.code == "access_denied"
    assert asked[0]["x"] == ["1"]
    assert asked[0]["scope"] == ["chat openid offline_access"]
    assert asked[0]["prompt"] == ["consent"]
    assert len(asked[0]["nonce"][0]) >= 32
    assert len(asked[0]["state"][0]) >= 43
    assert len(asked[0]["code_challenge"][0]) == 43


@pytest.mark.parametrize("nonce", ["theirs", "ours"])
async def test_an_id_token_of_another_login_is_refused(provider: Scripted, cache: TokenCache, nonce: str) -> None:
    async def show(visit: Visit) -> None:
        query = {name: values[0] for name, values in parse_qs(urlsplit(visit.url).query).items()}
        claims = {"iss": provider.base, "aud": "app", "exp": 4e9, "sub": "alice"}
        told = {"nonce": query["nonce"] if nonce == "ours" else nonce}
        coded = base64.urlsafe_b64encode(json.dumps(claims | told).encode()).decode().rstrip("=")
        provider.says("/token", (200, TOKEN | {"id_token": f"e30.{coded}.c2ln"}))
        await fetched(query["redirect_uri"], f"code=c&state={query['state']}")

    place = "/.well-known/openid-configuration"
    provider.says(place, (200, provider.metadata()))
    login = OAuth("app", interactive=True, show=show, cache=cache)
    if nonce == "ours":
        assert (await login.login(openid_at(provider.base + place))).token.subject == "alice"
    else:
        with pytest.raises(LoginFailed, match="another login"):
            await login.login(openid_at(provider.base + place))


async def fetched(url: str, query: str, **head: str) -> str:
    parts = urlsplit(url)
    host = head.pop("host", parts.netloc)
    method = head.pop("method", "GET")
    return await raw(parts.port or 0, f"{method} {parts.path}?{query} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())


async def raw(port: int, request: bytes) -> str:
    """The first line of the answer, and nothing if there is none."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        async with asyncio.timeout(10):
            return (await reader.read()).decode().partition("\r\n")[0]
    except ConnectionError:
        return ""
    finally:
        writer.close()


async def test_only_what_was_asked_for_is_taken_from_a_browser() -> None:
    async with waiting_for_callback("s1") as callback:
        port = urlsplit(callback.url).port or 0
        strange = [
            await fetched(callback.url, "code=c&state=s2"),
            await fetched(callback.url, "code=c&state=s1&state=s1"),
            await fetched(callback.url, "code=c&code=d&state=s1"),
            await fetched(callback.url, "&".join(f"a{n}=1" for n in range(30)) + "&state=s1"),
            await fetched(callback.url, "code=c&state=s1", host="rebound.example"),
            await fetched(callback.url, "code=c&state=s1", host=f"localhost:{port}"),
            await fetched(callback.url, "code=c&state=s1", method="POST"),
            await fetched(f"http://127.0.0.1:{port}/other", "code=c&state=s1"),
            await raw(port, b"GET /callback?code=c&state=s1 HTTP/1.1\r\n\r\n"),
            await raw(port, b"GET /callback?" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n"),
            await raw(port, b"\x16\x03\x01\x00\r\n\r\n"),
        ]
        assert [line.split(" ")[1] if line else "" for line in strange] == [
            *["400"] * 4,
            *["404"] * 2,
            "405",
            *["404"] * 2,
            "",
            "404",
        ]
        assert not callback.told.done()
        assert await fetched(callback.url, "code=c%2B1&state=s1&iss=https%3A%2F%2Fidp") == "HTTP/1.1 200 OK"
        assert await callback.told == {"code": "c+1", "state": "s1", "iss": "https://idp"}
        assert (await fetched(callback.url, "code=d&state=s1")).endswith("OK")
        assert callback.told.result()["code"] == "c+1"
    with pytest.raises(OSError, match="onnect"):
        await raw(port, b"")


async def test_nobody_who_logs_in_is_waited_for_as_long_as_patience_lasts(
    provider: Scripted, cache: TokenCache
) -> None:
    page, token = f"{provider.base}/auth", f"{provider.base}/token"
    flow = AuthorizationCodeOAuthFlow(authorization_url=page, token_url=token, scopes={})
    seen: list[Visit] = []
    login = logging_in(cache, Clock(), seen, patience=0.01)
    with pytest.raises(LoginFailed, match=r"within 0\.01 s"):
        await login.credentials(need_of(flow))
    assert len(seen) == 1
    assert provider.forms == []


async def test_a_page_is_opened_in_the_browser_and_told_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    await in_browser(Visit(url="https://idp.example/a", seconds=1.0))
    complete = "https://idp.example/d?code=X"
    await in_browser(Visit(url="https://idp.example/d", code="X", complete_url=complete, seconds=1.0))
    assert opened == ["https://idp.example/a", complete]
    assert "open https://idp.example/d and enter the code X" in capsys.readouterr().err
