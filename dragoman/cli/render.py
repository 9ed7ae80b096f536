"""Text output: one `Label: value` per line, or a label with an indented block that ends in a blank line.

Nothing an agent says can look like structure: values are folded onto one line, blocks are indented by two spaces, and
control characters are shown escaped. The labels are those of `Label` and no others.
"""

import enum
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from dragoman.types.card import AgentCard, APIKeySecurityScheme, HTTPAuthSecurityScheme, SecurityScheme
from dragoman.types.content import Artifact, Message, Part, Role
from dragoman.types.events import StreamEvent, TaskArtifactUpdateEvent
from dragoman.types.push import TaskPushNotificationConfig
from dragoman.types.requests import ListTasksResponse
from dragoman.types.task import Task, TaskState, TaskStatus

__all__ = [
    "Label",
    "block",
    "card_lines",
    "config_lines",
    "event_lines",
    "field",
    "message_lines",
    "page_lines",
    "state_name",
    "task_lines",
    "visible",
]


class Label(enum.StrEnum):
    """Every label that text output can have."""

    AGENT = "Agent"
    AGENT_NAME = "Name"
    AGENT_VERSION = "Version"
    ADVICE = "Advice"
    APPENDED = "Appended"
    ARTIFACT = "Artifact"
    ARTIFACT_NAME = "Artifact Name"
    BREAKING = "Breaking Change"
    CHANGE = "Change"
    AUTHENTICATION = "Authentication"
    CLIENT_ID = "Client ID"
    CONFIG_ID = "Config ID"
    CONTEXT_ID = "Context ID"
    DATA = "Data"
    DELETED = "Deleted"
    DESCRIPTION = "Description"
    DOCUMENTATION = "Documentation"
    ERROR = "Error"
    EXPIRES = "Expires"
    EXTENDED_CARD = "Extended Card"
    EXTENSION = "Extension"
    FILE = "File"
    GRANT = "Grant"
    HINT = "Hint"
    HISTORY = "History Message"
    INPUT_MODES = "Input Modes"
    INTERFACE = "Interface"
    ISSUER = "Issuer"
    MEDIA_TYPE = "Media Type"
    MESSAGE = "Message"
    MESSAGE_ID = "Message ID"
    METADATA = "Metadata"
    NEXT_PAGE = "Next Page Token"
    OUTPUT_MODES = "Output Modes"
    PART = "Part"
    PROBLEM = "Problem"
    PROVIDER = "Provider"
    PUSH = "Push Notifications"
    RENEWABLE = "Renewable"
    REQUIREMENT = "Security Requirement"
    RESUME = "Resume"
    ROLE = "Role"
    SCHEME = "Security Scheme"
    SCOPES = "Scopes"
    SIGNATURE = "Signature"
    SIGNATURE_REASON = "Signature Reason"
    SIGNED_BY = "Signed By"
    SIZE = "Size"
    SKILL = "Skill"
    STATE = "State"
    STATUS_MESSAGE = "Status Message"
    SUBJECT = "Subject"
    STREAMING = "Streaming"
    TASK_ID = "Task ID"
    TENANT = "Tenant"
    TEXT = "Text"
    TOKEN = "Token"  # noqa: S105 -- a word of the output
    TOTAL = "Total Size"
    UPDATED = "Updated"
    URL = "URL"


_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """The text with control characters, line separators, direction overrides and lone surrogates escaped."""
    return _INVISIBLE.sub(_escaped, text.replace("\r\n", "\n"))


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004 - two digits hold a byte


def field(label: Label, value: object) -> str:
    """One line, whatever the value holds."""
    return f"{label}: {visible(str(value)).replace(chr(10), chr(92) + 'n')}"


def block(label: Label, content: str) -> Iterator[str]:
    """The label, the content indented, a blank line."""
    yield f"{label}:"
    yield from ("  " + line for line in visible(content).split("\n"))
    yield ""


def state_name(state: TaskState) -> str:
    """The state as A2A's JSON spells it."""
    return f"TASK_STATE_{state.name}"


def task_lines(task: Task, *, verbose: bool = False, history: bool = False) -> Iterator[str]:
    """A task whole: ids, state, the agent's message about it, artifacts; the history where it is asked for."""
    yield from _id_lines(task.id, task.context_id)
    yield from _status_lines(task.status, verbose=verbose)
    for artifact in task.artifacts:
        yield from _artifact_lines(artifact, verbose=verbose)
    if history or verbose:
        for message in task.history:
            yield field(Label.HISTORY, message.message_id)
            yield from _message_body(message, verbose=verbose)
    if verbose:
        yield from _metadata_lines(task.metadata)


def message_lines(message: Message, *, verbose: bool = False) -> Iterator[str]:
    """An answer that is a message and no task."""
    yield field(Label.MESSAGE_ID, message.message_id)
    if message.task_id:
        yield field(Label.TASK_ID, message.task_id)
    if message.context_id:
        yield field(Label.CONTEXT_ID, message.context_id)
    yield from _message_body(message, verbose=verbose)


def event_lines(event: StreamEvent, *, verbose: bool = False) -> Iterator[str]:
    """One event as it arrived."""
    if isinstance(event, Task):
        yield from task_lines(event, verbose=verbose)
    elif isinstance(event, Message):
        yield from message_lines(event, verbose=verbose)
    elif isinstance(event, TaskArtifactUpdateEvent):
        yield from _artifact_lines(event.artifact, verbose=verbose, appended=event.append)
    else:
        yield from _status_lines(event.status, verbose=verbose)


def page_lines(page: ListTasksResponse, *, verbose: bool = False) -> Iterator[str]:
    """A page of tasks, then how to get the next."""
    for task in page.tasks:
        yield from task_lines(task, verbose=verbose)
        if not verbose and task.status.timestamp is not None:
            yield field(Label.UPDATED, task.status.timestamp.isoformat())
    yield field(Label.TOTAL, page.total_size)
    if page.next_page_token:
        yield field(Label.NEXT_PAGE, page.next_page_token)


def config_lines(config: TaskPushNotificationConfig) -> Iterator[str]:
    """A configuration of push notifications, without its secrets."""
    yield field(Label.CONFIG_ID, config.id)
    yield field(Label.TASK_ID, config.task_id)
    yield field(Label.URL, config.url)
    yield field(Label.TOKEN, "set" if config.token else "none")
    if config.authentication is not None:
        yield field(Label.AUTHENTICATION, config.authentication.scheme)


def card_lines(card: AgentCard) -> Iterator[str]:
    """Who the agent is, what it can do, how to reach it."""
    yield field(Label.AGENT_NAME, card.name)
    yield field(Label.AGENT_VERSION, card.version)
    yield from block(Label.DESCRIPTION, card.description)
    if card.provider is not None:
        yield field(Label.PROVIDER, f"{card.provider.organization} ({card.provider.url})")
    if card.documentation_url:
        yield field(Label.DOCUMENTATION, card.documentation_url)
    yield field(Label.STREAMING, _yes(card.capabilities.streaming))
    yield field(Label.PUSH, _yes(card.capabilities.push_notifications))
    yield field(Label.EXTENDED_CARD, _yes(card.capabilities.extended_agent_card))
    for extension in card.capabilities.extensions:
        yield field(Label.EXTENSION, extension.uri + (" (required)" if extension.required else ""))
    yield from _reach_lines(card)
    yield field(Label.INPUT_MODES, ", ".join(card.default_input_modes))
    yield field(Label.OUTPUT_MODES, ", ".join(card.default_output_modes))
    for skill in card.skills:
        yield field(Label.SKILL, f"{skill.id} - {skill.name}")
        yield from block(Label.DESCRIPTION, skill.description)


def _reach_lines(card: AgentCard) -> Iterator[str]:
    for interface in card.supported_interfaces:
        yield field(Label.INTERFACE, f"{interface.protocol_binding} {interface.protocol_version} {interface.url}")
        if interface.tenant:
            yield field(Label.TENANT, interface.tenant)
    for name, scheme in card.security_schemes.items():
        yield field(Label.SCHEME, f"{name} ({_scheme_kind(scheme)})")
    for requirement in card.security_requirements:
        yield field(Label.REQUIREMENT, " and ".join(requirement) or "none")


def _scheme_kind(scheme: SecurityScheme) -> str:
    if isinstance(scheme, APIKeySecurityScheme):
        return f"API key, {scheme.location} {scheme.name}"
    if isinstance(scheme, HTTPAuthSecurityScheme):
        return f"HTTP {scheme.scheme}"
    return type(scheme).__name__.removesuffix("SecurityScheme")


def _yes(stated: bool | None) -> str:
    return "yes" if stated else "no"


def _id_lines(task_id: str, context_id: str) -> Iterator[str]:
    yield field(Label.TASK_ID, task_id)
    if context_id:
        yield field(Label.CONTEXT_ID, context_id)


def _status_lines(status: TaskStatus, *, verbose: bool) -> Iterator[str]:
    yield field(Label.STATE, state_name(status.state))
    if verbose and status.timestamp is not None:
        yield field(Label.UPDATED, status.timestamp.isoformat())
    if status.message is not None:
        yield field(Label.STATUS_MESSAGE, status.message.message_id)
        yield from _message_body(status.message, verbose=verbose)


def _message_body(message: Message, *, verbose: bool) -> Iterator[str]:
    yield field(Label.ROLE, "user" if message.role is Role.USER else "agent")
    for part in message.parts:
        yield from _part_lines(part, verbose=verbose)
    if verbose:
        yield from _metadata_lines(message.metadata)


def _artifact_lines(artifact: Artifact, *, verbose: bool, appended: bool = False) -> Iterator[str]:
    yield field(Label.ARTIFACT, artifact.artifact_id)
    if artifact.name:
        yield field(Label.ARTIFACT_NAME, artifact.name)
    if artifact.description:
        yield from block(Label.DESCRIPTION, artifact.description)
    if appended:
        yield field(Label.APPENDED, "yes")
    for part in artifact.parts:
        yield from _part_lines(part, verbose=verbose)
    if verbose:
        yield from _metadata_lines(artifact.metadata)


def _part_lines(part: Part, *, verbose: bool) -> Iterator[str]:
    for matches, lines in _PART_KINDS:
        if matches(part):
            yield from lines(part)
            break
    else:
        yield field(Label.PART, "empty")
    if part.media_type and (verbose or part.base64 is not None or part.url is not None):
        yield field(Label.MEDIA_TYPE, part.media_type)
    if verbose:
        yield from _metadata_lines(part.metadata)


def _text_lines(part: Part) -> Iterator[str]:
    return block(Label.TEXT, part.text or "")


def _data_lines(part: Part) -> Iterator[str]:
    return block(Label.DATA, _formatted(part.data))


def _bytes_lines(part: Part) -> Iterator[str]:
    yield field(Label.FILE, part.filename or "unnamed")
    yield field(Label.SIZE, f"{len((part.base64 or '').rstrip('=')) * 3 // 4} bytes")


def _url_lines(part: Part) -> Iterator[str]:
    yield field(Label.FILE, part.filename or "unnamed")
    yield field(Label.URL, part.url)


_PART_KINDS: Sequence[tuple[Callable[[Part], bool], Callable[[Part], Iterator[str]]]] = (
    (lambda part: part.text is not None, _text_lines),
    (lambda part: part.data is not UNSET, _data_lines),
    (lambda part: part.base64 is not None, _bytes_lines),
    (lambda part: part.url is not None, _url_lines),
)


def _metadata_lines(metadata: Mapping[str, Any] | None) -> Iterator[str]:
    if metadata:
        yield from block(Label.METADATA, _formatted(metadata))


def _formatted(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
