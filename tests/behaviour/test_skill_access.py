"""What single skills ask for beside their agent: schemes, scopes, and the card that says it."""

from typing import Any

import pytest

from dragoman import Agent, CallLimits, ConfigurationError, Message, Part, Rate, TaskContext
from dragoman.auth import ApiKey, ClientCredentialsOAuthFlow, OAuth2
from dragoman.dialects.base import HttpRequest
from dragoman.errors import A2AError
from dragoman.operations import SEND_MESSAGE
from dragoman.ports.call import CallContext
from dragoman.types import Role
from dragoman.types.requests import SendMessageRequest, ServiceParameters
from tests.behaviour.callers import API_KEY, KEYS, keyed, schemes
from tests.behaviour.guesses import named, who
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Serve, Start, card_of, message, refused
from tests.unit.auth.tokens import AUDIENCE, ISSUER, JWKS, bearer

NAMED = named()
ALICE, BOB = who("alice"), who("bob")


def payments(**given: Any) -> tuple[Agent, list[str]]:
    """Two skills, one of which asks for more, and direct answers that do; with what the handlers were given."""
    bearer = schemes()["bearer"]
    agent = Agent("Payments", store="memory", auth=bearer | ApiKey(KEYS), **given)
    heard: list[str] = []

    @agent.skill(auth=bearer.needing("pay"))
    async def pay(task: TaskContext) -> str:
        heard.append(task.text)
        return f"{task.text} and {await task.ask('How much?')}"

    @agent.skill
    async def look(task: TaskContext) -> str:
        return task.text

    @agent.skill(auth=bearer.needing("pay") & ApiKey(KEYS, header="X-Teller", name="teller"))
    async def quote(text: str) -> Message:
        heard.append(text)
        return Message(message_id="m", role=Role.AGENT, parts=(Part(text=text),))

    @agent.router
    async def chosen(text: str) -> str:
        return text.split(maxsplit=1)[0]

    return agent, heard


PAYER, LOOKER = bearer(scope="call pay"), bearer()
LACKING = 'Bearer error="insufficient_scope", scope="call pay"'


@requirement("R-7.5-01", "R-3.3.2-06", "R-3.3.2-07")
@pytest.mark.parametrize("operation", ["SendMessage", "SendStreamingMessage"])
async def test_a_skill_asks_for_more_than_its_agent_before_anything_is_stored(serve: Serve, operation: str) -> None:
    agent, heard = payments()
    wire = await serve(agent)
    said = message("pay up")
    with refused("PERMISSION_DENIED") as caught:
        await wire.call(operation, {"message": said}, headers=LOOKER)
    assert caught.value.text == "A scope is missing of: call pay"
    assert caught.value.reply.headers["www-authenticate"] == LACKING
    with refused("UNAUTHENTICATED") as caught:
        await wire.call(operation, {"message": said}, headers=keyed("alice"))
    assert caught.value.reply.headers["www-authenticate"].startswith("Bearer")
    assert heard == []
    assert (await wire.send("look here", headers=LOOKER))["status"]["state"] == "TASK_STATE_COMPLETED"
    task = await wire.send(said, headers=PAYER)
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    for caller, reason in ((LOOKER, "PERMISSION_DENIED"), (keyed("alice"), "TASK_NOT_FOUND")):
        with refused(reason):
            await wire.call(operation, {"message": message("a lot", taskId=task["id"])}, headers=caller)
    assert await wire.get(task["id"], headers=LOOKER) == task
    done = await wire.send(message("a lot", taskId=task["id"]), headers=PAYER)
    assert done["artifacts"][0]["parts"] == [{"text": "pay up and a lot"}]


@requirement("R-7.5-01")
async def test_a_direct_answer_asks_for_all_schemes_of_an_alternative(serve: Serve) -> None:
    agent, heard = payments()
    wire = await serve(agent)
    asked = {"message": message("quote me")}
    teller = {"x-teller": KEYS["bob"]}
    for lacking, reason, told in (
        (PAYER, "UNAUTHENTICATED", API_KEY.format("header", "X-Teller")),
        (LOOKER | teller, "PERMISSION_DENIED", LACKING),
        (keyed("alice") | teller, "UNAUTHENTICATED", "Bearer"),
    ):
        with refused(reason) as caught:
            await wire.call("SendMessage", asked, headers=lacking)
        assert told in caught.value.reply.headers["www-authenticate"]
    assert heard == []
    answered = await wire.call("SendMessage", asked, headers=PAYER | teller)
    assert answered["message"]["parts"] == [{"text": "quote me"}]


@requirement("R-7.5-01")
async def test_the_owners_own_calls_are_asked_for_nothing(serve: Serve) -> None:
    agent, heard = payments()
    await serve(agent)
    async with agent.local() as calls:
        request = SendMessageRequest(message=Message(message_id="m", role=Role.USER, parts=(Part(text="pay up"),)))
        await calls.call(SEND_MESSAGE, request, ServiceParameters())
    assert heard == ["pay up"]


@requirement("R-13.4-10")
async def test_who_guesses_what_a_skill_asks_for_has_to_wait_and_who_knows_it_need_not(serve: Serve) -> None:
    agent = Agent("Bank", store="memory", auth=NAMED, limits=CallLimits(failed_authentications=Rate(0.001, 3)))
    agent.skill(auth=ApiKey(KEYS, header="X-Teller", name="teller"))(_nothing)
    wire = await serve(agent)
    knows = {"x-teller": KEYS["alice"]}
    await wire.send("hello", headers=ALICE | knows)
    for number in range(3):
        with refused("UNAUTHENTICATED"):
            await wire.send("hello", headers=BOB | {"x-teller": f"a-guess-of-his-{number}"})
    # In process there is no address to hold it against; the same guess is one that was wrong before.
    for reason in ("UNAUTHENTICATED", "UNAUTHENTICATED", "LIMIT_EXCEEDED"):
        with refused(reason):
            await wire.send("hello", headers=BOB | {"x-teller": "a-guess-of-his-0"})
    await wire.send("hello", headers=ALICE | knows)
    await wire.send("hello", headers=BOB | knows)


@requirement("R-4.5-01", "R-7.5-01")
async def test_the_card_says_what_skills_ask_for_in_the_shape_of_both_lines(started: Start) -> None:
    agent, _ = payments()
    card = await card_of(await started(agent.asgi()))
    assert set(card["securitySchemes"]) == {"bearer", "apiKey", "teller"}
    assert card["securityRequirements"] == [{"schemes": {"bearer": {"list": ["call"]}}}, {"schemes": {"apiKey": {}}}]
    pay, look, quote = card["skills"]
    assert pay["securityRequirements"] == [{"schemes": {"bearer": {"list": ["call", "pay"]}}}]
    assert pay["security"] == [{"bearer": ["call", "pay"]}]
    assert "securityRequirements" not in look
    assert quote["security"] == [{"bearer": ["call", "pay"], "teller": []}]


def test_a_skill_cannot_ask_for_what_the_card_cannot_say() -> None:
    with pytest.raises(ConfigurationError, match="auth= too"):
        Agent("Open").skill(auth=NAMED)(_nothing)
    with pytest.raises(ConfigurationError, match="another one"):
        Agent("Two", auth=ApiKey(KEYS)).skill(auth=ApiKey(KEYS, header="X-Other"))(_nothing)
    several = Agent("Several", auth=ApiKey(KEYS))
    several.skill(auth=ApiKey(KEYS, header="X-One", name="more"))(_nothing)
    with pytest.raises(ConfigurationError, match="another one"):
        several.skill(auth=ApiKey(KEYS, header="X-Other", name="more"), id="second")(_nothing)
    with pytest.raises(ConfigurationError, match="scopes"):
        NAMED.needing()
    flow = ClientCredentialsOAuthFlow(token_url="https://id.example/token", scopes={"use": "All"})
    with pytest.raises(ConfigurationError, match="does not declare"):
        OAuth2(flow, issuer=ISSUER, audience=AUDIENCE, keys=JWKS, scopes=["use"]).needing("use", "pay")


async def _nothing() -> str:
    return ""


class _Plain:
    """A binding that sends a message as its body says, with or without what the call brought."""

    uri = "https://bindings.example/plain"
    version = "1.0"

    def url(self, base: str) -> str:
        return f"{base}/plain"

    def takes(self, scope: Any, path: str) -> bool:
        return bool(path in {"/plain", "/careless"} and scope["type"] == "http")

    async def __call__(self, scope: Any, receive: Any, send: Any, service: Any) -> None:  # noqa: ARG002 -- the port's
        whole = {"credentials": scope["credentials"]} if scope["path"].endswith("/plain") else {}
        said = Message(message_id="m", role=Role.USER, parts=(Part(text="look"),))
        context = CallContext(principal=scope["principal"], base=scope["base"], **whole)
        try:
            told = (await service.call(SEND_MESSAGE, SendMessageRequest(message=said), context)).state.value
        except A2AError as error:
            told = error.reason
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": told.encode()})


async def test_a_custom_binding_that_hands_on_no_credentials_reaches_no_skill_that_asks(started: Start) -> None:
    agent = Agent("Bank", store="memory", auth=NAMED, bindings=[_Plain()])
    agent.skill(auth=ApiKey(KEYS, header="X-Teller", name="teller"))(_nothing)
    bridge = await started(agent.asgi())
    teller = {"x-teller": KEYS["alice"]}
    for path, headers, told in (
        ("/plain", ALICE | teller, "completed"),
        ("/plain", ALICE, "UNAUTHENTICATED"),
        ("/careless", ALICE | teller, "UNAUTHENTICATED"),
    ):
        reply = await bridge.send(HttpRequest("GET", path, headers=headers))
        assert reply.body.decode().removeprefix("TASK_STATE_").lower() == told.lower(), path
