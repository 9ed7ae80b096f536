"""Configurations over a store: what is asked of a URL, how often, and what is kept and shown."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec
import pytest

from dragoman.errors import InvalidParamsError, TaskNotFoundError, UnsupportedOperationError
from dragoman.ports.call import CallContext, Principal, Scope
from dragoman.ports.tasks import NewTask, TurnStart
from dragoman.ports.webhook import AddressRefused, Answer, Undelivered
from dragoman.push import verdicts
from dragoman.push.configurations import Configurations
from dragoman.push.seal import KEY_BYTES, Seal
from dragoman.stores.memory import MemoryStore
from dragoman.testing.clock import FakeIds
from dragoman.types.push import AuthenticationInfo, TaskPushNotificationConfig
from dragoman.types.requests import (
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
)
from dragoman.types.task import Task, TaskState, TaskStatus

URL = "https://hook.example/path"
OLD = "0.3/JSONRPC"


class Asked:
    """A client of webhooks that is only asked what it would call, and takes its answers from the test."""

    def __init__(self) -> None:
        self.urls: list[str] = []
        self.trouble: Exception | None = None

    async def check(self, url: str) -> None:
        self.urls.append(url)
        if self.trouble is not None:
            raise self.trouble

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> Answer:
        raise AssertionError((url, headers, body))

    async def close(self) -> None:
        raise AssertionError


class Told:
    """What would deliver, and what it was told."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, ...]] = []

    async def open(self, worker: Callable[[], str]) -> None:
        self.heard.append(("open", worker()))

    async def close(self, grace: float) -> None:
        self.heard.append(("close", str(grace)))

    def stored(self, task_id: str, scope: Scope, config_id: str) -> None:
        self.heard.append(("stored", task_id, scope.tenant, config_id))

    def dropped(self, task_id: str, config_id: str) -> None:
        self.heard.append(("dropped", task_id, config_id))

    def erased(self, task_ids: Sequence[str]) -> None:
        self.heard.append(("erased", *task_ids))


class Desk:
    """Configurations with all that is around them; one task, `t`, of the anonymous caller in no tenant."""

    def __init__(self, *, max_per_task: int = 4) -> None:
        self.asked, self.told, self.store = Asked(), Told(), MemoryStore()
        self.configurations = self.over(b"1" * KEY_BYTES, max_per_task)

    def over(self, key: bytes, max_per_task: int = 4) -> Configurations:
        """Configurations with this key."""
        return Configurations(
            self.store,
            self.asked,
            Seal(lambda: key),
            self.told,
            FakeIds(),
            max_per_task=max_per_task,
            named_by_task=frozenset({OLD}),
        )

    async def begun(self) -> "Desk":
        task = Task(id="t", context_id="x", status=TaskStatus(state=TaskState.WORKING))
        await self.store.create(NewTask(task=task, scope=Scope(), skill="s", start=TurnStart(), worker="w"))
        await self.configurations.open(lambda: "w")
        return self

    async def create(self, url: str = URL, *, call: CallContext | None = None, **members: object) -> str:
        """Creates one; gives its id."""
        config = msgspec.structs.replace(TaskPushNotificationConfig(url=url, task_id="t"), **members)
        created = await self.configurations.create(config, call or CallContext())
        return created.id

    async def get(self, config_id: str, task_id: str = "t", tenant: str = "") -> TaskPushNotificationConfig:
        request = GetTaskPushNotificationConfigRequest(task_id=task_id, id=config_id, tenant=tenant)
        return await self.configurations.get(request, CallContext())


@pytest.fixture
async def desk() -> Desk:
    return await Desk().begun()


async def test_what_is_stored_is_sealed_and_says_who_delivers_and_where_to(desk: Desk) -> None:
    secret = AuthenticationInfo(scheme="Bearer", credentials="hush")
    call = CallContext(dialect="draft/GRPC")
    await desk.create("https://Hook.Example:443/way?in=1", call=call, id="c", authentication=secret)
    push = await desk.store.get_push("t", Scope(), "c")
    assert push is not None
    assert (push.origin, push.worker, push.dialect) == ("https://hook.example", "w", "draft/GRPC")
    assert not [word for word in (b"hush", b"way", b"Bearer") if word in push.sealed]
    assert "hush" not in repr(push)


async def test_who_delivers_is_told_of_what_is_stored_and_removed(desk: Desk) -> None:
    await desk.create(id="c")
    await desk.configurations.delete(DeleteTaskPushNotificationConfigRequest(task_id="t", id="c"), CallContext())
    desk.configurations.erased(("t", "u"))
    await desk.configurations.close(2.5)
    assert desk.told.heard == [
        ("open", "w"),
        ("stored", "t", "", "c"),
        ("dropped", "t", "c"),
        ("erased", "t", "u"),
        ("close", "2.5"),
    ]


async def test_of_one_that_cannot_be_opened_any_more_its_origin_is_shown(desk: Desk) -> None:
    await desk.create("https://hook.example:8443/secret", id="c", token="secret")
    desk.configurations = desk.over(b"2" * KEY_BYTES)
    assert await desk.get("c") == TaskPushNotificationConfig(id="c", task_id="t", url="https://hook.example:8443")


async def test_without_an_id_it_gets_a_fresh_one_or_where_callers_name_none_that_of_its_task(desk: Desk) -> None:
    first, second = await desk.create(), await desk.create()
    assert len({first, second, "t"}) == 3
    old = CallContext(dialect=OLD)
    assert await desk.create(call=old) == "t"
    assert await desk.create(call=old, id="named") == "named"


async def test_a_direct_answer_has_a_place_of_its_own_and_keeps_the_id_inside(desk: Desk) -> None:
    config = TaskPushNotificationConfig(url=URL, id="c")
    one, two = (desk.configurations.new(config, "", Scope(), OLD) for _ in range(2))
    assert len({one.id, two.id, "c", ""}) == 4
    assert Seal(lambda: b"1" * KEY_BYTES).open(one.sealed, "", one.id).id == "c"


# Whether a URL may be called.


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (AddressRefused("Port 22 may not be called"), "The webhook may not be called: Port 22 may not be called"),
        (Undelivered("hook.example has no address"), "The webhook cannot be reached now: hook.example has no address"),
    ],
)
async def test_a_url_that_may_not_be_called_is_named_in_the_refusal(desk: Desk, trouble: Exception, words: str) -> None:
    desk.asked.trouble = trouble
    with pytest.raises(InvalidParamsError) as caught:
        await desk.create()
    assert caught.value.message == words
    assert [violation.field for violation in caught.value.violations] == ["url"]
    with pytest.raises(InvalidParamsError) as caught:
        await desk.configurations.check(TaskPushNotificationConfig(url=URL), "", Scope())
    fields = [violation.field for violation in caught.value.violations]
    assert fields == ["configuration.taskPushNotificationConfig.url"]
    assert await desk.store.page_pushes("t", Scope(), after=0, limit=9) == ()


async def test_an_origin_that_may_be_called_is_not_looked_at_again_for_a_moment(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("/a", "/b?c=d", "", "/a"):
        await desk.create(f"https://hook.example{path}", id="c")
    assert desk.asked.urls == ["https://hook.example/a"]
    await desk.create("https://hook.example:8443/a", id="c")
    await desk.create("https://other.example/a", id="c")
    assert len(desk.asked.urls) == 3
    now = asyncio.get_running_loop().time()
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now + verdicts.KEPT + 1)
    await desk.create("https://hook.example/a", id="c")
    assert len(desk.asked.urls) == 4


@pytest.mark.parametrize(
    "odd",
    [
        "https://user@hook.example/",
        "https://hook.example\\@other.example/",
        "https://hook.example/\\other",
        "https://hook.example/a#b",
        "https://hook.example /",
        "https://hook.ex%61mple/",
        "https://[::1]/",
    ],
)
async def test_a_url_in_an_odd_form_is_looked_at_each_time(desk: Desk, odd: str) -> None:
    await desk.create("https://hook.example/", id="c")
    for _ in range(2):
        await desk.configurations.check(TaskPushNotificationConfig(url=odd), "", Scope())
    assert desk.asked.urls[1:] == [odd, odd]


async def test_what_is_refused_is_looked_at_again(desk: Desk) -> None:
    desk.asked.trouble = Undelivered("not now")
    with pytest.raises(InvalidParamsError):
        await desk.create(id="c")
    desk.asked.trouble = None
    assert await desk.create(id="c") == "c"


async def test_only_so_many_origins_are_kept(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "MOST", 2)
    for host in ("a", "b", "c", "c", "a"):
        await desk.create(f"https://{host}.example", id="c")
    assert [url[8] for url in desk.asked.urls] == ["a", "b", "c", "a"]


# Limits and pages.


async def test_a_task_has_so_many_and_no_more_but_those_can_be_replaced(desk: Desk) -> None:
    ids = [await desk.create() for _ in range(4)]
    inline = TaskPushNotificationConfig(url=URL)
    for attempt in (desk.create(), desk.configurations.check(inline, "t", Scope())):
        with pytest.raises(UnsupportedOperationError, match="4 push notification configurations"):
            await attempt
    assert await desk.create(id=ids[2]) == ids[2]
    await desk.configurations.check(msgspec.structs.replace(inline, id=ids[1]), "t", Scope())
    await desk.configurations.check(inline, "", Scope())
    await desk.configurations.delete(DeleteTaskPushNotificationConfigRequest(task_id="t", id=ids[0]), CallContext())
    assert await desk.create() not in ids


async def test_of_those_that_come_at_once_a_task_gets_no_more_either(desk: Desk) -> None:
    context, inline = CallContext(), TaskPushNotificationConfig(url=URL)

    checked = asyncio.Barrier(12)

    async def bring() -> None:
        await desk.configurations.check(inline, "t", Scope())
        await checked.wait()
        await desk.configurations.put(desk.configurations.new(inline, "t", Scope(), context.dialect))

    outcomes = await asyncio.gather(*[bring() for _ in range(12)], return_exceptions=True)
    assert sum(isinstance(outcome, UnsupportedOperationError) for outcome in outcomes) == 8
    page = await desk.configurations.page(ListTaskPushNotificationConfigsRequest(task_id="t", page_size=9), context)
    assert len(page.configs) == 4


async def test_all_are_listed_where_no_size_is_asked_for() -> None:
    desk = await Desk(max_per_task=70).begun()
    ids = [await desk.create() for _ in range(70)]
    page = await desk.configurations.page(ListTaskPushNotificationConfigsRequest(task_id="t"), CallContext())
    assert [config.id for config in page.configs] == ids
    assert page.next_page_token == ""


@pytest.mark.parametrize("token", ["x", "-1", "0", "01", "1.0", " 1", "٣", "9" * 30])
async def test_a_token_that_no_page_has_is_refused(desk: Desk, token: str) -> None:
    request = ListTaskPushNotificationConfigsRequest(task_id="t", page_token=token)
    with pytest.raises(InvalidParamsError) as caught:
        await desk.configurations.page(request, CallContext())
    assert caught.value.violations[0].field == "pageToken"


# Whose they are.


async def test_a_task_that_is_not_the_callers_has_no_configurations(desk: Desk) -> None:
    await desk.create(id="c")
    somebody = CallContext(principal=Principal("somebody"))
    get = GetTaskPushNotificationConfigRequest(task_id="t", id="c")
    attempts = [
        desk.create(id="c", call=somebody),
        desk.create(id="c", tenant="theirs"),
        desk.configurations.get(get, somebody),
        desk.get("c", tenant="theirs"),
        desk.configurations.page(ListTaskPushNotificationConfigsRequest(task_id="t"), somebody),
        desk.configurations.delete(DeleteTaskPushNotificationConfigRequest(task_id="t", id="c"), somebody),
        desk.get("c", task_id="u"),
        desk.get("d"),
        desk.get("", task_id="u"),
    ]
    for attempt in attempts:
        with pytest.raises(TaskNotFoundError):
            await attempt
    assert (await desk.get("c")).url == URL


async def test_a_url_is_not_looked_at_for_a_task_that_is_not_there(desk: Desk) -> None:
    for attempt in (
        desk.create(task_id="u"),
        desk.configurations.check(TaskPushNotificationConfig(url=URL), "u", Scope()),
    ):
        with pytest.raises(TaskNotFoundError):
            await attempt
    assert desk.asked.urls == []


async def test_nothing_happens_to_a_configuration_whose_task_is_gone_meanwhile(desk: Desk) -> None:
    new = desk.configurations.new(TaskPushNotificationConfig(url=URL), "gone", Scope(), "1.0/JSONRPC")
    await desk.configurations.put(new)
    assert desk.told.heard == [("open", "w")]
