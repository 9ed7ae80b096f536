"""What an audit is told of calls: of each one decision, whatever became of it otherwise."""

from collections.abc import Iterable
from typing import Any

from dragoman.correlation import correlation
from dragoman.dialects.base import Call
from dragoman.errors import (
    A2AError,
    LimitExceededError,
    PermissionDeniedError,
    RequestTooLargeError,
    TaskNotFoundError,
    UnauthenticatedError,
)
from dragoman.ports.audit import Audit, Decision, Outcome
from dragoman.ports.auth import Peer
from dragoman.ports.call import CallContext
from dragoman.ports.webhook import AddressRefused

__all__ = ["Account", "request_id"]

# That a task is not there is also what those are told whose task it is not.
_REFUSALS = (UnauthenticatedError, PermissionDeniedError, LimitExceededError, RequestTooLargeError, TaskNotFoundError)


class Account:
    """Tells the audit what it wants of calls."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    def allowed(self, context: CallContext, peer: Peer, call: Call, result: Any) -> None:
        """The call was answered, or has begun to be."""
        if self._audit.wants("allowed"):
            self._keep("allowed", context, peer, call, task_id=_task_of(call.request, result))

    def entered(self, context: CallContext, peer: Peer) -> None:
        """Somebody was let in by a binding from outside, whose calls are not known here."""
        if self._audit.wants("allowed"):
            self._keep("allowed", context, peer, None, task_id="")

    def failed(self, error: A2AError, context: CallContext, peer: Peer, call: Call | None = None) -> None:
        """The caller got an error: it was refused if that is what the error means, else it was let in, in vain."""
        reason = _reason(error)
        outcome: Outcome = "refused" if reason else "allowed"
        if self._audit.wants(outcome):
            task_id = "" if call is None else _task_of(call.request, None)
            self._keep(outcome, context, peer, call, task_id=task_id, reason=reason)

    def owner(self, operation: str, task_ids: Iterable[str]) -> None:
        """The owner of the agent has done to these tasks what no caller can."""
        if self._audit.wants("allowed"):
            for task_id in task_ids:
                told = Decision(
                    outcome="allowed", operation=f"owner:{operation}", task_id=task_id, request_id=request_id()
                )
                self._audit.keep(told)

    def _keep(
        self,
        outcome: Outcome,
        context: CallContext,
        peer: Peer,
        call: Call | None,
        *,
        task_id: str,
        reason: str = "",
    ) -> None:
        decision = Decision(
            outcome=outcome,
            reason=reason,
            operation="" if call is None else call.operation.name,
            dialect=context.dialect,
            principal=context.principal,
            peer=peer,
            task_id=task_id,
            request_id=request_id(),
        )
        self._audit.keep(decision)


def request_id() -> str:
    """That of the call which is being answered, as in the logs; empty outside of one."""
    found = correlation()
    return "" if found is None else found.id


def _reason(error: A2AError) -> str:
    """Why the caller was refused; empty if it was not."""
    if isinstance(error.__cause__, AddressRefused):
        return "ADDRESS_REFUSED"
    return error.reason if isinstance(error, _REFUSALS) else ""


def _task_of(request: Any, result: Any) -> str:
    """The id of the task that a call is about, by what came of it, else by what it names."""
    for told in (result, request, getattr(request, "message", None)):
        for name in ("task_id", "id"):
            found = getattr(told, name, None)
            if isinstance(found, str) and found:
                return found
    return ""
