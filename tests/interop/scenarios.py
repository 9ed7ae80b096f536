"""What is tried between every client and every server.

The agent on the other side obeys the first word of a text: `say X` gives X back, `count N PAUSE up|down` streams
numbers and asks for a missing direction, `parts` gives the other parts back, `tell X` answers with a message instead of
a task, `enter` wants an authorization, `show` gives the message's metadata as data, `fail` and `reject` end the task
so.
"""

import asyncio
import base64
import traceback
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any

from tests.interop.seeing import Facts, begun, count, ended, fault, watch
from tests.interop.webhooks import webhook, webhook_settings, webhook_with_message
from tests.interop.words import Caller, Page, Part, Say, Seen

__all__ = ["SCENARIOS", "see"]

PATIENCE = 20.0
"""Seconds for one scenario."""

ENDLESS = "count 1000 0.03 up"


async def blocking(caller: Caller) -> Facts:
    """A blocking send brings the finished task."""
    task = await caller.send(Say("say hello"))
    return {"state": task.state, "text": task.text}


async def at_once(caller: Caller) -> Facts:
    """A send that does not wait brings the running task, whose end is seen by asking."""
    task = await caller.send(Say("count 6 0.05 up"), wait=False)
    running = task.state in {"submitted", "working"}
    while task.state in {"submitted", "working"}:
        await asyncio.sleep(0.05)
        task = await caller.get(task.id)
    return {"running": running, "state": task.state, "text": task.text}


async def message(caller: Caller) -> Facts:
    """An answer without a task."""
    answer = await caller.send(Say("tell hello"))
    return {"state": answer.state, "text": answer.note}


async def stream(caller: Caller) -> Facts:
    """A stream begins with the task and brings the whole text as it grows."""
    seen = await watch(caller.stream(Say("count 20 0.03 up")))
    grew = seen["chunks"] >= 10 and seen["seconds"] > 0.25
    pieces = "many" if grew else f"{seen['chunks']} in {seen['seconds']} s"
    return {"first": seen["first"], "pieces": pieces, "text": seen["text"], "state": seen["state"]}


async def stream_message(caller: Caller) -> Facts:
    """An answer without a task is the only event of its stream."""
    events = [event async for event in caller.stream(Say("tell hello"))]
    return {"kinds": [event.kind for event in events], "text": events[0].seen.note if events[0].seen else ""}


async def get(caller: Caller) -> Facts:
    """A task got by its id."""
    sent = await caller.send(Say("say keep this"))
    task = await caller.get(sent.id)
    same = (task.id, task.context) == (sent.id, sent.context)
    return {"state": task.state, "text": task.text, "same": same}


async def history(caller: Caller) -> Facts:
    """A task got with its history, and with the last message of it alone."""
    sent = await caller.send(Say("say keep this"))
    everything = await caller.get(sent.id)
    last = await caller.get(sent.id, history=1)
    return {"first": everything.history[:1], "at_most_one": len(last.history) <= 1}


async def pages(caller: Caller) -> Facts:
    """The tasks of a context in pages, newest first."""
    context = str(uuid.uuid4())
    sent = [(await caller.send(Say(f"say {number}", context=context))).id for number in range(3)]
    sizes: list[int] = []
    found: list[str] = []
    page = Page([], 0, "")
    for _ in range(5):
        page = await caller.page(context, 2, page.token)
        sizes.append(len(page.ids))
        found += page.ids
        if not page.token:
            break
    return {"sizes": sizes, "total": page.total, "newest_first": found == sent[::-1]}


async def cancel(caller: Caller) -> Facts:
    """A running task is cancelled, and stays so."""
    task = await caller.send(Say("count 400 0.05 up"), wait=False)
    running = task.state in {"submitted", "working"}
    canceled = await caller.cancel(task.id)
    return {"running": running, "state": canceled.state, "later": (await caller.get(task.id)).state}


async def subscribe(caller: Caller) -> Facts:
    """A subscriber sees the task as it is, and then all that happens to it."""
    task = await begun(caller, await caller.send(Say(ENDLESS), wait=False))
    seen = await watch(ended(caller, task.id, caller.subscribe(task.id)))
    words = seen["text"].split()
    missed = {str(number) for number in range(1, int(words[-1]))} - set(words) if words else "everything"
    return {"first": seen["first"], "missed": missed, "count": count(seen["text"]), "state": seen["state"]}


async def leave(caller: Caller) -> Facts:
    """A stream that was left does not touch the task; who comes back sees its end."""
    task_id = ""
    async with aclosing(caller.stream(Say(ENDLESS))) as events:
        async for event in events:
            if event.seen is not None:
                task_id = event.seen.id
            if event.kind == "artifact":
                break
    seen = await watch(ended(caller, task_id, caller.subscribe(task_id)))
    return {"state": seen["state"], "count": count((await caller.get(task_id)).text)}


async def follow_up(caller: Caller) -> Facts:
    """A question is answered by a second message."""
    asked = await caller.send(Say("count 5 0.01"))
    done = await caller.send(Say("down", task=asked))
    return {
        "asked": asked.state,
        "question": asked.note,
        "state": done.state,
        "text": done.text,
        "same": (done.id, done.context) == (asked.id, asked.context),
    }


async def stream_follow_up(caller: Caller) -> Facts:
    """The same with streams."""
    asked = await watch(caller.stream(Say("count 5 0.01")))
    task = await caller.send(Say("count 5 0.01"))
    answer = await watch(caller.stream(Say("up", task=task)))
    return {"asked": asked["state"], "text": answer["text"], "state": answer["state"]}


async def authorization(caller: Caller) -> Facts:
    """A task that waits for an authorization is told of."""
    task = await caller.send(Say("enter"))
    return {"state": task.state, "note": task.note}


async def many_at_once(caller: Caller) -> Facts:
    """Thirty messages at the same time, each with its own answer."""
    words = [f"word {number}" for number in range(30)]
    tasks = await asyncio.gather(*(caller.send(Say(f"say {word}")) for word in words))
    return {"texts": [task.text for task in tasks] == words, "ids": len({task.id for task in tasks})}


TEXT = '\u00e4\u2028\u0085 \U0001f600\t"\\"\r\n\r\ndata: x\n\n e\u0301'


async def letters(caller: Caller) -> Facts:
    """Letters and line ends of all kinds, whole and as a stream."""
    whole = (await caller.send(Say(f"say {TEXT}"))).text
    streamed = (await watch(caller.stream(Say(f"say {TEXT}"))))["text"]
    return {"whole": whole, "streamed": streamed}


RAW = base64.b64encode(bytes(range(0, 256, 5))).decode()
FILES: tuple[Part, ...] = (
    {"raw": RAW, "type": "image/png", "name": "dot.png"},
    {"url": "https://example.com/a.pdf", "type": "application/pdf", "name": "a.pdf"},
)
DATA: Part = {"data": {"list": [1, 2.5, "three", True, {"deep": {}}], "empty": [], "null": None}}


def _named(part: Part) -> Part:
    return {key: part.get(key) for key in ("raw", "url", "type") if key in part}


async def files(caller: Caller) -> Facts:
    """A file inline and a file by its URL, there and back."""
    task = await caller.send(Say("parts", parts=FILES))
    return {"state": task.state, "parts": [_named(part) for part in task.parts]}


async def file_names(caller: Caller) -> Facts:
    """The names of these files."""
    task = await caller.send(Say("parts", parts=FILES))
    return {"names": [part.get("name") for part in task.parts]}


async def large_file(caller: Caller) -> Facts:
    """A file of a mebibyte, there and back."""
    raw = base64.b64encode(bytes(range(256)) * 4096).decode()
    task = await caller.send(Say("parts", parts=({"raw": raw, "type": "image/png"},)))
    return {"same": [part.get("raw") for part in task.parts] == [raw]}


async def data(caller: Caller) -> Facts:
    """Structured data, there and back."""
    task = await caller.send(Say("parts", parts=(DATA,)))
    return {"state": task.state, "data": [part.get("data") for part in task.parts]}


METADATA: dict[str, Any] = {"https://example.com/a": {"n": [1, {"b": False}]}, "word": "\u00e4"}


async def metadata(caller: Caller) -> Facts:
    """Metadata of a message reach the agent."""
    task = await caller.send(Say("show", metadata=METADATA))
    return {"metadata": [part.get("data") for part in task.parts]}


async def failures(caller: Caller) -> Facts:
    """Tasks that end as failed and as rejected, with the reason."""
    failed, rejected = await caller.send(Say("fail")), await caller.send(Say("reject"))
    return {"failed": [failed.state, failed.note], "rejected": [rejected.state, rejected.note]}


async def unknown_task(caller: Caller) -> Facts:
    """Errors for a task that does not exist."""
    nobody = str(uuid.uuid4())
    task = Seen(nobody, "", "")
    return {
        "get": await fault(caller, caller.get(nobody)),
        "cancel": await fault(caller, caller.cancel(nobody)),
        "subscribe": await fault(caller, watch(caller.subscribe(nobody))),
        "send": await fault(caller, caller.send(Say("say more", task=task))),
    }


async def ended_task(caller: Caller) -> Facts:
    """Errors for a task that has ended."""
    done = await caller.send(Say("say done"))
    return {
        "cancel": await fault(caller, caller.cancel(done.id)),
        "send": await fault(caller, caller.send(Say("say more", task=done))),
    }


async def subscribe_to_ended(caller: Caller) -> Facts:
    """1.0 refuses a subscriber of a task that has ended; 0.3 shows the task once."""
    done = await caller.send(Say("say done"))
    return {"answer": await fault(caller, watch(caller.subscribe(done.id)))}


async def extended_card(caller: Caller) -> Facts:
    """The card for those who ask for more."""
    return {"name": await caller.extended_card()}


async def tenant(caller: Caller) -> Facts:
    """A tenant's task is found by the tenant."""
    task = await caller.send(Say("say mine", tenant="acme"))
    again = await caller.get(task.id, tenant="acme")
    return {"text": task.text, "found": again.id == task.id, "elsewhere": await fault(caller, caller.get(task.id))}


SCENARIOS: dict[str, Callable[[Caller], Awaitable[Facts]]] = {
    scenario.__name__: scenario
    for scenario in (
        blocking,
        at_once,
        message,
        stream,
        stream_message,
        get,
        history,
        pages,
        cancel,
        subscribe,
        leave,
        follow_up,
        stream_follow_up,
        authorization,
        many_at_once,
        letters,
        files,
        file_names,
        large_file,
        data,
        metadata,
        failures,
        unknown_task,
        ended_task,
        subscribe_to_ended,
        extended_card,
        tenant,
        webhook_settings,
        webhook,
        webhook_with_message,
    )
}


HEAVY = ("many_at_once", "large_file")


async def see(caller: Caller, names: Sequence[str]) -> dict[str, Facts]:
    """The facts of these scenarios, which run at the same time, and the heavy ones after the others."""
    facts: dict[str, Facts] = {}
    for heavy in (False, True):
        group = [name for name in names if (name in HEAVY) is heavy]
        facts.update(zip(group, await asyncio.gather(*(_one(caller, name) for name in group)), strict=True))
    return facts


async def _one(caller: Caller, name: str) -> Facts:
    try:
        async with asyncio.timeout(PATIENCE):
            return await SCENARIOS[name](caller)
    except Exception:  # noqa: BLE001 -- whatever broke is what the test reports
        return {"broken": traceback.format_exc()}
