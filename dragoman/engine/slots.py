"""How many tasks run at once, and whether others wait."""

__all__ = ["Slots"]


class Slots:
    """`most` slots, or as many as are asked for. Who finds none waits in the store, and goes first when one is free."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._taken = 0
        self.queue = False
        """Whether tasks may be waiting in the store."""
        self.shut = False
        """Whether none is given out, however many are free."""

    @property
    def free(self) -> bool:
        return not self.shut and (self._most is None or self._taken < self._most)

    def enter(self) -> bool:
        """Takes a slot for a task that has just come, if one is free and nobody waits for it."""
        if self.shut or (self._most is not None and (self.queue or self._taken >= self._most)):
            self.queue = True
            return False
        self._taken += 1
        return True

    def advance(self) -> bool:
        """Takes a slot for the task that has waited longest, if one is free."""
        if not self.free:
            return False
        self._taken += 1
        return True

    def leave(self) -> None:
        """Gives a slot back."""
        self._taken -= 1
