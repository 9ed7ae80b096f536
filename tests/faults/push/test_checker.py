"""The checker finds what is wrong with a history of webhooks: bad histories for each invariant, and a good one."""

from collections.abc import Callable

import pytest

from dragoman.core.lifecycle import fold
from dragoman.dialects.push import write_push
from dragoman.ports.push import PushState
from dragoman.ports.tasks import Entry
from dragoman.types.content import Artifact, Message, Part, Role
from dragoman.types.events import StreamEvent, TaskArtifactUpdateEvent, TaskStatusUpdateEvent, TaskUpdate
from dragoman.types.push import AuthenticationInfo, TaskPushNotificationConfig
from dragoman.types.task import Task, TaskState, TaskStatus
from tests.faults.history import Kept
from tests.faults.push.checker import INVARIANTS, covered, violations
from tests.faults.push.history import MADE, Arrival, Clock, History, Registration

FINAL, OLD = "1.0/JSONRPC", "0.3/JSONRPC"
ASKED = Message(message_id="m", role=Role.USER, parts=(Part(text="go"),))
CREATED = Task(id="t", context_id="c", status=TaskStatus(state=TaskState.WORKING), history=(ASKED,))


def chunk(text: str) -> TaskUpdate:
    artifact = Artifact(artifact_id="a", parts=(Part(text=text),))
    return TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=artifact, append=True)


DONE = TaskStatusUpdateEvent(task_id="t", context_id="c", status=TaskStatus(state=TaskState.COMPLETED))
UPDATES: list[TaskUpdate] = [chunk("one "), chunk("two "), DONE]
EVENTS: dict[int, StreamEvent] = {1: CREATED, **dict(enumerate(UPDATES, 2))}


class Told:
    """Fills a history as receivers do."""

    def __init__(self) -> None:
        self.history = History()
        self.history.kept["t"] = Kept(
            fold(CREATED, [(event, None) for event in UPDATES]),
            tuple(Entry(seq=seq, event=event) for seq, event in enumerate(UPDATES, 2)),
            (),
        )
        self.clock = Clock()

    def register(self, name: str, dialect: str, after: int = 0, by: int = 0) -> Registration:
        config = TaskPushNotificationConfig(
            id=name,
            task_id="t",
            url=f"http://hook/{name}",
            token="tok",
            authentication=AuthenticationInfo(scheme="Bearer", credentials="cred"),
        )
        path = f"/{name}"
        self.history.asked.add(path)
        self.history.states["t", name] = PushState.ENDED
        registration = self.history.registrations[path] = Registration(config, dialect, after, by)
        return registration

    def deliver(self, name: str, number: int, *, accepted: bool = True, made: float = 0.0) -> Arrival:
        dialect = self.history.registrations[f"/{name}"].dialect
        event = EVENTS.get(number, DONE)
        if dialect == OLD:
            event = fold(CREATED, [(update, None) for update in UPDATES[: number - 1]])
        media, body = write_push(dialect, event)
        headers = {
            "content-type": media,
            "webhook-id": f"t:{number}:{name}",
            "idempotency-key": f"t:{number}:{name}",
            "webhook-timestamp": str(self.clock.tick()),
            "x-a2a-notification-token": "tok",
            "a2a-notification-token": "tok",
            "authorization": "Bearer cred",
            MADE: str(made + len(self.history.arrived(f"/{name}")) / 100),
        }
        one = Arrival(self.clock.tick(), headers, body, self.clock.tick() if accepted else None)
        self.history.arrivals.setdefault(f"/{name}", []).append(one)
        return one


def good() -> Told:
    """Three configurations: one of all events, which are sent again now and then; one of whole tasks, of which one was
    never accepted; and a later one that was deleted.
    """
    told = Told()
    told.register("every", FINAL)
    for number, accepted in ((1, True), (2, False), (2, True), (2, True), (3, True), (4, False), (4, True)):
        told.deliver("every", number, accepted=accepted)
    told.register("whole", OLD)
    for number, accepted in ((1, False), (2, True), (4, True)):
        told.deliver("whole", number, accepted=accepted)
    late = told.register("late", FINAL, after=1, by=3)
    late.removed, late.removed_at = True, 1.0
    del told.history.states["t", "late"]
    told.deliver("late", 3, made=0.9)
    return told


def test_a_history_in_which_all_promises_were_kept_has_no_violation() -> None:
    history = good().history
    assert violations(history) == []
    assert (covered(history), history.attempts, history.deliveries) == (4 + 4, 11, 8)


def _never_accepted(told: Told) -> None:
    for one in told.history.arrivals["/every"][1:4]:
        one.accepted = None


def _end_of_a_whole_task_missing(told: Told) -> None:
    told.history.arrivals["/whole"].pop()


def _nothing_at_all(told: Told) -> None:
    del told.history.arrivals["/every"]


def _begun_too_late(told: Told) -> None:
    del told.history.arrivals["/late"]
    told.deliver("late", 4)
    told.history.registrations["/late"].by = 2


def _begun_too_early(told: Told) -> None:
    told.history.registrations["/late"].after = 3


def _hole(told: Told) -> None:
    del told.history.arrivals["/every"][1:4]


def _two_under_way(told: Told) -> None:
    arrivals = told.history.arrivals["/every"]
    arrivals[3].accepted = arrivals[2].accepted = arrivals[4].order + 1


def _older_task(told: Told) -> None:
    arrivals = told.history.arrivals["/whole"]
    arrivals[1], arrivals[2] = arrivals[2], arrivals[1]


def _whole_instead_of_events(told: Told) -> None:
    arrivals = told.history.arrivals["/every"]
    for one in arrivals[-2:]:
        one.body = write_push(FINAL, told.history.kept["t"].task)[1]


def _other_event(told: Told) -> None:
    for one in told.history.arrivals["/every"][1:4]:
        one.body = write_push(FINAL, chunk("other"))[1]


def _other_artifacts(told: Told) -> None:
    told.history.arrivals["/whole"][1].body = write_push(OLD, CREATED)[1]


def _no_json(told: Told) -> None:
    told.history.arrivals["/whole"][1].body = b"hello"


def _event_that_is_not(told: Told) -> None:
    told.deliver("every", 5)


def _other_body_later(told: Told) -> None:
    told.history.arrivals["/every"][2].body += b" "


def _other_header_later(told: Told) -> None:
    arrival = told.history.arrivals["/every"][2]
    arrival.headers = {**arrival.headers, "content-type": "application/json"}


def _without(name: str) -> Callable[[Told], None]:
    def spoil(told: Told) -> None:
        for one in told.history.arrivals["/late"]:
            one.headers = {given: value for given, value in one.headers.items() if given != name}

    return spoil


def _of_another(told: Told) -> None:
    arrival = told.history.arrivals["/late"][0]
    arrival.headers = {**arrival.headers, "webhook-id": "t:3:every", "idempotency-key": "t:3:every"}


def _after_the_deletion(told: Told) -> None:
    told.deliver("late", 4, made=1.0)


def _left_live(told: Told) -> None:
    told.history.states["t", "every"] = PushState.LIVE


def _given_up(told: Told) -> None:
    told.history.states["t", "every"] = PushState.DEAD


def _not_removed(told: Told) -> None:
    told.history.states["t", "late"] = PushState.ENDED


def _redirect_followed(told: Told) -> None:
    told.history.strays.append("a redirect was followed")


def _at_no_place(told: Told) -> None:
    told.history.arrivals["/other"] = told.history.arrivals["/late"]


BAD: list[tuple[str, Callable[[Told], None]]] = [
    ("arrived", _never_accepted),
    ("arrived", _end_of_a_whole_task_missing),
    ("arrived", _nothing_at_all),
    ("order", _begun_too_late),
    ("order", _begun_too_early),
    ("order", _hole),
    ("order", _two_under_way),
    ("order", _older_task),
    ("content", _whole_instead_of_events),
    ("content", _other_event),
    ("content", _other_artifacts),
    ("content", _no_json),
    ("content", _event_that_is_not),
    ("same", _other_body_later),
    ("same", _other_header_later),
    ("told", _without("authorization")),
    ("told", _without("a2a-notification-token")),
    ("told", _without("idempotency-key")),
    ("told", _of_another),
    ("deleted", _after_the_deletion),
    ("ended", _left_live),
    ("ended", _given_up),
    ("ended", _not_removed),
    ("strays", _redirect_followed),
    ("strays", _at_no_place),
]


@pytest.mark.parametrize(("invariant", "spoil"), BAD)
def test_what_is_wrong_is_found(invariant: str, spoil: Callable[[Told], None]) -> None:
    told = good()
    spoil(told)
    assert invariant in {violation.invariant for violation in violations(told.history)}


def test_every_invariant_has_a_history_that_breaks_it() -> None:
    assert {invariant for invariant, _ in BAD} == {"strays", *INVARIANTS}


def test_what_was_registered_in_the_middle_need_not_have_what_was_before() -> None:
    told = Told()
    told.register("middle", FINAL, after=1, by=3)
    told.deliver("middle", 3)
    told.deliver("middle", 4)
    assert violations(told.history) == []


def test_an_attempt_of_a_process_that_died_may_be_accepted_late() -> None:
    told = good()
    arrivals = told.history.arrivals["/every"]
    arrivals[1].accepted = told.clock.tick()
    assert violations(told.history) == []


def _older_task_of_a_rival(told: Told) -> None:
    told.deliver("whole", 3)


def _whole_of_a_rival(told: Told) -> None:
    told.deliver("every", 4).body = write_push(FINAL, told.history.kept["t"].task)[1]


@pytest.mark.parametrize("send", [_older_task_of_a_rival, _whole_of_a_rival])
def test_only_a_rival_may_send_what_another_has_gone_past(send: Callable[[Told], None]) -> None:
    told = good()
    send(told)
    assert violations(told.history)
    told.history.rivals = True
    assert violations(told.history) == []
