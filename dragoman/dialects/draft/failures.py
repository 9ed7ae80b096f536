"""Errors of the 1.0 draft: problem documents over HTTP+JSON, an object beside the code over JSON-RPC.

Source: draft sections 5.4, 6.4, 6.5, 9.5 and 11.6. What is wrong with single members has no type of its own there.
"""

import re
from typing import Any

from dragoman import errors
from dragoman.dialects.base import Call, Refusal
from dragoman.dialects.failures import object_of, sendable
from dragoman.errors import A2AError, FieldViolation, InvalidParamsError

__all__ = ["as_sent", "data_of", "problem_of"]

_TYPES = "https://a2a-protocol.org/errors/"
_TYPED = frozenset(
    {
        errors.TaskNotFoundError,
        errors.TaskNotCancelableError,
        errors.PushNotificationNotSupportedError,
        errors.UnsupportedOperationError,
        errors.ContentTypeNotSupportedError,
        errors.InvalidAgentResponseError,
        errors.ExtendedAgentCardNotConfiguredError,
        errors.ExtensionSupportRequiredError,
        errors.VersionNotSupportedError,
    }
)
_SPELLINGS = (
    (re.compile(r"(parts\[\d+\])\.raw"), r"\1.file.fileWithBytes"),
    (re.compile(r"(parts\[\d+\])\.url"), r"\1.file.fileWithUri"),
    (re.compile(r"(parts\[\d+\])\.mediaType"), r"\1.file.mediaType"),
    (re.compile(r"(parts\[\d+\])\.filename"), r"\1.file.name"),
    (re.compile(r"\btaskPushNotificationConfig\b"), "pushNotificationConfig"),
    (re.compile(r"\bauthentication\.scheme\b"), "authentication.schemes[0]"),
    (re.compile(r"\bstatusTimestampAfter\b"), "lastUpdatedAfter"),
    (re.compile(r"exactly one of text, raw, url, data"), "exactly one of text, file, data"),
)


def as_sent(outcome: Call | Refusal) -> Call | Refusal:
    """The outcome; a refusal names members as the draft calls them."""
    if not isinstance(outcome, Refusal) or not isinstance(outcome.error, InvalidParamsError):
        return outcome
    given = outcome.error
    violations = [FieldViolation(_as_sent(one.field), _as_sent(one.description)) for one in given.violations]
    error = InvalidParamsError(_as_sent(given.message), details=given.details, violations=violations)
    return Refusal(error, outcome.reply_to)


def _as_sent(text: str) -> str:
    for ours, spelling in _SPELLINGS:
        text = ours.sub(spelling, text)
    return text


def problem_of(error: A2AError, cls: type[A2AError], http: int) -> dict[str, Any]:
    """The problem document (RFC 9457); the error's details are extension members and never hide its own."""
    words = cls.reason.lower().split("_")
    kind = {"type": _TYPES + "-".join(words)} if cls in _TYPED else {}
    about = {"title": " ".join(word.capitalize() for word in words), "status": http, "detail": sendable(error.message)}
    return {**kind, **about, **{name: value for name, value in data_of(error).items() if name not in (*kind, *about)}}


def data_of(error: A2AError) -> dict[str, Any]:
    """The details of an error, with what is wrong with single members as `errors` and versions as an array."""
    details = object_of(error)
    versions = details.get("supportedVersions")
    return {**details, "supportedVersions": versions.split(", ")} if isinstance(versions, str) else details
