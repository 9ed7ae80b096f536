"""The table of global options: names, readers, defaults and what the help says about them."""

from collections.abc import Callable
from typing import Any, NamedTuple

from dragoman.cli import dotenv
from dragoman.cli.values import duration, json_object, network, output_format, pair, secret, switch, text, version

__all__ = ["SETTINGS", "Setting"]


class Setting(NamedTuple):
    """A global option. `many` ones collect, and are comma-separated in a variable."""

    name: str
    read: Callable[[str], Any]
    help: str
    default: Any = None
    shorts: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    is_switch: bool = False
    many: bool = False
    metavar: str | None = None
    variable: bool = True

    @property
    def key(self) -> str:
        return self.name.replace("-", "_")

    @property
    def env(self) -> str:
        return dotenv.PREFIX + self.key.upper()


_SECRET = "Shows up in the process table and the shell history: prefer the variable."  # noqa: S105 - words of the help

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "agent-card", text, "The agent: host, origin, card URL, file:// URL or path.", shorts=("-a",), metavar="REF"
    ),
    Setting("output", output_format, "Format: text or json.", "text", shorts=("-o",), metavar="FORMAT"),
    Setting("stream", switch, "Follow live (send, task subscribe).", False, is_switch=True, variable=False),
    Setting(
        "async",
        switch,
        "Return the ids at once instead of waiting.",
        False,
        aliases=("--return-immediately", "--no-wait"),
        is_switch=True,
    ),
    Setting(
        "wait",
        switch,
        "Wait until the task is terminal or interrupted (what send does unless told --async).",
        False,
        aliases=("--watch",),
        is_switch=True,
    ),
    Setting("poll-interval", duration, "Shortest time between two polls.", 2.0, metavar="DURATION"),
    Setting("timeout", duration, "Longest time to wait; the task goes on.", 600.0, metavar="DURATION"),
    Setting("task-id", text, "Continue this task.", metavar="ID"),
    Setting("context-id", text, "Send into this context.", metavar="ID"),
    Setting(
        "transport",
        text,
        "Binding to prefer, best first: JSONRPC, HTTP+JSON (or rest), GRPC. Repeatable. By default the card's order.",
        (),
        many=True,
        metavar="BINDING",
    ),
    Setting(
        "a2a-version",
        version,
        "Protocol version to use: 1.0, 1.0-draft or 0.3. By default the highest that both sides share, 1.0 at "
        "least. Output is in the form of 1.0 whatever is spoken.",
        metavar="VERSION",
    ),
    Setting("bearer", secret, f"Bearer token, sent as the card's scheme says. {_SECRET}", metavar="TOKEN"),
    Setting("api-key", secret, f"API key, sent as the card's scheme says. {_SECRET}", metavar="KEY"),
    Setting(
        "credential-origin",
        text,
        "A further origin that credentials may go to, where the card leads elsewhere: https://host. Repeatable.",
        (),
        many=True,
        metavar="ORIGIN",
    ),
    Setting("svc-param", pair, "Service parameter, sent as a header. Repeatable.", (), many=True, metavar="NAME:VALUE"),
    Setting("metadata", json_object, "Metadata of the request: a JSON object.", metavar="JSON"),
    Setting(
        "insecure",
        switch,
        "Do not verify TLS certificates (verified by default). Warns.",
        False,
        is_switch=True,
    ),
    Setting(
        "network",
        network,
        "What may be called: any, or public, which is public addresses over https at ports 443 and 8443.",
        "any",
        metavar="NETWORK",
    ),
    Setting("config", text, "Configuration file in place of the nearest .env.", metavar="PATH"),
    Setting("verbose", switch, "Show all data exchanged (by default concise).", False, is_switch=True),
    Setting("debug", switch, "Show on standard error what the program does.", False, is_switch=True),
)
