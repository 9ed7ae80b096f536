"""What is decided about access, for whoever keeps account of it."""

from typing import Literal, Protocol

import msgspec

from dragoman.ports.auth import NOBODY, Peer
from dragoman.ports.call import Principal

__all__ = ["Audit", "Decision", "Outcome"]

Outcome = Literal["allowed", "refused"]


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """One decision about one call, or about one act of the agent's owner. Its `repr` shows nothing of who it was."""

    outcome: Outcome
    reason: str = ""
    """Why it was refused: the reason of the error that the caller got, or `ADDRESS_REFUSED`."""
    operation: str = ""
    """Empty if the call was refused before anything of it was looked at."""
    dialect: str = ""
    principal: Principal = Principal()
    peer: Peer = NOBODY
    task_id: str = ""
    """Which task it was about, as far as that is known."""
    request_id: str = ""
    """As in the logs (`dragoman.correlation`)."""

    def __repr__(self) -> str:
        return f"Decision({self.outcome}, {self.reason!r}, {self.operation!r}, {self.request_id!r})"


class Audit(Protocol):
    """Keeps account of decisions."""

    def wants(self, outcome: Outcome) -> bool:
        """Whether decisions with this outcome are kept: what is not is not put together."""
        ...

    def keep(self, decision: Decision) -> None:
        """Takes a decision, once it has been made and before the caller has the answer. Does not wait, and raises
        nothing.
        """
        ...
