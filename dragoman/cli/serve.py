"""`dragoman serve`: an agent from a file or a module, on a port."""

import importlib
import importlib.util
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from typing import Literal

    from dragoman.agent import Agent
    from dragoman.agent.served import ConnectionLimits
    from dragoman.audit import AuditLog
    from dragoman.logs import LogForm

__all__ = ["serve"]


@click.command("serve", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("target")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=9999, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 takes a free one."
)
@click.option(
    "--store", metavar="URL", help="Where tasks are kept: memory, or sqlite:///PATH. By default what the agent says."
)
@click.option(
    "--tls-cert",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Certificate chain (PEM); serves HTTPS. Goes with --tls-key.",
)
@click.option(
    "--tls-key", type=click.Path(exists=True, dir_okay=False), metavar="FILE", help="Private key of the certificate."
)
@click.option(
    "--tls-client-ca",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Authorities (PEM) whose client certificates are taken; callers may have none. Goes with --tls-cert.",
)
@click.option("--max-connections", type=click.IntRange(1), metavar="N", help="Open at once. By default 2000.")
@click.option(
    "--max-connections-per-address",
    type=click.IntRange(1),
    metavar="N",
    help="Of one address, this machine and trusted proxies not counted. By default 200.",
)
@click.option(
    "--card-shape",
    type=click.Choice(["everyone", "strict-1.0"]),
    help="strict-1.0 leaves out of the card what only readers of 0.3 look for. By default what the agent says.",
)
@click.option(
    "--audit",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Append each decision about access to FILE, as a line of JSON, without personal data.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="warning",
    show_default=True,
    help="What is written to the standard error.",
)
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="And in which form."
)
def serve(  # noqa: PLR0917 -- click passes them by name
    target: str,
    host: str,
    port: int,
    store: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    tls_client_ca: str | None,
    max_connections: int | None,
    max_connections_per_address: int | None,
    card_shape: 'Literal["everyone", "strict-1.0"] | None',
    audit: str | None,
    log_level: str,
    log_format: "LogForm",
) -> None:
    """Serve the agent TARGET: path/to/file.py:name or module:name.

    The name may be left out where there is one agent only, or one that is called agent.
    """
    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("--tls-cert and --tls-key go together")
    if tls_client_ca is not None and tls_cert is None:
        raise click.UsageError("--tls-client-ca goes with --tls-cert and --tls-key")
    tls = None if tls_cert is None or tls_key is None else (tls_cert, tls_key)
    from dragoman.logs import configure

    configure(log_level, log_format)
    kept = None if audit is None else _audit_log(audit)
    agent = _agent_at(target)
    # The usual way to stop a server is no failure.
    with suppress(KeyboardInterrupt):
        try:
            agent.run(
                host,
                port,
                store=store,
                tls=tls,
                client_ca=tls_client_ca,
                connections=_connections(max_connections, max_connections_per_address),
                card_shape=card_shape,
                audit=kept,
                announce=_announce,
            )
        except SystemExit as ended:
            # It has said why. Its code would mean something else here.
            if ended.code:
                raise click.exceptions.Exit(1) from ended


def _connections(most: int | None, most_per_address: int | None) -> "ConnectionLimits":
    from dragoman.agent.served import ConnectionLimits

    stated = {"most": most, "most_per_address": most_per_address}
    return ConnectionLimits(**{name: value for name, value in stated.items() if value is not None})


def _audit_log(path: str) -> "AuditLog":
    from dragoman.audit import AuditLog

    try:
        return AuditLog(path)
    except OSError as error:
        raise click.UsageError(f"--audit {path}: {error.strerror}") from error


def _announce(line: str) -> None:
    click.echo(line)


def _agent_at(target: str) -> "Agent":
    place, name = _split(target)
    module = _file(Path(place)) if place.endswith(".py") else _module(place)
    return _agent_in(module, name, place)


def _split(target: str) -> tuple[str, str]:
    """The name stands behind the last colon, unless that is the one of a drive or of nothing."""
    place, colon, name = target.rpartition(":")
    if not colon or not place or "/" in name or "\\" in name:
        return target, ""
    return place, name


def _file(path: Path) -> ModuleType:
    if not path.is_file():
        raise click.UsageError(f"there is no file {path}")
    # A module beside the file can be imported, as when the file is run itself.
    sys.path.insert(0, str(path.parent.resolve()))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _module(name: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # What is missing may also be something that the module itself imports: that is its own error.
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise
        raise click.UsageError(
            f"there is no module {name}; a file is named by its path, such as ./{name}.py"
        ) from error


def _agent_in(module: ModuleType, name: str, place: str) -> "Agent":
    from dragoman.agent import Agent

    agents = {key: value for key, value in vars(module).items() if isinstance(value, Agent)}
    if name:
        if name in agents:
            return agents[name]
        raise click.UsageError(f"{place} has no agent {name!r}; {_told(agents)}")
    if "agent" in agents:
        return agents["agent"]
    if len({id(agent) for agent in agents.values()}) == 1:
        return next(iter(agents.values()))
    raise click.UsageError(f"name the agent to serve as {place}:NAME; {_told(agents)}")


def _told(agents: "dict[str, Agent]") -> str:
    return f"agents there: {', '.join(agents)}" if agents else "there is none"
