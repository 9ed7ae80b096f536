"""Servers in processes of their own: for the demonstration, the bench and the tests with official SDKs."""

import socket
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from urllib.error import URLError
from urllib.request import urlopen

__all__ = ["CARD_PATH", "free_port", "running"]

CARD_PATH = "/.well-known/agent-card.json"
PATIENCE = 20.0
"""Seconds for a server to answer first, and for it to end when told so."""
PACE = 0.02


def free_port() -> int:
    """A port of the loopback interface that nobody listened on a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def running(
    argv: Sequence[str], url: str, log: Path, *, cwd: Path | None = None
) -> Generator["subprocess.Popen[bytes]"]:
    """Runs a server until the block ends; the block begins when `url` answers. Both waits are bounded.

    What the server prints goes to `log`, whose end is in the error if the server does not come up.

    Raises:
        RuntimeError: it ended early, did not answer, or had to be killed in the end.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=cwd)
    try:
        _await_answer(process, url, log)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise RuntimeError(f"{argv} did not end on SIGTERM:\n{_end_of(log)}") from None


def _await_answer(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    deadline = monotonic() + PATIENCE
    while monotonic() < deadline:
        try:
            with urlopen(url, timeout=PATIENCE):  # noqa: S310 - a loopback address
                return
        except (URLError, OSError):
            try:
                process.wait(PACE)
            except subprocess.TimeoutExpired:
                continue
            raise RuntimeError(f"The server ended with code {process.returncode}:\n{_end_of(log)}") from None
    raise RuntimeError(f"Nothing answered at {url}:\n{_end_of(log)}")


def _end_of(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-4000:]
