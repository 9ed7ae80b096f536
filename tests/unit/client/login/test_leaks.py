"""What must never reach another server, which keeps what it is sent. Each guard is taken away once, to see it go."""

import json
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from dragoman import TransportError, connect
from dragoman.client import CredentialsWithheld
from dragoman.client.login import identity
from dragoman.client.login.origins import Origins
from dragoman.dialects.card import decode_card
from dragoman.errors import ConnectFailed, DragomanError, ReplyMalformed, UnauthenticatedError
from dragoman.types import GetTaskRequest
from tests.unit.client.scripted import Script, error, events, message, plain, result, scripted, task

SECRET = "the-secret-of-alice"
AUTH: dict[str, Any] = {"auth": SECRET}
GET = GetTaskRequest(id="t-1")
DONE = result(task("COMPLETED", "done"))
BEARER = {"token": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
QUERY = {"token": {"apiKeySecurityScheme": {"location": "query", "name": "key"}}}
ASKED: list[dict[str, Any]] = [{"schemes": {"token": {"list": []}}}]

Unguard = Callable[[], None]


@pytest.fixture
async def evil() -> AsyncIterator[Script]:
    """Another server, which answers as well as the agent."""
    async with scripted() as script:
        script.answers |= {"GetTask": [DONE], "SendStreamingMessage": [events({"message": message("hi")})]}
        yield script


@pytest.fixture
def unguard(monkeypatch: pytest.MonkeyPatch) -> Unguard:
    """Takes away what keeps credentials at home."""

    def never(*_: object) -> str:
        return ""

    def always(*_: object) -> bool:
        return True

    def one(_: str) -> str:
        return "anywhere"

    def taken_away() -> None:
        monkeypatch.setattr(Origins, "refusal", never)
        monkeypatch.setattr(Origins, "are_of", always)
        monkeypatch.setattr("dragoman.client.transport.origin_of", one)

    return taken_away


def interface(url: str, binding: str = "JSONRPC") -> dict[str, str]:
    return {"url": url, "protocolBinding": binding, "protocolVersion": "1.0"}


def offer(agent: Script, *urls: str, schemes: Any = BEARER, asked: Any = ASKED, binding: str = "JSONRPC") -> None:
    interfaces = [interface(url, binding) for url in urls]
    agent.offer(supportedInterfaces=interfaces, securitySchemes=schemes, securityRequirements=asked)


def saw(server: Script) -> bool:
    """Whether the server was sent the secret, anywhere in any request."""
    return any(SECRET in f"{seen.target} {dict(seen.headers)} {seen.body!r}" for seen in server.seen)


async def get(agent: Script, **options: Any) -> None:
    async with connect(agent.url, **{**AUTH, **options}) as client:
        await client.get_task(GET)


async def test_at_home_the_credential_is_sent_to_no_more_than_the_agent(agent: Script) -> None:
    offer(agent, f"{agent.url}/rpc")
    agent.answers["GetTask"] = [DONE]
    await get(agent)
    card, call = agent.seen
    assert "authorization" not in card.headers
    assert call.headers["authorization"] == f"Bearer {SECRET}"


async def test_an_interface_at_another_origin_gets_none(agent: Script, evil: Script, unguard: Unguard) -> None:
    offer(agent, f"{evil.url}/rpc")
    with pytest.raises(CredentialsWithheld, match="credential_origins") as raised:
        await get(agent)
    assert raised.value.origin == evil.url
    assert evil.seen == []
    await get(agent, credential_origins=[evil.url])
    assert saw(evil)
    evil.seen.clear()
    unguard()
    await get(agent)
    assert saw(evil)


@pytest.mark.parametrize("reference", ["http://localhost:{home}@127.0.0.1:{evil}/rpc", "http://localhost:{home}/rpc"])
async def test_what_looks_like_home_is_not(agent: Script, evil: Script, reference: str) -> None:
    offer(agent, reference.format(home=agent.port, evil=evil.port))
    with pytest.raises(CredentialsWithheld):
        await get(agent)
    assert (saw(agent), saw(evil)) == (False, False)


async def test_over_grpc_it_is_the_same(agent: Script, evil: Script) -> None:
    offer(agent, f"grpc://127.0.0.1:{evil.port}", binding="GRPC")
    with pytest.raises(CredentialsWithheld):
        await get(agent)
    assert evil.connections == 0


async def test_an_interface_elsewhere_is_passed_over_if_there_is_one_at_home(agent: Script, evil: Script) -> None:
    offer(agent, f"{evil.url}/rpc", f"{agent.url}/rpc")
    agent.answers["GetTask"] = [DONE]
    await get(agent)
    assert evil.seen == []
    async with connect(agent.url) as client:
        await client.get_task(GET)
    assert [seen.name for seen in evil.seen] == ["GetTask"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "call"])
async def test_no_redirect_takes_it_along(
    agent: Script, evil: Script, unguard: Unguard, status: int, streaming: bool
) -> None:
    async def called() -> None:
        async with connect(agent.url, auth=SECRET) as client:
            if streaming:
                await client.ask("go")
            else:
                await client.get_task(GET)

    offer(agent, f"{agent.url}/rpc")
    agent.answers["GetTask"] = agent.answers["SendStreamingMessage"] = [plain(b"", status, location=f"{evil.url}/rpc")]
    with pytest.raises(TransportError):
        await called()
    assert saw(agent)
    assert evil.seen == []
    unguard()
    if status in {307, 308}:
        await called()
        assert saw(evil)


async def test_a_redirect_of_the_card_takes_no_header_along(agent: Script, evil: Script, unguard: Unguard) -> None:
    agent.answers["GET /.well-known/agent-card.json"] = [plain(b"", 302, location=f"{evil.url}/card.json")]
    evil.answers["GET /card.json"] = evil.answers["GET /.well-known/agent-card.json"]
    with pytest.raises(ReplyMalformed, match="another origin"):
        await get(agent, auth=None, headers={"x-key": SECRET})
    assert evil.seen == []
    unguard()
    await get(agent, auth=None, headers={"x-key": SECRET})
    assert saw(evil)


async def test_no_redirect_between_places_that_have_no_origin_is_followed(agent: Script, evil: Script) -> None:
    offer(agent, f"http://alice:{SECRET}@127.0.0.1:{agent.port}/rpc")
    agent.answers["GetTask"] = [plain(b"", 307, location=f"http://alice@127.0.0.1:{evil.port}/rpc")]
    with pytest.raises(ReplyMalformed, match="another origin") as raised:
        await get(agent, auth=None)
    assert evil.seen == []
    assert [text for text in all_of(raised.value) if SECRET in text] == []


async def test_own_headers_stay_at_home_unless_they_are_known_to_be_harmless(
    agent: Script, evil: Script, unguard: Unguard
) -> None:
    offer(agent, f"{evil.url}/rpc", asked=[])
    for name in ("authorization", "cookie", "x-own-thing"):
        with pytest.raises(CredentialsWithheld, match=name):
            await get(agent, auth=None, headers={name: SECRET})
    assert evil.seen == []
    await get(agent, auth=None, headers=dict.fromkeys(identity.HARMLESS - {"a2a-extensions"}, "harmless"))
    assert evil.seen[0].headers["traceparent"] == "harmless"
    unguard()
    await get(agent, auth=None, headers={"x-own-thing": SECRET})
    assert saw(evil)


async def test_an_agent_elsewhere_that_asks_although_its_card_does_not_gets_none(agent: Script, evil: Script) -> None:
    offer(agent, f"{evil.url}/rpc", asked=[])
    evil.answers["GetTask"] = [error(-32000, "UNAUTHENTICATED")]
    with pytest.raises(CredentialsWithheld):
        await get(agent)
    assert [seen.name for seen in evil.seen] == ["GetTask"]
    assert not saw(evil)


async def test_a_card_that_changes_its_mind_gets_none(agent: Script, evil: Script, unguard: Unguard) -> None:
    offer(agent, f"{agent.url}/rpc")
    agent.answers["GetTask"] = [DONE]
    async with connect(agent.url, auth=SECRET) as client:
        await client.get_task(GET)
        offer(agent, f"{evil.url}/rpc")
        await client.card()
        with pytest.raises(CredentialsWithheld):
            await client.get_task(GET)
        assert evil.seen == []
    unguard()
    await get(agent)
    assert saw(evil)


async def test_nobody_follows_the_url_in_a_part_unasked_and_then_without_it(agent: Script, evil: Script) -> None:
    offer(agent, f"{agent.url}/rpc")
    answer = {**task("COMPLETED"), "artifacts": [{"artifactId": "a", "parts": [{"url": f"{evil.url}/file.png"}]}]}
    agent.answers |= {"GetTask": [result(answer)], "SendStreamingMessage": [events({"task": answer})]}
    async with connect(agent.url, auth=SECRET, headers={"x-own": SECRET}) as client:
        await client.ask("go")
        found = await client.get_task(GET)
        assert evil.connections == 0
        evil.answers["GET /file.png"] = [plain(b"a picture")]
        assert (await client.fetch(found.artifacts[0].parts[0])) == b"a picture"
    assert [seen.name for seen in evil.seen] == ["GET /file.png"]
    assert not saw(evil)


async def test_a_card_from_a_place_that_has_no_origin_is_at_home_nowhere(agent: Script, evil: Script) -> None:
    offer(agent, f"{evil.url}/rpc")
    async with connect(f"http://alice@127.0.0.1:{agent.port}", auth=SECRET) as client:
        with pytest.raises(CredentialsWithheld):
            await client.get_task(GET)
    assert evil.seen == []


async def test_a_card_at_hand_with_two_homes_has_none(agent: Script, evil: Script) -> None:
    offer(agent, f"{agent.url}/rpc", f"{evil.url}/rpc")
    card = decode_card(json.dumps(agent.card).encode())
    async with connect(card, auth=SECRET) as client:
        with pytest.raises(CredentialsWithheld, match="several places"):
            await client.get_task(GET)
    agent.answers["GetTask"] = [DONE]
    async with connect(card, auth=SECRET, credential_origins=[agent.url]) as client:
        await client.get_task(GET)
    assert (saw(agent), saw(evil)) == (True, False)


async def test_without_tls_it_stays_on_this_machine(agent: Script) -> None:
    offer(agent, "http://agent.invalid/rpc")
    card = decode_card(json.dumps(agent.card).encode())
    async with connect(card, auth=SECRET) as client:
        with pytest.raises(CredentialsWithheld, match="without TLS"):
            await client.get_task(GET)
    async with connect(card, auth=SECRET, credential_origins=["http://agent.invalid"]) as client:
        with pytest.raises(ConnectFailed):
            await client.get_task(GET)


async def test_no_error_and_no_log_tells_a_key_in_the_query(agent: Script, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[str] = []
    for answer in (
        plain(b"no json at all"),
        plain(b"{}", 500),
        plain(b"", 307, location="http://evil.invalid/?" + SECRET),
        plain(b"", 307, location="/rpc?key=" + SECRET),
        error(-32000, "UNAUTHENTICATED"),
    ):
        offer(agent, f"{agent.url}/rpc", schemes=QUERY)
        agent.answers["GET /rpc"] = agent.answers["GetTask"] = [answer]
        with pytest.raises(DragomanError) as raised:
            await get(agent)
        told += all_of(raised.value)
    offer(agent, "http://127.0.0.1:1/rpc", schemes=QUERY)
    card = decode_card(json.dumps(agent.card).encode())
    async with connect(card, auth=SECRET) as client:
        with pytest.raises(ConnectFailed) as failed:
            await client.get_task(GET)
    told += all_of(failed.value)
    assert saw(agent)
    assert [text for text in told if SECRET in text] == []
    assert SECRET not in caplog.text


def all_of(error: BaseException | None) -> list[str]:
    """What would be printed of an exception and of those behind it."""
    told: list[str] = []
    while error is not None:
        told += [str(error), repr(error), *getattr(error, "__notes__", [])]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return told


async def test_a_broken_answer_tells_no_key_either(agent: Script) -> None:
    async def garbage(exchange: Any) -> None:
        await exchange.write(b"HTTP/1.1 200 OK\r\ncontent-length: nonsense\r\n\r\n")
        exchange.keep = False

    offer(agent, f"{agent.url}/rpc", schemes=QUERY)
    agent.answers["GetTask"] = [garbage]
    with pytest.raises(TransportError) as raised:
        await get(agent)
    assert saw(agent)
    assert [text for text in all_of(raised.value) if SECRET in text] == []


async def test_the_refusal_of_a_secret_that_cannot_be_renewed_is_the_agents(agent: Script) -> None:
    offer(agent, f"{agent.url}/rpc")
    agent.answers["GetTask"] = [plain(b"<html>go away</html>", 401, www_authenticate='Bearer error="invalid_token"')]
    async with connect(agent.url, auth=SECRET) as client:
        for _ in range(2):
            with pytest.raises(UnauthenticatedError) as raised:
                await client.get_task(GET)
            assert raised.value.challenges == ('Bearer error="invalid_token"',)
    assert agent.names() == ["GetTask"] * 2
