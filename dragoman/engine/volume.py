"""How much an agent puts into a task."""

import math
from collections.abc import Mapping, Sequence

from dragoman.core.weight import size_of, weight_of
from dragoman.ports.agent import TooLarge
from dragoman.ports.limits import CallLimits
from dragoman.types.content import Artifact, Message

__all__ = ["Volume"]


class Volume:
    """Counts what one run makes, and with it the `artifacts` that its task had before.

    Whatever counts raises `TooLarge` if it is too much, alone or with all that the task has. What is only repeated, in
    silence, counts without that, and not any more once it is forgotten.
    """

    __slots__ = ("_artifacts", "_made", "_most", "_most_own", "_silent", "_sizes", "_text", "overflow")

    def __init__(self, limits: CallLimits, artifacts: Sequence[Artifact] = (), *, silent: bool = False) -> None:
        self._most = limits.max_task_bytes or math.inf
        self._most_own = limits.max_artifact_bytes or math.inf
        self._artifacts = artifacts
        self._silent = silent
        self.overflow: TooLarge | None = None
        """Why the task cannot go on, if it has become too large."""
        self._text = self._made = 0
        self._sizes: dict[str, int] = {}
        if artifacts and not silent:
            self.begin()

    def begin(self) -> None:
        """Nothing was made yet that counts."""
        self._text = 0
        self._sizes = {}
        self._made = 0
        if self._artifacts and not self._silent:
            self._sizes = {artifact.artifact_id: size_of(artifact) for artifact in self._artifacts}
            self._made = sum(self._sizes.values())

    def speak(self) -> None:
        """What comes from now on is not repeated; what came before is forgotten."""
        self._silent = False
        self.begin()

    def replace(self, left: Mapping[str, Artifact | None]) -> None:
        """These artifacts count as they were before, or not at all."""
        before = [left.get(artifact.artifact_id, artifact) for artifact in self._artifacts]
        self._artifacts = [artifact for artifact in before if artifact is not None]
        self.begin()

    def text(self, size: int) -> None:
        """A chunk of the text that goes on."""
        self._made += size
        self._text += size
        if self._text > self._most_own or self._made > self._most:
            self._exceed(self._text)

    def end_text(self) -> None:
        """Later chunks are another text's."""
        self._text = 0

    def artifact(self, artifact: Artifact, *, append: bool) -> int:
        """The size of an artifact, or of a chunk of one."""
        size = size_of(artifact)
        own = size + self._sizes.get(artifact.artifact_id, 0) if append else size
        self._sizes[artifact.artifact_id] = own
        self._made += size
        if own > self._most_own or self._made > self._most:
            self._exceed(own)
        return size

    def note(self, message: Message | None) -> None:
        """A message about how it goes. It passes, but the log has it."""
        self._made += weight_of(message)
        if self._made > self._most:
            self._exceed(0)

    def _exceed(self, own: int) -> None:
        reason = "artifact-too-large" if own > self._most_own else "task-too-large"
        self.overflow = self.overflow or TooLarge(reason)
        raise TooLarge(reason)
