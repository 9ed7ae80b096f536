"""How much a run makes, together with what its task has."""

import pytest

from dragoman.engine.volume import Volume
from dragoman.ports.agent import TooLarge
from dragoman.ports.limits import CallLimits
from dragoman.types.content import Artifact, Part

LIMITS = CallLimits(max_task_bytes=1_000, max_artifact_bytes=600)


def artifact(artifact_id: str, size: int) -> Artifact:
    """Of so many bytes, those counted that a part costs."""
    return Artifact(artifact_id=artifact_id, parts=(Part(text="x" * (size - 100)),))


def too_large(reason: str) -> pytest.RaisesExc[TooLarge]:
    return pytest.raises(TooLarge, check=lambda error: error.reason == reason)


def test_what_the_task_has_counts() -> None:
    volume = Volume(LIMITS, (artifact("a", 500), artifact("b", 300)))
    volume.text(200)
    with too_large("task-too-large"):
        volume.text(1)
    assert volume.overflow is not None


def test_an_artifact_that_goes_on_counts_with_what_it_has() -> None:
    volume = Volume(LIMITS, (artifact("a", 400),))
    volume.artifact(artifact("a", 200), append=True)
    with too_large("artifact-too-large"):
        volume.artifact(artifact("a", 101), append=True)


def test_an_artifact_that_is_replaced_counts_alone_and_all_of_it_for_the_task() -> None:
    volume = Volume(LIMITS, (artifact("a", 400),))
    volume.artifact(artifact("a", 600), append=False)
    with too_large("task-too-large"):
        volume.artifact(artifact("a", 101), append=False)


def test_what_an_attempt_that_broke_off_has_left_does_not_count_when_it_is_replaced() -> None:
    volume = Volume(LIMITS, (artifact("kept", 200), artifact("left", 600), artifact("grown", 200)))
    volume.replace({"left": None, "grown": artifact("grown", 150)})
    volume.text(600)
    volume.end_text()
    volume.text(50)
    with too_large("task-too-large"):
        volume.text(1)


def test_what_is_repeated_in_silence_counts_alone() -> None:
    volume = Volume(LIMITS, (artifact("a", 500), artifact("b", 400)), silent=True)
    volume.artifact(artifact("a", 500), append=False)
    volume.artifact(artifact("b", 400), append=False)
    volume.speak()
    volume.text(100)
    with too_large("task-too-large"):
        volume.text(1)


def test_without_limits_nothing_is_too_large() -> None:
    volume = Volume(CallLimits(max_task_bytes=None, max_artifact_bytes=None))
    volume.text(10**15)
    volume.note(None)
    assert volume.overflow is None
