"""Processes of the program without the wait for an interpreter: forked from one that has imported everything.

Each is a process of its own, with its own arguments, environment, working directory and streams, and ends as an
interpreter ends. Run as a module this is the process they are forked from.
"""

import asyncio
import gc
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["Child", "Nursery"]

ROOT = Path(__file__).parents[2]
_IMPORTED = ("aiohttp", "dragoman.cli.card", "dragoman.cli.serve", "dragoman.cli.sending", "dragoman.cli.tasks")
_MESSAGE = 1 << 20


class Child:
    """A forked process, as its parent sees it. Each stream is a pipe, unless the parent brought an end of its own."""

    def __init__(self) -> None:
        self.stdout = asyncio.StreamReader()
        self.stderr = asyncio.StreamReader()
        self.returncode: int | None = None
        self._status = asyncio.StreamReader()
        self._stdin = -1
        self._pid = 0
        self._pipes: list[asyncio.ReadTransport] = []

    async def born(self, stdin: int, stdout: int | None, stderr: int, status: int) -> Self:
        """Takes over the ends of its pipes, and waits until it runs."""
        self._stdin = stdin
        for descriptor, reader in ((stdout, self.stdout), (stderr, self.stderr), (status, self._status)):
            if descriptor is not None:
                await self._connect(descriptor, reader)
        self._pid = int(await self._status.readline())
        return self

    async def _connect(self, descriptor: int, reader: asyncio.StreamReader) -> None:
        pipe = os.fdopen(descriptor, "rb", 0)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, pipe)
        self._pipes.append(transport)

    def feed(self, data: bytes) -> None:
        """Writes all of standard input, which must fit into a pipe, and ends it."""
        os.write(self._stdin, data)
        os.close(self._stdin)

    def send_signal(self, number: int) -> None:
        os.kill(self._pid, number)

    async def wait(self) -> int:
        """The exit code, or minus the signal that ended it."""
        if self.returncode is None:
            self.returncode = int(await self._status.readline())
        return self.returncode

    async def end(self) -> None:
        """Leaves nothing of it behind."""
        if self.returncode is None:
            self.send_signal(signal.SIGKILL)
            await self.wait()
        for pipe in self._pipes:
            pipe.close()


class Nursery:
    """Where processes are forked from; a context manager."""

    def __enter__(self) -> Self:
        self._channel, theirs = socket.socketpair()
        environment = {
            **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
            "PYTHONPATH": str(ROOT),
            "PYTHONWARNINGS": "error",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._channel.close()
        self._process.wait(30)

    async def fork(
        self, args: Sequence[str], *, cwd: Path, env: Mapping[str, str], piped: bool = False, out: int | None = None
    ) -> Child:
        """A process that runs the program with these arguments. Without `piped` nothing stands on standard input;
        `out` is a descriptor that is taken for standard output instead of a pipe.
        """
        in_read, in_write = os.pipe()
        out_read, out_write = (None, os.dup(out)) if out is not None else os.pipe()
        err_read, err_write = os.pipe()
        status_read, status_write = os.pipe()
        if not piped:
            os.close(in_write)
        given = (in_read, out_write, err_write, status_write)
        request = json.dumps({"args": list(args), "cwd": str(cwd), "env": dict(env)}).encode()
        socket.send_fds(self._channel, [request + b"\n"], given)
        for descriptor in given:
            os.close(descriptor)
        return await Child().born(in_write, out_read, err_read, status_read)


def _serve(channel: socket.socket) -> None:
    """Forks for every request, until nobody can send any; returns in each process that is to run the program."""
    while True:
        message, given, _, _ = socket.recv_fds(channel, _MESSAGE, 4)
        if not message:
            os._exit(0)
        while not message.endswith(b"\n"):
            message += channel.recv(_MESSAGE)
        if os.fork() == 0:
            channel.close()
            _supervise(json.loads(message), given)
            return
        for descriptor in given:
            os.close(descriptor)


def _supervise(request: dict[str, Any], given: Sequence[int]) -> None:
    """Tells the pid and the exit code of the process that returns from here."""
    *streams, status = given
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid:
        for descriptor in streams:
            os.close(descriptor)
        os.write(status, b"%d\n" % pid)
        _, ended = os.waitpid(pid, 0)
        os.write(status, b"%d\n" % os.waitstatus_to_exitcode(ended))
        os._exit(0)
    os.close(status)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["dragoman", *request["args"]]


def _main() -> None:
    for name in _IMPORTED:
        import_module(name)
    # What is shared with every process is not collected in each.
    gc.collect()
    gc.freeze()
    # Nobody waits for the supervisors.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _serve(socket.socket(fileno=int(sys.argv[1])))
    from dragoman.cli.main import main

    main()


if __name__ == "__main__":
    _main()
