"""How much an agent puts into a task."""

from collections.abc import Iterable, Mapping

from dragoman.core.weight import size_of, weight_of
from dragoman.ports.agent import TooLarge
from dragoman.ports.limits import CallLimits
from dragoman.types.content import Artifact, Message

__all__ = ["Volume"]

TEXT = ""
"""Stands for the artifact that chunks of text are going into."""


class Volume:
    """Counts what one run makes, and with it the `artifacts` that its task had before."""

    __slots__ = ("_artifacts", "_limits", "_made", "_sizes", "overflow")

    def __init__(self, limits: CallLimits, artifacts: Iterable[Artifact] = ()) -> None:
        self._limits = limits
        self._artifacts = artifacts
        self.overflow: TooLarge | None = None
        """Why the task cannot go on, if it has become too large."""
        self.begin()

    def begin(self) -> None:
        """Nothing was made yet that counts."""
        self._sizes = {artifact.artifact_id: size_of(artifact) for artifact in self._artifacts}
        self._made = sum(self._sizes.values()) if self._sizes else 0

    def replace(self, left: Mapping[str, Artifact | None]) -> None:
        """These artifacts count as they were before, or not at all."""
        before = [left.get(artifact.artifact_id, artifact) for artifact in self._artifacts]
        self._artifacts = [artifact for artifact in before if artifact is not None]
        self.begin()

    def text(self, size: int) -> None:
        """A chunk of the text that goes on. Raises as `artifact` does."""
        self._made += size
        self._sizes[TEXT] = own = self._sizes.get(TEXT, 0) + size
        self._check(own)

    def end_text(self) -> None:
        """Later chunks are another text's."""
        self._sizes.pop(TEXT, None)

    def artifact(self, artifact: Artifact, *, append: bool) -> int:
        """The size of an artifact, or of a chunk of one.

        Raises:
            TooLarge: it is too much, alone or with all that the task has; and so is what comes after it.
        """
        size = size_of(artifact)
        self._made += size
        self._sizes[artifact.artifact_id] = own = size + (self._sizes.get(artifact.artifact_id, 0) if append else 0)
        self._check(own)
        return size

    def note(self, message: Message | None) -> None:
        """A message about how it goes. It passes, but the log has it. Raises as `artifact` does."""
        self._made += weight_of(message)
        self._check(0)

    def _check(self, own: int) -> None:
        most_own, most = self._limits.max_artifact_bytes, self._limits.max_task_bytes
        if most_own is not None and own > most_own:
            self._exceed("artifact-too-large")
        if (most is not None and self._made > most) or self.overflow is not None:
            self._exceed("task-too-large")

    def _exceed(self, reason: str) -> None:
        self.overflow = self.overflow or TooLarge(reason)
        raise TooLarge(self.overflow.reason)
