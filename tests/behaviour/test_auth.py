"""Callers that must be known: by every kind of scheme, in every cell, and what is said to all others."""

import json
import logging
from typing import Any

import pytest

from dragoman import Agent, TaskContext
from dragoman.auth import ApiKey, Basic, Bearer, OwnScheme, Principal
from dragoman.dialects.base import HttpRequest
from dragoman.hosts.run import Serving
from dragoman.types.card import HTTPAuthSecurityScheme
from tests.behaviour.agents import echo, obedient
from tests.behaviour.callers import ATTEMPTS, PASSWORDS, SECRETS, Attempt, basic, keyed, schemes
from tests.behaviour.cells import NO_LISTS, OVER_GRPC, OVER_HTTP, Cell, only
from tests.behaviour.issued import HOWS, KINDS, Issued
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import ROUTES, Serve, Start, Wire, card_of, message, refused
from tests.idp.process import IdentityProvider
from tests.unit.auth.tokens import AUDIENCE, ISSUER, JWKS, bearer

PARAMS: dict[str, dict[str, Any]] = {
    "SendMessage": {"message": message()},
    "SendStreamingMessage": {"message": message()},
    "ListTasks": {},
    "CreateTaskPushNotificationConfig": {"taskId": "t", "url": "https://hooks.example/", "id": "c"},
    "GetTaskPushNotificationConfig": {"taskId": "t", "id": "c"},
    "ListTaskPushNotificationConfigs": {"taskId": "t"},
    "DeleteTaskPushNotificationConfig": {"taskId": "t", "id": "c"},
    "GetExtendedAgentCard": {},
}


@requirement("R-7.4-01", "R-7.4-02", "R-7.4-03", "R-13.3-02", "R-13.4-08", "R-14.1-05", "R-5.1-04")
@requirement("R-3.3.2-03", "R-3.3.2-04", "R-3.3.2-05", "R-3.3.2-06", "R-3.3.2-07")
@pytest.mark.parametrize("attempt", ATTEMPTS, ids=str)
async def test_who_is_let_in_and_what_the_others_are_told(
    serve: Serve, cell: Cell, attempt: Attempt, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []
    wire = await serve(hearing(heard, schemes()[attempt.scheme]))
    reason = "UNAUTHENTICATED" if attempt.query and cell in OVER_GRPC else attempt.reason
    how = {"headers": attempt.headers, "query": attempt.query}
    await held_to(wire, how, (reason, attempt.challenge), heard, caplog)


@pytest.fixture(scope="session")
def issued(idp: IdentityProvider) -> Issued:
    return Issued(idp)


@requirement("R-7.4-01", "R-7.4-02", "R-7.4-03", "R-13.3-02", "R-14.1-05")
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("kind", KINDS)
async def test_who_is_let_in_with_tokens_of_a_provider_and_what_the_others_are_told(
    serve: Serve, issued: Issued, kind: str, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []
    wire = await serve(hearing(heard, issued.scheme(kind)))
    await held_to(wire, {"headers": issued.headers(kind, how)}, HOWS[how], heard, caplog)


def hearing(heard: list[str], auth: Any) -> Agent:
    """An agent that tells what it has heard."""
    agent = Agent("Hearing", "Listens.", auth=auth, store="memory")

    @agent.skill(tags=["demo"])
    async def listen(task: TaskContext) -> str:
        """Listen."""
        heard.append(task.text)
        return task.text

    return agent


async def held_to(
    wire: Wire, how: dict[str, Any], refusal: tuple[str, str], heard: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Sends a message so, and sees that it is refused for this reason with this challenge, before anything has run; or
    that it is not, if there is no reason. No secret is told, nor logged.
    """
    caplog.set_level(logging.DEBUG)
    reason, challenge = refusal
    secrets = [*SECRETS, *how["headers"].values()]
    if not reason:
        assert (await wire.send("hello", **how))["status"]["state"] == "TASK_STATE_COMPLETED"
    else:
        with refused(reason) as caught:
            await wire.send("hello", **how)
        assert caught.value.reply.headers["www-authenticate"] == challenge
        assert ("call" in caught.value.text) == (reason == "PERMISSION_DENIED")
        assert [secret for secret in secrets if secret in caught.value.told] == []
    assert heard == ([] if reason else ["hello"])
    assert [secret for secret in secrets if secret in caplog.text] == []


@requirement("R-7.4-01", "R-13.1-02", "R-13.3-01", "R-13.3-06", "R-14.3-05")
@pytest.mark.parametrize("operation", ROUTES)
async def test_no_operation_is_open(serve: Serve, cell: Cell, operation: str) -> None:
    if operation == "ListTasks" and cell in NO_LISTS.cells:
        return
    wire = await serve(obedient(auth=ApiKey({"alice": "alice-has-this-key"}), extended_card=echo().card))
    params = PARAMS.get(operation, {"id": "t"})
    with refused("UNAUTHENTICATED"):
        await wire.call(operation, params)
    if operation in {"GetTask", "SubscribeToTask"}:
        with refused("TASK_NOT_FOUND"):
            await wire.call(operation, params, headers=keyed("alice"))


@requirement("R-7.4-01")
async def test_nobody_is_asked_for_what_is_public(started: Start) -> None:
    bridge = await started(echo(auth=schemes()["bearer"]).asgi())
    for path in ("/.well-known/agent-card.json", "/.well-known/agent.json", "/healthz", "/readyz"):
        assert (await bridge.send(HttpRequest("GET", path, headers={"host": "agent.example"}))).status == 200
    assert (await bridge.send(HttpRequest("GET", "/.well-known/jwks.json"))).status == 404


@only(*OVER_HTTP)
async def test_nothing_of_a_body_is_told_to_strangers(serve: Serve) -> None:
    wire = await serve(echo(auth=schemes()["basic"]))
    for body in (b"", b"{", b'{"method": "GetTask"}', b"[" * 100_000, b'{"id":' * 50_000):
        request = wire.request("SendMessage", {"message": message()})
        reply = await wire.send_raw(HttpRequest("POST", request.path, "", request.headers, body))
        assert (reply.status, reply.headers["www-authenticate"][:5]) == (401, "Basic")


COMBINED = Bearer(issuer=ISSUER, audience=AUDIENCE, keys=JWKS, scopes=["call"]) | Basic(PASSWORDS) & ApiKey(
    {"alice": "alice-has-this-key"}
)


@requirement("R-7.4-01", "R-7.4-03")
async def test_any_alternative_is_enough_and_all_of_it_is_needed(serve: Serve) -> None:
    wire = await serve(echo(auth=COMBINED))
    password = basic("bob", "bob's password")
    await wire.send("hello", headers=bearer())
    await wire.send("hello", headers=password | keyed("alice"))
    for lacking in (password, keyed("alice"), {}):
        with refused("UNAUTHENTICATED") as caught:
            await wire.send("hello", headers=lacking)
        told = caught.value.reply.headers["www-authenticate"]
        # Which one was right is not told to those who guess.
        assert told.startswith("Bearer")
        assert ("ApiKey" in told, "Basic" in told) == (True, True)


@requirement("R-4.5-01")
async def test_the_card_says_what_is_held_to_in_the_shape_of_both_lines(started: Start) -> None:
    card = await card_of(await started(echo(auth=COMBINED).asgi()))
    assert card["securityRequirements"] == [
        {"schemes": {"bearer": {"list": ["call"]}}},
        {"schemes": {"basic": {}, "apiKey": {}}},
    ]
    assert card["security"] == [{"bearer": ["call"]}, {"basic": [], "apiKey": []}]
    assert card["securitySchemes"]["bearer"] == {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "httpAuthSecurityScheme": {"scheme": "bearer", "bearerFormat": "JWT"},
    }
    assert card["securitySchemes"]["apiKey"] == {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "apiKeySecurityScheme": {"location": "header", "name": "X-API-Key"},
    }


@requirement("R-13.3-06")
async def test_the_extended_card_is_not_for_those_who_may_not_call(serve: Serve) -> None:
    wire = await serve(echo(auth=schemes()["bearer"], extended_card=echo().card))
    with refused("PERMISSION_DENIED"):
        await wire.call("GetExtendedAgentCard", headers=bearer(scope="other"))
    assert (await wire.call("GetExtendedAgentCard", headers=bearer()))["name"] == "Echo"


@requirement("R-13.3-01", "R-13.3-06")
async def test_the_extended_card_is_for_those_who_are_known_and_says_the_same(serve: Serve) -> None:
    wire = await serve(echo(auth=schemes()["header"], extended_card=echo().card))
    card = await wire.call("GetExtendedAgentCard", headers=keyed("alice"))
    assert "X-API-Key" in json.dumps(card["securitySchemes"])
    assert "apiKey" in json.dumps(card.get("securityRequirements") or card["security"])


@requirement("R-13.4-09")
async def test_keys_come_and_go_while_the_agent_runs(serve: Serve) -> None:
    auth = ApiKey({"alice": "alice-has-this-key"})
    wire = await serve(echo(auth=auth))
    second = {"x-api-key": "alice-has-another"}
    with refused("UNAUTHENTICATED"):
        await wire.send(headers=second)
    auth.add("alice", "alice-has-another")
    task = await wire.send(headers=second)
    assert await wire.get(task["id"], headers=keyed("alice")) == task
    assert auth.revoke("alice-has-this-key")
    with refused("UNAUTHENTICATED"):
        await wire.get(task["id"], headers=keyed("alice"))
    assert await wire.get(task["id"], headers=second) == task


@requirement("R-13.4-08")
async def test_an_own_function_that_fails_lets_nobody_in_and_tells_nothing(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_: Any) -> Principal:
        raise RuntimeError("the directory is down")

    wire = await serve(echo(auth=OwnScheme("own", HTTPAuthSecurityScheme(scheme="Own"), broken, told="Own")))
    with refused("INTERNAL_ERROR") as caught:
        await wire.send()
    assert "directory" not in caught.value.told
    assert "a request failed" in caplog.text


async def test_nobody_is_let_in_as_the_anonymous_caller(serve: Serve) -> None:
    class Careless:
        def __init__(self) -> None:
            self.schemes: dict[str, Any] = {}
            self.requirements = ()

        async def authenticate(self, _: Any) -> Principal:
            return Principal()

    wire = await serve(echo(auth=Careless()))
    with refused("UNAUTHENTICATED"):
        await wire.send()


class _Plain:
    """A binding that says who calls."""

    uri = "https://bindings.example/plain"
    version = "1.0"

    def url(self, base: str) -> str:
        return f"{base}/plain"

    def takes(self, scope: Any, path: str) -> bool:
        return bool(path == "/plain" and scope["type"] in {"http", "websocket"})

    async def __call__(self, scope: Any, receive: Any, send: Any, service: Any) -> None:  # noqa: ARG002 -- the port's
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": scope["principal"].id.encode()})


async def test_a_custom_binding_is_behind_the_same_door(started: Start) -> None:
    app = echo(auth=schemes()["header"], bindings=[_Plain()]).asgi()
    bridge = await started(app)
    reply = await bridge.send(HttpRequest("GET", "/plain"))
    assert (reply.status, reply.headers["www-authenticate"]) == (401, 'ApiKey in="header", name="X-API-Key"')
    known = await bridge.send(HttpRequest("GET", "/plain", headers=keyed("alice")))
    assert (known.status, known.body) == (200, b"alice")
    sent: list[Any] = []

    async def send(event: Any) -> None:
        sent.append(event)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    scope: dict[str, Any] = {"type": "websocket", "path": "/plain", "raw_path": b"/plain", "root_path": ""}
    await app({**scope, "headers": [], "query_string": b""}, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    ("auth", "url", "told_and_warned"),
    [
        (None, "http://127.0.0.1:9999", (True, False)),
        (None, "http://[::1]:9999", (True, False)),
        (None, "http://0.0.0.0:9999", (True, True)),
        (ApiKey({}), "http://0.0.0.0:9999", (False, False)),
    ],
)
def test_an_agent_that_asks_nobody_says_so_at_its_start(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    auth: Any,
    url: str,
    told_and_warned: tuple[bool, bool],
) -> None:
    def run(serving: Serving, *_: object) -> None:
        serving.ready(url)

    monkeypatch.setattr("dragoman.hosts.run.run", run)
    lines: list[str] = []
    echo(auth=auth).run(announce=lines.append)
    assert (any("one anonymous scope" in line for line in lines), "no auth=" in caplog.text) == told_and_warned
