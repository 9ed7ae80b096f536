"""Logs whose lines say which call and which task they are about."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Literal, TextIO

from dragoman.correlation import correlation

__all__ = ["Correlated", "JsonLines", "LogForm", "configure"]

LogForm = Literal["text", "json"]
TEXT = "%(asctime)s %(levelname)-7s %(name)s [%(request_id)s] %(message)s"


class Correlated(logging.Filter):
    """Adds `request_id` and `task_id` to every record that passes, empty where there is none. For a handler: those of
    a logger see nothing of the loggers below.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        found = correlation()
        record.request_id = "" if found is None else found.id
        record.task_id = "" if found is None else found.task_id
        return True


class JsonLines(logging.Formatter):
    """One JSON object a line: `at` (UTC, milliseconds), `level`, `logger`, `message`, and where they are known
    `requestId`, `taskId` and `error` (the traceback).
    """

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {"at": at, "level": record.levelname.lower(), "logger": record.name, "message": record.getMessage()}
        line |= {
            name: value
            for name, value in (
                ("requestId", getattr(record, "request_id", "")),
                ("taskId", getattr(record, "task_id", "")),
                ("error", self.formatException(record.exc_info) if record.exc_info else ""),
            )
            if value
        }
        return json.dumps(line, ensure_ascii=False)


def configure(level: str, form: LogForm, stream: TextIO | None = None) -> logging.Handler:
    """Has all that is logged from this level on written to the stream, by default the standard error, and gives what
    does it.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.addFilter(Correlated())
    handler.setFormatter(JsonLines() if form == "json" else logging.Formatter(TEXT))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level.upper())
    return handler
