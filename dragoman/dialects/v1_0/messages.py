"""What each operation of A2A 1.0 takes and gives as protobuf (package `lf.a2a.v1`), as codecs for gRPC.

Deviations from the canonical values: inline files are bytes, not base64 text. A page of tasks does not say whether
artifacts were asked for; where they were not, its tasks are written without.
"""

from typing import Any

import pybase64
from msgspec import UNSET

from dragoman import operations, types
from dragoman.dialects.fields import Enum, Items, Number, Stated, Sub, Time, Words
from dragoman.dialects.protobuf import ALWAYS, STRICT, Codec, Flag, Path, Record, Text, say
from dragoman.dialects.records import (
    DEVICE_CODE,
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
from dragoman.dialects.wellknown import read_json, write_json
from dragoman.operations import Operation

__all__ = ["REQUESTS", "RESULTS"]

_TENANT = Text("tenant")
_HISTORY = Number("history_length", least=0)
_ID = Text("id", need=STRICT)
_TASK_ID = Text("task_id", need=STRICT)


class _Content:
    """The one content of a part."""

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:
        kind = message.WhichOneof("content")
        match kind:
            case "text" | "url":
                members[kind] = getattr(message, kind)
            case "raw":
                members["base64"] = pybase64.b64encode(message.raw).decode()
            case "data":
                try:
                    members["data"] = read_json(message.data)
                except ValueError as error:
                    say(found, (path, "data"), str(error))
            case _:
                say(found, path, "must have exactly one of text, raw, url, data")

    def write(self, value: types.Part, message: Any) -> None:
        if value.text is not None:
            message.text = value.text
        elif value.base64 is not None:
            message.raw = pybase64.b64decode(value.base64)
        elif value.url is not None:
            message.url = value.url
        elif value.data is not UNSET:
            write_json(value.data, message.data)


_tasks = tasks_of(
    Record(types.Part, _Content(), METADATA, Text("filename"), Text("media_type")),
    parts="parts",
    status_message="message",
    message="message",
)
_authentication = Record(types.AuthenticationInfo, Text("scheme", need=ALWAYS), Text("credentials"))


def _push_config(task_id: Text) -> Record:
    return Record(
        types.TaskPushNotificationConfig,
        _TENANT,
        Text("id"),
        task_id,
        Text("url", need=ALWAYS),
        Text("token"),
        Sub("authentication", _authentication),
    )


_push = _push_config(Text("task_id"))


class _Configuration(Sub):
    """How to answer; not written if it says nothing."""

    def write(self, value: types.SendMessageRequest, message: Any) -> None:
        if value.configuration != types.SendMessageConfiguration():
            super().write(value, message)


_send = Record(
    types.SendMessageRequest,
    _TENANT,
    Sub("message", _tasks.message, need=ALWAYS),
    _Configuration(
        "configuration",
        Record(
            types.SendMessageConfiguration,
            Words("accepted_output_modes"),
            Sub("task_push_notification_config", _push),
            _HISTORY,
            Flag("return_immediately"),
        ),
    ),
    METADATA,
)
_list = Record(
    types.ListTasksRequest,
    _TENANT,
    Text("context_id"),
    Enum("status", STATES),
    Number("page_size", least=1, most=100),
    Text("page_token"),
    _HISTORY,
    Time("status_timestamp_after", whole=False),
    Flag("include_artifacts"),
)
_list_push = Record(
    types.ListTaskPushNotificationConfigsRequest,
    _TENANT,
    _TASK_ID,
    Number("page_size", least=1, most=100, presence=False),
    Text("page_token"),
)
_interface = Record(
    types.AgentInterface,
    Text("url", need=ALWAYS),
    Text("protocol_binding", need=ALWAYS),
    _TENANT,
    Text("protocol_version", need=ALWAYS),
)
_capabilities = Record(
    types.AgentCapabilities,
    Stated("streaming"),
    Stated("push_notifications"),
    Items("extensions", EXTENSION),
    Stated("extended_agent_card"),
)
_flows = flows_of(Flag("pkce_required"), device_code=(types.DeviceCodeOAuthFlow, DEVICE_CODE))
_card = Record(
    types.AgentCard,
    Text("name", need=ALWAYS),
    blank("description"),
    Items("supported_interfaces", _interface, need=ALWAYS),
    Sub("provider", PROVIDER),
    blank("version"),
    Stated("documentation_url"),
    Sub("capabilities", _capabilities, missing=types.AgentCapabilities()),
    Schemes(schemes_of(_flows), _flows),
    Requirements("security_requirements"),
    Words("default_input_modes", missing=()),
    Words("default_output_modes", missing=()),
    Items("skills", skill_of("security_requirements"), missing=()),
    Items("signatures", SIGNATURE),
    Stated("icon_url"),
)


def _request(name: str, record: Record) -> Codec:
    return Codec(f"lf.a2a.v1.{name}", record, strict=True)


REQUESTS: dict[Operation, Codec] = {
    operations.SEND_MESSAGE: _request("SendMessageRequest", _send),
    operations.SEND_STREAMING_MESSAGE: _request("SendMessageRequest", _send),
    operations.GET_TASK: _request("GetTaskRequest", Record(types.GetTaskRequest, _TENANT, _ID, _HISTORY)),
    operations.LIST_TASKS: _request("ListTasksRequest", _list),
    operations.CANCEL_TASK: _request("CancelTaskRequest", Record(types.CancelTaskRequest, _TENANT, _ID, METADATA)),
    operations.SUBSCRIBE_TO_TASK: _request(
        "SubscribeToTaskRequest", Record(types.SubscribeToTaskRequest, _TENANT, _ID)
    ),
    operations.CREATE_PUSH_CONFIG: _request("TaskPushNotificationConfig", _push_config(_TASK_ID)),
    operations.GET_PUSH_CONFIG: _request(
        "GetTaskPushNotificationConfigRequest",
        Record(types.GetTaskPushNotificationConfigRequest, _TENANT, _TASK_ID, _ID),
    ),
    operations.LIST_PUSH_CONFIGS: _request("ListTaskPushNotificationConfigsRequest", _list_push),
    operations.DELETE_PUSH_CONFIG: _request(
        "DeleteTaskPushNotificationConfigRequest",
        Record(types.DeleteTaskPushNotificationConfigRequest, _TENANT, _TASK_ID, _ID),
    ),
    operations.GET_EXTENDED_AGENT_CARD: _request(
        "GetExtendedAgentCardRequest", Record(types.GetExtendedAgentCardRequest, _TENANT)
    ),
}
"""How the request of each operation is read and written."""

_event = Codec("lf.a2a.v1.StreamResponse", _tasks.stream_response)
_task = Codec("lf.a2a.v1.Task", _tasks.task)
_config = Codec("lf.a2a.v1.TaskPushNotificationConfig", _push)

RESULTS: dict[Operation, Codec | None] = {
    operations.SEND_MESSAGE: Codec("lf.a2a.v1.SendMessageResponse", _tasks.send_response),
    operations.SEND_STREAMING_MESSAGE: _event,
    operations.GET_TASK: _task,
    operations.LIST_TASKS: Codec("lf.a2a.v1.ListTasksResponse", _tasks.page),
    operations.CANCEL_TASK: _task,
    operations.SUBSCRIBE_TO_TASK: _event,
    operations.CREATE_PUSH_CONFIG: _config,
    operations.GET_PUSH_CONFIG: _config,
    operations.LIST_PUSH_CONFIGS: Codec(
        "lf.a2a.v1.ListTaskPushNotificationConfigsResponse",
        Record(types.ListTaskPushNotificationConfigsResponse, Items("configs", _push), Text("next_page_token")),
    ),
    operations.DELETE_PUSH_CONFIG: None,
    operations.GET_EXTENDED_AGENT_CARD: Codec("lf.a2a.v1.AgentCard", _card),
}
"""How the result (or one event) of each operation is read and written; None for google.protobuf.Empty."""
