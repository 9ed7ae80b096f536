"""What each operation takes and gives as protobuf in package `a2a.v1`, which 0.3 and the draft of 1.0 share.

Deviations from the canonical values: tasks and push configurations have resource names; files and data are messages of
their own; only a file has a name and a media type; data are objects, others are wrapped as in JSON; inline files are
written as their base64 text and read as that or as the bytes; `final` follows from the state; of an authentication only
the first scheme counts, and security has no device code flow and no PKCE. `blocking` is the contrary of
`return_immediately`: absent in a configuration it is false, and without a configuration 0.3 waits, the draft does not.
A `history_length` of 0 is no limit in 0.3, and none in the draft. Tenants and a cancellation's metadata are not said.
"""

from datetime import timedelta
from functools import partial
from typing import Any

import msgspec

from dragoman import operations, types
from dragoman.dialects.fields import Enum, Items, Number, Stated, Sub, Words
from dragoman.dialects.protobuf import ALWAYS, Codec, Flag, Path, Record, Shape, Text, say
from dragoman.dialects.records import (
    EXTENSION,
    METADATA,
    PROVIDER,
    SIGNATURE,
    STATES,
    Requirements,
    Schemes,
    blank,
    flows_of,
    schemes_of,
    skill_of,
    tasks_of,
)
from dragoman.dialects.scalars import Findings
from dragoman.dialects.v0_3.shapes import (
    CONFIG,
    CONFIG_OR_TASK,
    NAMED_CONFIG,
    PLAIN_CONFIG,
    TASK,
    Content,
    Final,
    Name,
    NewConfig,
    unwrap,
)
from dragoman.dialects.wellknown import EPOCH
from dragoman.operations import Operation

__all__ = ["DRAFT_REQUESTS", "DRAFT_RESULTS", "REQUESTS", "RESULTS"]


class _Blocking:
    """Whether to wait for the end of the turn."""

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:  # noqa: ARG002 -- the protocol's
        members["return_immediately"] = not message.blocking

    def write(self, value: types.SendMessageConfiguration, message: Any) -> None:
        message.blocking = not value.return_immediately


class _Configuration(Sub):
    """How to answer; always written, since its absence means different things to different peers."""

    def __init__(self, history: Number, absent: types.SendMessageConfiguration) -> None:
        config = Sub("task_push_notification_config", PLAIN_CONFIG, "push_notification")
        shape = Record(types.SendMessageConfiguration, Words("accepted_output_modes"), config, history, _Blocking())
        super().__init__("configuration", shape, missing=absent)


class _Since:
    """Milliseconds since 1970."""

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:
        if message.last_updated_after:
            try:
                members["status_timestamp_after"] = EPOCH + timedelta(milliseconds=message.last_updated_after)
            except OverflowError:
                say(found, (path, "last_updated_after"), "must be a time between the years 1 and 9999")

    def write(self, value: types.ListTasksRequest, message: Any) -> None:
        if value.status_timestamp_after is not None:
            message.last_updated_after = (value.status_timestamp_after - EPOCH) // timedelta(milliseconds=1)


class _Interfaces:
    """Where to call: written as the version has it, read in both ways. Only interfaces of the version are written,
    unless there are none.
    """

    def __init__(self, version: str) -> None:
        self._version = version

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:
        version = ".".join((message.protocol_version or self._version).split(".")[:2])
        given = [(one.url, one.transport) for one in message.supported_interfaces]
        if not given:
            given = [(message.url, message.preferred_transport or "JSONRPC")]
            given += [(one.url, one.transport) for one in message.additional_interfaces]
        members["supported_interfaces"] = tuple(
            [
                types.AgentInterface(url=url, protocol_binding=binding, protocol_version=version)
                for url, binding in dict.fromkeys(given)
                if url and binding
            ]
        )
        if not members["supported_interfaces"]:
            say(found, (path, "url"), "is required")

    def write(self, value: types.AgentCard, message: Any) -> None:
        spoken = [one for one in value.supported_interfaces if one.protocol_version == self._version]
        given = spoken or value.supported_interfaces
        if self._version == "0.3":
            message.protocol_version = "0.3.0"
            if given:
                message.url = given[0].url
                message.preferred_transport = given[0].protocol_binding
            listed = message.additional_interfaces
        else:
            message.protocol_version = self._version
            listed = message.supported_interfaces
        for one in given:
            listed.add(url=one.url, transport=one.protocol_binding)


class _Capabilities(Sub):
    """What the agent can do; that it has an extended card stands beside that."""

    def __init__(self) -> None:
        able = Record(
            types.AgentCapabilities,
            Stated("streaming"),
            Stated("push_notifications"),
            Items("extensions", EXTENSION),
        )
        super().__init__("capabilities", able, missing=types.AgentCapabilities())

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:
        super().read(message, members, found, path)
        if message.HasField("supports_authenticated_extended_card") and not found.violations:
            extended = message.supports_authenticated_extended_card
            members[self.name] = msgspec.structs.replace(members[self.name], extended_agent_card=extended)

    def write(self, value: types.AgentCard, message: Any) -> None:
        super().write(value, message)
        if value.capabilities.extended_agent_card is not None:
            message.supports_authenticated_extended_card = value.capabilities.extended_agent_card


_tasks = tasks_of(
    Record(types.Part, METADATA, Content(), tidy=unwrap),
    parts="content",
    status_message="update",
    message="msg",
    on_status=(Final(),),
)
_flows = flows_of()
_ID = Name("name", TASK, "id")
_TASK_ID = Name("parent", TASK, "task_id")


def _card(version: str) -> Record:
    return Record(
        types.AgentCard,
        Text("name", need=ALWAYS),
        blank("description"),
        _Interfaces(version),
        Sub("provider", PROVIDER),
        blank("version"),
        Stated("documentation_url"),
        _Capabilities(),
        Schemes(schemes_of(_flows), _flows),
        Requirements("security_requirements", "security"),
        Words("default_input_modes", missing=()),
        Words("default_output_modes", missing=()),
        Items("skills", skill_of("security"), missing=()),
        Items("signatures", SIGNATURE),
        Stated("icon_url"),
    )


def _request(name: str, shape: Shape) -> Codec:
    return Codec(f"a2a.v1.{name}", shape, strict=True)


_HISTORY = Number("history_length", least=0)
_list = Record(
    types.ListTasksRequest,
    Text("context_id"),
    Enum("status", STATES),
    Number("page_size", least=1, most=100),
    Text("page_token"),
    _HISTORY,
    _Since(),
    Flag("include_artifacts"),
)
_list_configs = Record(
    types.ListTaskPushNotificationConfigsRequest,
    _TASK_ID,
    Number("page_size", least=1, most=100, presence=False),
    Text("page_token"),
)
_NAMED = ("task_id", "id")


def _shared(configuration: _Configuration, history: Number) -> dict[Operation, Codec]:
    """The requests that both versions have."""
    send = Record(
        types.SendMessageRequest, Sub("message", _tasks.message, "request", need=ALWAYS), configuration, METADATA
    )
    get_config = Record(types.GetTaskPushNotificationConfigRequest, Name("name", CONFIG_OR_TASK, *_NAMED))
    delete_config = Record(types.DeleteTaskPushNotificationConfigRequest, Name("name", CONFIG, *_NAMED))
    return {
        operations.SEND_MESSAGE: _request("SendMessageRequest", send),
        operations.SEND_STREAMING_MESSAGE: _request("SendMessageRequest", send),
        operations.GET_TASK: _request("GetTaskRequest", Record(types.GetTaskRequest, _ID, history)),
        operations.CANCEL_TASK: _request("CancelTaskRequest", Record(types.CancelTaskRequest, _ID)),
        operations.GET_PUSH_CONFIG: _request("GetTaskPushNotificationConfigRequest", get_config),
        operations.LIST_PUSH_CONFIGS: _request("ListTaskPushNotificationConfigRequest", _list_configs),
        operations.DELETE_PUSH_CONFIG: _request("DeleteTaskPushNotificationConfigRequest", delete_config),
    }


_subscribe = Record(types.SubscribeToTaskRequest, _ID)
_subscribe_turn = Record(partial(types.SubscribeToTaskRequest, turn=True), _ID)
_get_card = Record(types.GetExtendedAgentCardRequest)
_NO_LIMIT = Number("history_length", least=0, presence=False)

REQUESTS: dict[Operation, Codec] = {
    **_shared(_Configuration(_NO_LIMIT, types.SendMessageConfiguration()), _NO_LIMIT),
    operations.SUBSCRIBE_TO_TASK: _request("TaskSubscriptionRequest", _subscribe_turn),
    operations.CREATE_PUSH_CONFIG: _request("CreateTaskPushNotificationConfigRequest", NewConfig()),
    operations.GET_EXTENDED_AGENT_CARD: _request("GetAgentCardRequest", _get_card),
}
"""How the request of each operation is read and written in 0.3."""

DRAFT_REQUESTS: dict[Operation, Codec] = {
    **_shared(_Configuration(_HISTORY, types.SendMessageConfiguration(return_immediately=True)), _HISTORY),
    operations.LIST_TASKS: _request("ListTasksRequest", _list),
    operations.SUBSCRIBE_TO_TASK: _request("SubscribeToTaskRequest", _subscribe),
    operations.CREATE_PUSH_CONFIG: _request("SetTaskPushNotificationConfigRequest", NewConfig()),
    operations.GET_EXTENDED_AGENT_CARD: _request("GetExtendedAgentCardRequest", _get_card),
}
"""The same in the draft."""

_event = Codec("a2a.v1.StreamResponse", _tasks.stream_response)
_task = Codec("a2a.v1.Task", _tasks.task)
_named_config = Codec("a2a.v1.TaskPushNotificationConfig", NAMED_CONFIG)
_configs = Record(
    types.ListTaskPushNotificationConfigsResponse, Items("configs", NAMED_CONFIG), Text("next_page_token")
)

RESULTS: dict[Operation, Codec | None] = {
    operations.SEND_MESSAGE: Codec("a2a.v1.SendMessageResponse", _tasks.send_response),
    operations.SEND_STREAMING_MESSAGE: _event,
    operations.GET_TASK: _task,
    operations.CANCEL_TASK: _task,
    operations.SUBSCRIBE_TO_TASK: _event,
    operations.CREATE_PUSH_CONFIG: _named_config,
    operations.GET_PUSH_CONFIG: _named_config,
    operations.LIST_PUSH_CONFIGS: Codec("a2a.v1.ListTaskPushNotificationConfigResponse", _configs),
    operations.DELETE_PUSH_CONFIG: None,
    operations.GET_EXTENDED_AGENT_CARD: Codec("a2a.v1.AgentCard", _card("0.3")),
}
"""How the result (or one event) of each operation is read and written in 0.3; None for google.protobuf.Empty."""

DRAFT_RESULTS: dict[Operation, Codec | None] = {
    **RESULTS,
    operations.LIST_TASKS: Codec("a2a.v1.ListTasksResponse", _tasks.page),
    operations.GET_EXTENDED_AGENT_CARD: Codec("a2a.v1.AgentCard", _card("1.0")),
}
"""The same in the draft."""
