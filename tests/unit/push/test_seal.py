"""Sealed configurations: unreadable, bound to their place, and of one key."""

import os
import subprocess
import sys

import pytest

from dragoman.push.seal import KEY_BYTES, Seal, SealBroken, derived
from dragoman.types.push import AuthenticationInfo, TaskPushNotificationConfig

CONFIG = TaskPushNotificationConfig(
    url="https://hook.example/secret-path",
    id="c",
    task_id="t",
    tenant="ours",
    token="secret-token",
    authentication=AuthenticationInfo(scheme="Bearer", credentials="secret-credentials"),
)


def seal(number: int = 1) -> Seal:
    return Seal(lambda: bytes([number]) * KEY_BYTES)


def test_what_is_sealed_opens_as_it_was() -> None:
    for config in (CONFIG, TaskPushNotificationConfig(url="https://hook.example")):
        assert seal().open(seal().seal(config, "t", "c"), "t", "c") == config


def test_nothing_of_it_can_be_read_and_no_two_are_alike() -> None:
    sealed = {seal().seal(CONFIG, "t", "c") for _ in range(20)}
    assert len(sealed) == 20
    assert not [word for word in (b"secret", b"hook", b"Bearer", b"ours") for one in sealed if word in one]


@pytest.mark.parametrize(("task_id", "config_id"), [("t", "d"), ("u", "c"), ("", "tc"), ("tc", ""), ("", "c")])
def test_it_opens_only_for_the_task_and_the_id_that_it_was_sealed_for(task_id: str, config_id: str) -> None:
    with pytest.raises(SealBroken):
        seal().open(seal().seal(CONFIG, "t", "c"), task_id, config_id)


def test_another_key_does_not_open_it() -> None:
    with pytest.raises(SealBroken) as caught:
        seal(2).open(seal(1).seal(CONFIG, "t", "c"), "t", "c")
    assert "key" in str(caught.value)


def test_what_was_changed_or_cut_anywhere_does_not_open() -> None:
    sealed = seal().seal(CONFIG, "t", "c")
    changed = [sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :] for at in range(len(sealed))]
    for wrong in (*changed, *(sealed[:length] for length in range(len(sealed)))):
        with pytest.raises(SealBroken):
            seal().open(wrong, "t", "c")


def test_the_key_is_asked_for_once_and_only_when_it_is_needed() -> None:
    asked: list[bytes] = []

    def key() -> bytes:
        asked.append(b"k" * KEY_BYTES)
        return asked[-1]

    one = Seal(key)
    assert asked == []
    one.open(one.seal(CONFIG, "t", "c"), "t", "c")
    assert len(asked) == 1


def test_a_secret_of_any_length_stands_for_one_key() -> None:
    keys = {derived(secret) for secret in ("a", "b", "ä" * 1_000)}
    assert len(keys) == 3
    assert {len(key) for key in keys} == {KEY_BYTES}
    assert derived("a") in keys


def test_no_two_seals_of_one_key_begin_alike() -> None:
    one = seal()
    assert len({one.seal(CONFIG, "t", "c")[:13] for _ in range(1_000)}) == 1_000


FORKED = """
import os
from dragoman.push.seal import Seal
from dragoman.types.push import TaskPushNotificationConfig
one = Seal(lambda: bytes(32))
def begun(): return one.seal(TaskPushNotificationConfig(url="https://hook.example"), "t", "c")[:13].hex()
begun()
child = os.fork()
os.write(1, f"{begun()}\\n".encode())
if child:
    os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only there do processes fork")
def test_a_forked_process_seals_otherwise_than_its_parent() -> None:
    ran = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True, timeout=60)
    assert len(set(ran.stdout.split())) == 2


def test_a_sealed_number_tells_nothing_and_opens_where_it_was_sealed_alone() -> None:
    seal = Seal(lambda: bytes(32))
    one, again = seal.seal_number(7, "task", "ann"), seal.seal_number(7, "task", "ann")
    assert one != again
    assert len(one) == len(seal.seal_number(2**62, "task", "ann"))
    assert seal.open_number(one, "task", "ann") == seal.open_number(again, "task", "ann") == 7
    for text, place in ((one, ("task", "bob")), (one, ("other", "ann")), (one, ("tas", "kann")), ("", ("task", "ann"))):
        with pytest.raises(SealBroken):
            seal.open_number(text, *place)
    for wrong in ("7", "nonsense", "ü", "\ud800", one[:-4], one + "AAAA", "A" + one[1:]):
        with pytest.raises(SealBroken):
            seal.open_number(wrong, "task", "ann")
    with pytest.raises(SealBroken):
        Seal(lambda: bytes(31) + b"1").open_number(one, "task", "ann")
