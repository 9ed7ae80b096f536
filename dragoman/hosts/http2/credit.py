"""Receive windows: what a peer may send, given back as the application reads."""

__all__ = ["Credit"]


class Credit:
    """The window of a stream or of the connection; a peer can keep us holding `size` bytes and no more."""

    __slots__ = ("_left", "_owed", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._left = size
        self._owed = 0

    def arrived(self, count: int) -> bool:
        """Whether these bytes, padding counted, were within the window."""
        self._left -= count
        return self._left >= 0

    def used(self, count: int) -> int:
        """How much to give back now that these bytes are out of our hands; 0 until it is worth a frame."""
        owed = self._owed + count
        if 2 * owed < self._size:
            self._owed = owed
            return 0
        self._owed = 0
        self._left += owed
        return owed
