"""The request objects of A2A 1.0: JSON-RPC params, and on HTTP+JSON body, path and query together."""

from typing import Annotated

from msgspec import Meta

from dragoman.dialects.v1_0.objects import STATES, Message, Object, PushConfig, StateName, Time
from dragoman.types import JsonObject

__all__ = [
    "CancelTask",
    "Configuration",
    "CreatePushConfig",
    "GetCard",
    "GetTask",
    "ListPushConfigs",
    "ListTasks",
    "NamePushConfig",
    "SendMessage",
    "SubscribeToTask",
]

Length = Annotated[int, Meta(ge=0, le=2**31 - 1)]
PageSize = Annotated[int, Meta(ge=1, le=100)]
Id = Annotated[str, Meta(min_length=1)]


class Configuration(Object, kw_only=True):
    """SendMessageConfiguration."""

    accepted_output_modes: tuple[str, ...] = ()
    task_push_notification_config: PushConfig | None = None
    history_length: Length | None = None
    return_immediately: bool = False


class SendMessage(Object, kw_only=True):
    tenant: str = ""
    message: Message
    configuration: Configuration | None = None
    metadata: JsonObject | None = None


class GetTask(Object, kw_only=True):
    tenant: str = ""
    id: Id
    history_length: Length | None = None


class ListTasks(Object, kw_only=True):
    """`lastUpdatedAfter` is an older name of `statusTimestampAfter` that clients still send."""

    tenant: str = ""
    context_id: str | None = None
    status: Annotated[StateName, Meta(extra={"names": STATES, "absent": "TASK_STATE_UNSPECIFIED"})] | None = None
    page_size: PageSize | None = None
    page_token: str = ""
    history_length: Length | None = None
    status_timestamp_after: Annotated[Time, Meta(extra={"time": True, "alias": "lastUpdatedAfter"})] | None = None
    include_artifacts: bool = False


class CancelTask(Object, kw_only=True):
    tenant: str = ""
    id: Id
    metadata: JsonObject | None = None


class SubscribeToTask(Object, kw_only=True):
    tenant: str = ""
    id: Id


class CreatePushConfig(PushConfig, kw_only=True):
    """A TaskPushNotificationConfig that must say which task it is for."""

    task_id: Id  # pyright: ignore[reportGeneralTypeIssues] -- narrows a member that has a default elsewhere


class NamePushConfig(Object, kw_only=True):
    """Get and delete."""

    tenant: str = ""
    task_id: Id
    id: Id


class ListPushConfigs(Object, kw_only=True):
    tenant: str = ""
    task_id: Id
    page_size: PageSize | None = None
    page_token: str = ""


class GetCard(Object, kw_only=True):
    """GetExtendedAgentCard."""

    tenant: str = ""
