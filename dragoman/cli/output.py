"""Where output goes: payload on standard output, everything else on standard error, redacted."""

import sys
from collections.abc import Iterable

import msgspec

from dragoman.cli.credentials import Redactor
from dragoman.cli.failures import Failure
from dragoman.cli.render import Label, field, visible

__all__ = ["Output"]


class Output:
    """Writes as the options ask: text or JSON, one document or (`stream`) one compact line per object."""

    def __init__(self, redact: Redactor, *, json: bool, stream: bool, verbose: bool, debug: bool) -> None:
        self.redact = redact
        self.json = json
        self.stream = stream
        self.verbose = verbose
        self._debug = debug

    def document(self, encoded: bytes) -> None:
        """JSON payload: indented, or on one line where lines are streamed. Flushed."""
        shown = encoded if self.stream else msgspec.json.format(encoded, indent=2)
        sys.stdout.buffer.write(shown + b"\n")
        sys.stdout.buffer.flush()

    def lines(self, lines: Iterable[str]) -> None:
        """Text payload. Flushed."""
        text = "".join(line + "\n" for line in lines)
        if self.verbose:
            text = self.redact(text)
        sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()

    def note(self, text: str) -> None:
        """A line for people, on standard error."""
        _to_standard_error(visible(self.redact(text)))

    def warn(self, text: str) -> None:
        self.note(f"Warning: {text}")

    def debug(self, text: str) -> None:
        """What the program does, where `--debug` asks for it."""
        if self._debug:
            self.note(f"debug: {text}")

    def fail(self, failure: Failure) -> None:
        """The error: as the payload in JSON output, else on standard error."""
        safe = failure._replace(
            message=self.redact(failure.message), hint=None if failure.hint is None else self.redact(failure.hint)
        )
        if self.json:
            self.document(msgspec.json.encode(safe.envelope()))
            return
        _to_standard_error(field(Label.ERROR, safe.code))
        _to_standard_error(field(Label.MESSAGE, safe.message))
        if safe.hint is not None:
            _to_standard_error(field(Label.HINT, safe.hint))


def _to_standard_error(line: str) -> None:
    sys.stderr.buffer.write((line + "\n").encode("utf-8", "backslashreplace"))
    sys.stderr.buffer.flush()
