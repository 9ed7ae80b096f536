"""Configurations of push notifications: what a change makes of one, and all of them in memory."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice

import msgspec

from dragoman.errors import Fenced
from dragoman.ports.call import Scope
from dragoman.ports.push import DeadLetter, NewPush, Push, PushMove, PushState
from dragoman.ports.tasks import NewTask
from dragoman.stores.held import Held
from dragoman.stores.record import check
from dragoman.types.content import Message

__all__ = ["Pushes", "begun", "brought", "checked", "delivering", "replaced"]


def checked(new: NewPush) -> NewPush:
    """The configuration, which can be stored: a direct answer belongs to no task, and all else does.

    Raises:
        ValueError, TypeError: it cannot.
    """
    if (new.answer is None) != bool(new.task_id):
        raise ValueError("A configuration is of a task, or waits for a direct answer")
    check(new)
    return new


def brought(new: NewTask, push: NewPush) -> NewPush:
    """The configuration that a new task brings.

    Raises:
        ValueError, TypeError: it is another task's, or cannot be stored.
    """
    if (push.task_id, push.scope) != (new.task.id, new.scope):
        raise ValueError("A new task brings a configuration of its own")
    return checked(push)


def delivering(answer: Message, push: NewPush) -> NewPush:
    """The configuration that comes with a direct answer.

    Raises:
        ValueError, TypeError: it is one of a task, or delivers another answer, or cannot be stored.
    """
    if push.answer != answer:
        raise ValueError("A direct answer brings a configuration that delivers it")
    return checked(push)


def begun(new: NewPush, n: int, now: datetime, *, seq: int, terminal: bool) -> Push:
    """A new configuration; its task stands at `seq`."""
    return Push(
        n=n,
        task_id=new.task_id,
        id=new.id,
        scope=new.scope,
        dialect=new.dialect,
        origin=new.origin,
        sealed=new.sealed,
        worker=new.worker,
        created=now,
        cursor=seq if new.cursor is None else new.cursor,
        opened=new.opened,
        answer=new.answer,
        seq=seq,
        terminal=terminal,
    )


def replaced(old: Push, new: NewPush) -> Push:
    """The configuration after another has been stored in its place."""
    return msgspec.structs.replace(
        old,
        dialect=new.dialect,
        origin=new.origin,
        sealed=new.sealed,
        worker=new.worker,
        cursor=old.seq if old.state is PushState.ENDED else old.cursor,
        opened=old.opened or new.opened,
        epoch=old.epoch + 1,
        state=PushState.LIVE,
        whole=old.whole or old.state is PushState.DEAD,
        attempts=0,
        failing_since=None,
        not_before=None,
        trouble="",
    )


class Pushes:
    """All configurations of a store in memory, and which of them are due. `tasks` are the store's."""

    def __init__(self, tasks: Mapping[str, Held]) -> None:
        self._tasks = tasks
        self._last = 0
        self._all: dict[int, Push] = {}
        """In the order of their numbers. Of their tasks they know only how those stood at some time."""
        self.of_task: dict[str, dict[str, int]] = {}
        """The numbers by task and configuration id; nothing for a task that has none."""
        self._answers: dict[tuple[Scope, str], list[int]] = {}
        """The numbers of those that deliver direct answers, by scope and id, in order; nothing where there is none."""
        self._letters: dict[int, list[DeadLetter]] = {}
        self._due: list[int] = []
        """In order, so that nobody has to look at all of them."""

    def put(self, new: NewPush, now: datetime) -> Push:
        """Stores a checked configuration of a task that is there, or of a direct answer."""
        n = self.of_task.get(new.task_id, {}).get(new.id)
        if n is not None:
            return self._set(replaced(self._now(n), new))
        self._last += 1
        held = self._tasks.get(new.task_id)
        if held is None:
            self._answers.setdefault((new.scope, new.id), []).append(self._last)
            return self._set(begun(new, self._last, now, seq=0, terminal=False))
        self.of_task.setdefault(new.task_id, {})[new.id] = self._last
        return self._set(begun(new, self._last, now, seq=held.seq, terminal=held.state.terminal))

    def find(self, task_id: str, config_id: str) -> Push | None:
        n = self.of_task.get(task_id, {}).get(config_id)
        return None if n is None else self._now(n)

    def find_answer(self, scope: Scope, config_id: str) -> Push | None:
        numbers = self._answers.get((scope, config_id))
        return None if numbers is None else self._all[numbers[-1]]

    def page(self, task_id: str, after: int, limit: int) -> tuple[Push, ...]:
        """The configurations of a task with numbers after `after`."""
        numbers = sorted(n for n in self.of_task.get(task_id, {}).values() if n > after)
        return tuple(self._now(n) for n in numbers[:limit])

    def drop(self, task_id: str, config_id: str) -> None:
        of_task = self.of_task.get(task_id, {})
        n = of_task.pop(config_id, None)
        if n is not None:
            self._remove(n)
            if not of_task:
                del self.of_task[task_id]

    def due(self, worker: str, alive: Collection[str], after: int, limit: int) -> tuple[Push, ...]:
        """What is due to this worker, and to those that are not alive."""
        places = range(bisect_right(self._due, after), len(self._due))
        found = (self._now(self._due[place]) for place in places)
        return tuple(islice((push for push in found if push.worker == worker or push.worker not in alive), limit))

    def move(self, move: PushMove) -> None:
        old = self._all.get(move.n)
        if old is None or old.epoch != move.epoch:
            raise Fenced(f"Configuration {move.n} is in another epoch than {move.epoch}, or gone")
        if old.answer is not None and move.state is PushState.ENDED:
            self._remove(move.n)
            return
        self._all[move.n] = old.moved(move)
        if move.letter is not None:
            self._letters.setdefault(move.n, []).append(move.letter)
        self._set(self._now(move.n))

    def in_state(self, state: PushState, after: int, limit: int) -> tuple[Push, ...]:
        found = (push.n for push in self._all.values() if push.n > after and push.state is state)
        return tuple(self._now(n) for n in islice(found, limit))

    def letters(self, n: int, limit: int) -> tuple[DeadLetter, ...]:
        return tuple(self._letters.get(n, [])[::-1][:limit])

    def happened(self, task_id: str) -> None:
        """The task has moved on."""
        for n in self.of_task[task_id].values():
            push = self._all[n]
            # What is live and behind stays so, whatever the task does.
            if push.state is not PushState.LIVE or not push.behind:
                self._set(self._now(n))

    def behind(self, task_id: str) -> bool:
        """Whether something of the task is still to be delivered."""
        found = (self._now(n) for n in self.of_task.get(task_id, {}).values())
        return any(push.state is PushState.LIVE and push.behind for push in found)

    def forget(self, task_ids: Iterable[str]) -> None:
        """The tasks are gone."""
        for task_id in task_ids:
            for n in self.of_task.pop(task_id, {}).values():
                self._remove(n)

    def forget_answers(self, principal: str) -> None:
        """Nothing of this principal's is to be left."""
        for push in list(self._direct()):
            if push.scope.principal == principal:
                self._remove(push.n)

    def prune(self, before: datetime, limit: int) -> int:
        """Removes direct answers that have been given up and are older; how many that were."""
        old = (push.n for push in self._direct() if push.state is PushState.DEAD and push.created <= before)
        numbers = list(islice(old, max(limit, 0)))
        for n in numbers:
            self._remove(n)
        return len(numbers)

    def _direct(self) -> Iterator[Push]:
        return (push for push in self._all.values() if not push.task_id)

    def _now(self, n: int) -> Push:
        """The configuration, with what its task has come to."""
        push = self._all[n]
        held = self._tasks.get(push.task_id)
        if held is None or held.seq == push.seq:
            return push
        return msgspec.structs.replace(push, seq=held.seq, terminal=held.state.terminal)

    def _set(self, push: Push) -> Push:
        self._all[push.n] = push
        self._mark(push.n, due=push.due)
        return push

    def _mark(self, n: int, *, due: bool) -> None:
        place = bisect_left(self._due, n)
        was = place < len(self._due) and self._due[place] == n
        if due and not was:
            self._due.insert(place, n)
        elif was and not due:
            del self._due[place]

    def _remove(self, n: int) -> None:
        push = self._all.pop(n)
        if not push.task_id:
            place = push.scope, push.id
            self._answers[place].remove(n)
            if not self._answers[place]:
                del self._answers[place]
        self._letters.pop(n, None)
        self._mark(n, due=False)
