"""The global options as flags, and the effective values that flags, variables, files and defaults give.

A value comes from the first of: flag, environment, local file, global file, built-in default. Each option has the
variable `A2ACLI_` plus its long name in upper snake case, but for `--stream`, which only a flag switches on.
"""

import functools
import importlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import click

from dragoman.cli import dotenv
from dragoman.cli.settings import SETTINGS, Setting

__all__ = ["Command", "Given", "Group", "Settings", "given_to", "settings_of", "wants_json"]

Given = dict[str, list[str]]
"""What stood on the command line, as written, by option key; a switch that was given is `true`."""


class _Layer(NamedTuple):
    """One layer of configuration: where it comes from, and its raw values by option key."""

    name: str
    values: Mapping[str, list[str]]


class Settings:
    """The effective values. `given` is what stood on the command line, for commands to be printed."""

    def __init__(self, values: Mapping[str, Any], given: Given, sources: Mapping[str, str]) -> None:
        self.given = given
        self.sources = sources
        """Per option key, the name of the layer that its value comes from."""
        self.agent_card: str | None = values["agent_card"]
        self.json: bool = values["output"] == "json"
        self.stream: bool = values["stream"]
        self.detached: bool = values["async"]
        self.wait: bool = values["wait"]
        self.poll_interval: float = values["poll_interval"]
        self.timeout: float = values["timeout"]
        self.task_id: str | None = values["task_id"]
        self.context_id: str | None = values["context_id"]
        self.transport: tuple[str, ...] = values["transport"]
        self.a2a_version: str | None = values["a2a_version"]
        self.bearer: str | None = values["bearer"]
        self.api_key: str | None = values["api_key"]
        self.service_parameters: tuple[tuple[str, str], ...] = values["svc_param"]
        self.metadata: dict[str, Any] | None = values["metadata"]
        self.insecure: bool = values["insecure"]
        self.credential_origin: tuple[str, ...] = values["credential_origin"]
        self.network: Literal["any", "public"] = values["network"]
        self.config: str | None = values["config"]
        self.verbose: bool = values["verbose"]
        self.debug: bool = values["debug"]

    def flag(self, key: str) -> str | None:
        """The value of an option as it stood on the command line, if it did."""
        return self.given.get(key, [None])[-1]

    def task_named(self, positional: str | None) -> str:
        """The id of the task that a command is about: the argument, else `--task-id`.

        Raises:
            click.UsageError: there is none, or the command line names two.
        """
        flag = self.flag("task_id")
        if positional and flag and positional != flag:
            raise click.UsageError(f"the task id is given twice: {positional} and --task-id {flag}")
        named = positional or self.task_id
        if not named:
            raise click.UsageError("the id of a task is missing")
        return named


class _GlobalOption(click.Option):
    """An option of the table; its value goes to what is `Given`, the later of two places winning."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(
            [*setting.shorts, f"--{setting.name}", *setting.aliases, f"given_{setting.key}"],
            is_flag=setting.is_switch,
            multiple=setting.many,
            expose_value=False,
            callback=_remember,
            help=_help_of(setting),
            metavar=setting.metavar,
            default=None,
            type=None if setting.is_switch else click.UNPROCESSED,
        )


def _help_of(setting: Setting) -> str:
    notes: list[str] = []
    if setting.variable:
        notes.append(f"variable {setting.env}")
    if setting.default not in (None, ()) and not setting.is_switch:
        shown = setting.default if isinstance(setting.default, str) else f"{setting.default:g}s"
        notes.append(f"default: {shown}")
    return f"{setting.help}  [{'; '.join(notes)}]" if notes else setting.help


def given_to(ctx: click.Context) -> Given:
    """What stood on the command line so far, before and after the command's name."""
    return cast("Given", ctx.find_root().ensure_object(dict))


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    key = str(param.name).removeprefix("given_")
    if value is None or value is False or value == ():
        return
    given = given_to(ctx)
    if isinstance(value, tuple):
        given.setdefault(key, []).extend(str(item) for item in cast("tuple[object, ...]", value))
    else:
        given[key] = ["true" if value is True else str(value)]


class Command(click.Command):
    """A command that takes the global options too, and lists them apart from its own."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *_global_options()]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _write_options(self, ctx, formatter)


class Group(click.Group):
    """A group whose commands are imported only when they are named.

    `commands_at` maps each name to `module:object` and to what the help says about it.
    """

    def __init__(self, name: str, *, commands_at: Mapping[str, tuple[str, str]], **attributes: Any) -> None:
        super().__init__(name, no_args_is_help=False, **attributes)
        self.commands_at = commands_at

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the signature is click's
        return list(self.commands_at)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - the signature is click's
        place = self.commands_at.get(cmd_name)
        if place is None:
            return None
        module, _, name = place[0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *_global_options()]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - the signature is click's
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in self.commands_at.items()])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        _write_options(self, ctx, formatter)


def _write_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    own: list[tuple[str, str]] = []
    shared: list[tuple[str, str]] = []
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record is not None and record[1]:
            (shared if isinstance(param, _GlobalOption) else own).append(record)
    with formatter.section("Options"):
        formatter.write_dl(own)
    with formatter.section("Global options, before or after the command"):
        formatter.write_dl(shared)


@functools.cache
def _global_options() -> tuple[click.Option, ...]:
    return tuple(_GlobalOption(setting) for setting in SETTINGS)


def settings_of(given: Given) -> Settings:
    """The effective settings.

    Raises:
        click.UsageError: a value cannot be read, or two options contradict each other.
    """
    _refuse_contradictions(given)
    layers = _layers(given)
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for setting in SETTINGS:
        values[setting.key], sources[setting.key] = _resolved(setting, layers)
    rank = [layer.name for layer in layers]
    if values["stream"]:
        values["async"] = False
    elif values["async"] and values["wait"]:
        waits = rank.index(sources["wait"]) <= rank.index(sources["async"])
        values["async" if waits else "wait"] = False
    return Settings(values, given, sources)


def _refuse_contradictions(given: Given) -> None:
    for other in ("wait", "stream"):
        if given.get("async") and given.get(other):
            raise click.UsageError(f"--async and --{other} exclude each other")


def _layers(given: Given) -> list[_Layer]:
    environment = _by_key(os.environ)
    config = given.get("config") or environment.get("config")
    local = Path(config[-1]).expanduser() if config else dotenv.nearest(Path.cwd())
    layers = [_Layer("flag", given), _Layer("environment", environment)]
    if local is not None:
        layers.append(_file_layer(local))
    everywhere = Path("~").expanduser() / dotenv.GLOBAL_FILE
    if everywhere.is_file():
        layers.append(_file_layer(everywhere))
    return layers


def _file_layer(path: Path) -> _Layer:
    try:
        return _Layer(str(path), _by_key(dotenv.read(path)))
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"cannot read the configuration file {path}: {error}") from error


def _by_key(variables: Mapping[str, str]) -> dict[str, list[str]]:
    """Raw values by option key; an empty value counts as none."""
    return {
        setting.key: variables[setting.env].split(",") if setting.many else [variables[setting.env]]
        for setting in SETTINGS
        if setting.variable and variables.get(setting.env, "").strip()
    }


def _resolved(setting: Setting, layers: Sequence[_Layer]) -> tuple[Any, str]:
    for layer in layers:
        raw = layer.values.get(setting.key)
        if not raw or raw == [""]:
            continue
        try:
            return _read(setting, raw), layer.name
        except ValueError as error:
            place = f"--{setting.name}" if layer.name == "flag" else f"{setting.env} ({layer.name})"
            raise click.UsageError(f"{place}: {error}") from error
    return setting.default, "built-in"


def _read(setting: Setting, raw: Sequence[str]) -> Any:
    return tuple(setting.read(item) for item in raw if item) if setting.many else setting.read(raw[-1])


def wants_json(argv: Sequence[str]) -> bool:
    """Whether errors are due as JSON, read without trust in the rest of the command line."""
    chosen = None
    for position, word in enumerate(argv):
        if word in ("-o", "--output"):
            chosen = "".join(argv[position + 1 : position + 2])
        elif word.startswith("--output="):
            chosen = word.partition("=")[2]
        elif word.startswith("-o"):
            chosen = word.removeprefix("-o")
    if chosen is None:
        chosen = _configured_output()
    return chosen.strip().lower() == "json"


def _configured_output() -> str:
    try:
        layers = _layers({})
    except click.UsageError:
        return "text"
    return next((layer.values["output"][-1] for layer in layers if "output" in layer.values), "text")
