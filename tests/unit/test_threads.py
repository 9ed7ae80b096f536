"""Threads that may be left where they are."""

import asyncio
import subprocess
import sys
import threading

import pytest

from dragoman.threads import LooseThreads


async def test_work_is_done_in_threads_and_its_result_comes_back() -> None:
    threads, loop = LooseThreads(2, "loose"), asyncio.get_running_loop()
    both = threading.Barrier(2)

    def meet(word: str) -> tuple[str, str]:
        both.wait(10)
        return word, threading.current_thread().name

    found = await asyncio.gather(*(loop.run_in_executor(threads, meet, word) for word in "ab"))
    assert [word for word, _ in found] == ["a", "b"]
    assert {name for _, name in found} == {"loose-1", "loose-2"}
    with pytest.raises(ZeroDivisionError):
        await loop.run_in_executor(threads, lambda: 1 // 0)
    threads.shutdown()


async def test_a_free_thread_is_used_again_and_there_are_never_more_than_may_be() -> None:
    threads, loop = LooseThreads(2, "loose"), asyncio.get_running_loop()
    names: set[str] = set()
    for _ in range(3):
        calls = [loop.run_in_executor(threads, lambda: names.add(threading.current_thread().name)) for _ in range(20)]
        await asyncio.gather(*calls)
    assert names <= {"loose-1", "loose-2"}
    threads.shutdown()


@pytest.mark.parametrize("cancels", [True, False])
def test_a_shutdown_waits_for_nobody(*, cancels: bool) -> None:
    threads = LooseThreads(1, "loose")
    begun, go = threading.Event(), threading.Event()

    def wait() -> bool:
        begun.set()
        return go.wait(10)

    running = threads.submit(wait)
    waiting = threads.submit(lambda: "done")
    assert begun.wait(10)
    threads.shutdown(cancel_futures=cancels)
    assert (running.done(), waiting.cancelled()) == (False, cancels)
    with pytest.raises(RuntimeError, match="after the shutdown"):
        threads.submit(lambda: None)
    go.set()
    assert running.result(10)
    assert cancels or waiting.result(10) == "done"


HANGS = """
import threading
from dragoman.threads import LooseThreads

begun = threading.Event()
LooseThreads(1, "loose").submit(lambda: (begun.set(), threading.Event().wait()))
assert begun.wait(10)
print("left")
"""


def test_work_that_hangs_does_not_keep_the_process() -> None:
    ended = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=20, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "left\n", "")
