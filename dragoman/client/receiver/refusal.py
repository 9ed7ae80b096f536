"""What is answered to a notification that is not taken."""

__all__ = ["Refused"]


class Refused(Exception):
    """The answer: an HTTP status, a few words without secrets, and after how many seconds to come again, if at all."""

    def __init__(self, status: int, why: str, retry_after: float | None = None) -> None:
        self.status = status
        self.why = why
        self.retry_after = retry_after
        super().__init__(why)
