"""Tables of the messages that both gRPC packages have: tasks and what they are made of, and the agent card's parts.

The packages differ in names of fields and in the form of a part, which are given; what else differs stands with each.
"""

from typing import Any

import msgspec

from dragoman import types
from dragoman.dialects.fields import Enum, Items, JsonMembers, Sub, TextMap, Time, Words
from dragoman.dialects.protobuf import ALWAYS, STRICT, Field, Flag, Path, Record, Row, Shape, Text, Union
from dragoman.dialects.scalars import Findings

__all__ = [
    "DEVICE_CODE",
    "EXTENSION",
    "METADATA",
    "PROVIDER",
    "SIGNATURE",
    "STATES",
    "Requirements",
    "Schemes",
    "Tasks",
    "blank",
    "flows_of",
    "schemes_of",
    "skill_of",
    "tasks_of",
]

STATES = tuple(types.TaskState)
"""In the order of their numbers."""
METADATA = JsonMembers("metadata")
_ROLES = (None, types.Role.USER, types.Role.AGENT)


def blank(name: str, wire: str = "") -> Text:
    """A string that values always have; an absent one is empty."""
    return Text(name, wire, missing="")


class Tasks(msgspec.Struct, frozen=True):
    """The tables of tasks, messages and events, and of what answers hold them in."""

    message: Record
    task: Record
    send_response: Union
    stream_response: Union
    page: Record


def tasks_of(part: Shape, *, parts: str, status_message: str, message: str, on_status: tuple[Field, ...] = ()) -> Tasks:
    """The tables for a package: the form of a part, the names of three fields, and what a status event has besides."""
    said, artifact, status = _content_of(part, parts, status_message)
    members = (
        Text("id", need=ALWAYS),
        blank("context_id"),
        Sub("status", status, need=ALWAYS),
        Items("history", said),
        METADATA,
    )
    task = Record(types.Task, *members, Items("artifacts", artifact))
    of_task = (blank("task_id"), blank("context_id"))
    updates: dict[str, Any] = {
        "status_update": (
            types.TaskStatusUpdateEvent,
            Record(types.TaskStatusUpdateEvent, *of_task, Sub("status", status, need=ALWAYS), METADATA, *on_status),
        ),
        "artifact_update": (
            types.TaskArtifactUpdateEvent,
            Record(
                types.TaskArtifactUpdateEvent,
                *of_task,
                Sub("artifact", artifact, need=ALWAYS),
                Flag("append"),
                Flag("last_chunk"),
                METADATA,
            ),
        ),
    }
    either: dict[str, Any] = {"task": (types.Task, task), message: (types.Message, said)}
    page = Record(
        types.ListTasksResponse,
        _Listed(task, Record(types.Task, *members)),
        blank("next_page_token"),
        Flag("page_size", missing=0),
        Flag("total_size", missing=0),
    )
    return Tasks(said, task, Union("payload", **either), Union("payload", **either, **updates), page)


def _content_of(part: Shape, parts: str, status_message: str) -> tuple[Record, Record, Record]:
    """The tables of a message, an artifact and a status."""
    said = Record(
        types.Message,
        Text("message_id", need=STRICT, missing=""),
        Text("context_id"),
        Text("task_id"),
        Enum("role", _ROLES, blank=types.Role.AGENT, need=STRICT),
        Items("parts", part, parts, need=STRICT, missing=()),
        METADATA,
        Words("extensions"),
        Words("reference_task_ids"),
    )
    artifact = Record(
        types.Artifact,
        blank("artifact_id"),
        Text("name"),
        Text("description"),
        Items("parts", part, missing=()),
        METADATA,
        Words("extensions"),
    )
    status = Record(
        types.TaskStatus,
        Enum("state", STATES, blank=types.TaskState.UNSPECIFIED),
        Sub("message", said, status_message),
        Time("timestamp", whole=True),
    )
    return said, artifact, status


class _Listed:
    """The tasks of a page. Where artifacts were not asked for, they are not written."""

    def __init__(self, task: Record, bare: Record) -> None:
        self._task = Items("tasks", task)
        self._bare = Items("tasks", bare)

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:
        members["tasks"] = ()
        self._task.read(message, members, found, path)
        members["with_artifacts"] = any(task.artifacts for task in message.tasks)

    def write(self, value: types.ListTasksResponse, message: Any) -> None:
        (self._task if value.with_artifacts else self._bare).write(value, message)


# --- The agent card.

PROVIDER = Record(types.AgentProvider, blank("organization"), blank("url"))
EXTENSION = Record(types.AgentExtension, blank("uri"), Text("description"), Flag("required"), JsonMembers("params"))
SIGNATURE = Record(types.AgentCardSignature, blank("protected"), blank("signature"), JsonMembers("header"))


def skill_of(requirements: str) -> Record:
    """The table of a skill, with the name of the field for its requirements."""
    return Record(
        types.AgentSkill,
        blank("id"),
        blank("name"),
        blank("description"),
        Words("tags"),
        Words("examples"),
        Words("input_modes"),
        Words("output_modes"),
        Requirements("security_requirements", requirements),
    )


class Requirements(Row):
    """Security requirements: repeated messages that map names to lists of scopes."""

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:  # noqa: ARG002 -- the protocol's
        members[self.name] = tuple(
            [
                {name: tuple(scopes.list) for name, scopes in requirement.schemes.items()}
                for requirement in getattr(message, self.wire)
            ]
        )

    def write(self, value: Any, message: Any) -> None:
        for requirement in getattr(value, self.name):
            schemes = getattr(message, self.wire).add().schemes
            for name, scopes in requirement.items():
                schemes[name].list.extend(scopes)


_REFRESH = Text("refresh_url")
_SCOPES = TextMap("scopes")


def flows_of(*further: Field | Row, **more: tuple[type, Shape]) -> Union:
    """The OAuth flows that both packages have; `further` is on an authorization code flow, `more` are further flows."""
    code = (blank("authorization_url"), blank("token_url"), _REFRESH, _SCOPES)
    choices: dict[str, tuple[type, Shape]] = {
        "authorization_code": (
            types.AuthorizationCodeOAuthFlow,
            Record(types.AuthorizationCodeOAuthFlow, *code, *further),
        ),
        "client_credentials": (
            types.ClientCredentialsOAuthFlow,
            Record(types.ClientCredentialsOAuthFlow, blank("token_url"), _REFRESH, _SCOPES),
        ),
        "implicit": (
            types.ImplicitOAuthFlow,
            Record(types.ImplicitOAuthFlow, blank("authorization_url"), _REFRESH, _SCOPES),
        ),
        "password": (
            types.PasswordOAuthFlow,
            Record(types.PasswordOAuthFlow, blank("token_url"), _REFRESH, _SCOPES),
        ),
    }
    return Union("flow", **choices, **more)


DEVICE_CODE = Record(
    types.DeviceCodeOAuthFlow, blank("device_authorization_url"), blank("token_url"), _REFRESH, _SCOPES
)
_DESCRIPTION = Text("description")


def schemes_of(flows: Union) -> Union:
    """The security schemes, with these OAuth flows."""
    return Union(
        "scheme",
        api_key_security_scheme=(
            types.APIKeySecurityScheme,
            Record(types.APIKeySecurityScheme, blank("location"), blank("name"), _DESCRIPTION),
        ),
        http_auth_security_scheme=(
            types.HTTPAuthSecurityScheme,
            Record(types.HTTPAuthSecurityScheme, blank("scheme"), Text("bearer_format"), _DESCRIPTION),
        ),
        oauth2_security_scheme=(
            types.OAuth2SecurityScheme,
            Record(types.OAuth2SecurityScheme, Sub("flow", flows, "flows"), Text("oauth2_metadata_url"), _DESCRIPTION),
        ),
        open_id_connect_security_scheme=(
            types.OpenIdConnectSecurityScheme,
            Record(types.OpenIdConnectSecurityScheme, blank("open_id_connect_url"), _DESCRIPTION),
        ),
        mtls_security_scheme=(types.MutualTlsSecurityScheme, Record(types.MutualTlsSecurityScheme, _DESCRIPTION)),
    )


class Schemes(Row):
    """The security schemes of a card by their names. Those of a kind that is not known are left out, since nobody can
    use them; so are, on their way out, those with a flow that the package does not have.
    """

    def __init__(self, schemes: Union, flows: Union) -> None:
        super().__init__("security_schemes")
        self._schemes = schemes
        self._flows = flows

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:
        members[self.name] = {
            name: self._schemes.read(scheme, found, ((path, self.wire), name))
            for name, scheme in message.security_schemes.items()
            if self._known(scheme)
        }

    @staticmethod
    def _known(scheme: Any) -> bool:
        kind = scheme.WhichOneof("scheme")
        if kind == "oauth2_security_scheme":
            return scheme.oauth2_security_scheme.flows.WhichOneof("flow") is not None
        return kind is not None

    def write(self, value: Any, message: Any) -> None:
        for name, scheme in value.security_schemes.items():
            if not isinstance(scheme, types.OAuth2SecurityScheme) or self._flows.has(scheme.flow):
                self._schemes.write(scheme, message.security_schemes[name])
