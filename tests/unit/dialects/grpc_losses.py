"""What gRPC cannot say, by name: the value that a reader finds instead of the one that was written."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import UNSET

from dragoman import types
from dragoman.dialects.grpc import GrpcBinding

__all__ = ["kept", "like"]

replace = msgspec.structs.replace


def page(value: types.ListTasksResponse) -> Any:
    """A page without artifacts does not say whether they were asked for."""
    return replace(value, with_artifacts=value.with_artifacts and any(task.artifacts for task in value.tasks))


def part(value: types.Part) -> Any:
    """Only a file has a name and a media type; empty metadata do not outlive the mark of data that are no object."""
    if value.text is None and value.data is UNSET:
        return value
    marked = value.text is None and not isinstance(value.data, dict)
    return replace(
        value, filename=None, media_type=None, metadata=(value.metadata or None) if marked else value.metadata
    )


def inline_config(value: types.SendMessageConfiguration) -> Any:
    """A configuration within a message has no task."""
    config = value.task_push_notification_config
    return value if config is None else replace(value, task_push_notification_config=replace(config, task_id=""))


def older_configuration(value: types.SendMessageConfiguration) -> Any:
    """Nor can 0.3 ask for no history."""
    return replace(inline_config(value), history_length=value.history_length or None)


def untenanted(value: Any) -> Any:
    return replace(value, tenant="")


def older_get(value: types.GetTaskRequest) -> Any:
    return replace(value, tenant="", history_length=value.history_length or None)


def older_subscribe(value: types.SubscribeToTaskRequest) -> Any:
    """0.3 has one way of subscribing."""
    return replace(value, tenant="", turn=True)


def same(value: Any) -> Any:
    return value


def cancellation(value: types.CancelTaskRequest) -> Any:
    return replace(value, tenant="", metadata=None)


def since(value: types.ListTasksRequest) -> Any:
    """0 milliseconds are no time."""
    moment = value.status_timestamp_after
    return replace(value, tenant="", status_timestamp_after=moment if moment and moment.timestamp() else None)


def card_of(version: str) -> Callable[[types.AgentCard], Any]:
    def card(value: types.AgentCard) -> Any:
        """Interfaces have no tenant, and the version of the card."""
        ours = [one for one in value.supported_interfaces if one.protocol_version == version]
        interfaces = [replace(one, tenant="", protocol_version=version) for one in ours or value.supported_interfaces]
        schemes = {name: one for name, one in value.security_schemes.items() if not device_code(one)}
        return replace(value, supported_interfaces=tuple(interfaces), security_schemes=schemes)

    return card


def device_code(scheme: types.SecurityScheme) -> bool:
    return isinstance(scheme, types.OAuth2SecurityScheme) and isinstance(scheme.flow, types.DeviceCodeOAuthFlow)


def no_pkce(value: types.AuthorizationCodeOAuthFlow) -> Any:
    return replace(value, pkce_required=False)


_SHARED: dict[type, Any] = {
    types.ListTasksResponse: page,
    types.Part: part,
    types.SendMessageConfiguration: inline_config,
    types.AuthorizationCodeOAuthFlow: no_pkce,
    types.CancelTaskRequest: cancellation,
    types.ListTasksRequest: since,
    **dict.fromkeys(
        (
            types.SendMessageRequest,
            types.GetTaskRequest,
            types.SubscribeToTaskRequest,
            types.TaskPushNotificationConfig,
            types.GetTaskPushNotificationConfigRequest,
            types.ListTaskPushNotificationConfigsRequest,
            types.DeleteTaskPushNotificationConfigRequest,
            types.GetExtendedAgentCardRequest,
        ),
        untenanted,
    ),
}
LOSSES: dict[str, dict[type, Any]] = {
    "1.0/GRPC": {types.ListTasksResponse: page},
    "draft/GRPC": {**_SHARED, types.AgentCard: card_of("1.0")},
    "0.3/GRPC": {
        **_SHARED,
        types.AgentCard: card_of("0.3"),
        types.SendMessageConfiguration: older_configuration,
        types.GetTaskRequest: older_get,
        types.SubscribeToTaskRequest: older_subscribe,
    },
}


def kept(dialect: GrpcBinding, value: Any) -> Any:
    """The value as the dialect's reader finds it."""
    if isinstance(value, msgspec.Struct):
        members = {name: kept(dialect, getattr(value, name)) for name in value.__struct_fields__}
        return LOSSES[dialect.key].get(type(value), same)(replace(value, **members))
    if isinstance(value, tuple):
        return tuple(kept(dialect, item) for item in cast("Sequence[Any]", value))
    if isinstance(value, dict):
        return {name: kept(dialect, item) for name, item in cast("dict[str, Any]", value).items()}
    return value


def like(one: Any, other: Any) -> bool:
    """Equal, numbers beyond 2**53 as near as doubles are."""
    if isinstance(one, msgspec.Struct):
        return type(one) is type(other) and all(
            like(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__
        )
    if isinstance(one, Mapping):
        members, others = cast("Mapping[str, Any]", one), cast("Mapping[str, Any]", other)
        return members.keys() == others.keys() and all(like(members[key], others[key]) for key in members)
    if isinstance(one, list | tuple):
        items, further = cast("Sequence[Any]", one), cast("Sequence[Any]", other)
        return len(items) == len(further) and all(map(like, items, further))
    if isinstance(one, float) or (isinstance(one, int) and abs(one) >= 2**53):
        return math.isclose(one, other, rel_tol=1e-15)
    return bool(one == other)
