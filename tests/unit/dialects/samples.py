"""Values for the dialect tests: one of each kind, and hypothesis strategies for all of them."""

import string
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from dragoman import operations, types
from dragoman.operations import Operation

NOON = datetime(2026, 1, 31, 12, 0, 0, 250_000, UTC)

MESSAGE = types.Message(
    message_id="m-1",
    role=types.Role.USER,
    parts=(
        types.Part(text="hello"),
        types.Part(base64="AAECAw==", media_type="application/octet-stream", filename="a.bin"),
        types.Part(url="https://example.com/f.pdf", metadata={"pages": 3}),
        types.Part(data={"some_key": [1, None, 2.5]}),
        types.Part(data=None),
    ),
    context_id="c-1",
    task_id="t-1",
    metadata={"nested": {"deep": True}},
    extensions=("urn:a",),
    reference_task_ids=("t-0",),
)
TASK = types.Task(
    id="t-1",
    context_id="c-1",
    status=types.TaskStatus(state=types.TaskState.INPUT_REQUIRED, message=MESSAGE, timestamp=NOON),
    artifacts=(types.Artifact(artifact_id="a-1", parts=(types.Part(text="x"),), name="n", description="d"),),
    history=(MESSAGE,),
    metadata={"k": "v"},
)
CONFIG = types.TaskPushNotificationConfig(
    url="https://example.com/hook",
    id="p-1",
    task_id="t-1",
    token="secret",
    authentication=types.AuthenticationInfo(scheme="Bearer", credentials="c"),
)
CARD = types.AgentCard(
    name="Echo",
    description="",
    version="1.0.0",
    supported_interfaces=(
        types.AgentInterface(url="https://e.com/a2a", protocol_binding="JSONRPC", protocol_version="1.0", tenant="t"),
    ),
    capabilities=types.AgentCapabilities(streaming=True, push_notifications=False),
    default_input_modes=("text/plain",),
    default_output_modes=(),
    skills=(),
)

REQUESTS: dict[Operation, Any] = {
    operations.SEND_MESSAGE: types.SendMessageRequest(
        message=MESSAGE,
        configuration=types.SendMessageConfiguration(
            accepted_output_modes=("text/plain",),
            task_push_notification_config=types.TaskPushNotificationConfig(url="https://example.com"),
            history_length=0,
            return_immediately=True,
        ),
        metadata={"m": 1},
    ),
    operations.SEND_STREAMING_MESSAGE: types.SendMessageRequest(message=MESSAGE),
    operations.GET_TASK: types.GetTaskRequest(id="t-1", history_length=3),
    operations.LIST_TASKS: types.ListTasksRequest(
        context_id="c 1+&/",
        status=types.TaskState.WORKING,
        page_size=7,
        page_token="a+/=",
        history_length=0,
        status_timestamp_after=NOON,
        include_artifacts=True,
    ),
    operations.CANCEL_TASK: types.CancelTaskRequest(id="t-1", metadata={"why": "because"}),
    operations.SUBSCRIBE_TO_TASK: types.SubscribeToTaskRequest(id="t-1"),
    operations.CREATE_PUSH_CONFIG: CONFIG,
    operations.GET_PUSH_CONFIG: types.GetTaskPushNotificationConfigRequest(task_id="t-1", id="p-1"),
    operations.LIST_PUSH_CONFIGS: types.ListTaskPushNotificationConfigsRequest(
        task_id="t-1", page_size=2, page_token="x"
    ),
    operations.DELETE_PUSH_CONFIG: types.DeleteTaskPushNotificationConfigRequest(task_id="t-1", id="p-1"),
    operations.GET_EXTENDED_AGENT_CARD: types.GetExtendedAgentCardRequest(),
}

RESULTS: dict[Operation, Any] = {
    operations.SEND_MESSAGE: TASK,
    operations.GET_TASK: TASK,
    operations.LIST_TASKS: types.ListTasksResponse(
        tasks=(TASK,), next_page_token="n", page_size=1, total_size=9, with_artifacts=True
    ),
    operations.CANCEL_TASK: TASK,
    operations.CREATE_PUSH_CONFIG: CONFIG,
    operations.GET_PUSH_CONFIG: CONFIG,
    operations.LIST_PUSH_CONFIGS: types.ListTaskPushNotificationConfigsResponse(configs=(CONFIG,), next_page_token="n"),
    operations.DELETE_PUSH_CONFIG: None,
    operations.GET_EXTENDED_AGENT_CARD: CARD,
}

text = st.text(st.characters(codec="utf-8"), max_size=12)
filled = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
maybe_text = st.none() | filled
words = st.lists(text, max_size=3).map(tuple)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
metadata = st.none() | st.dictionaries(text, json_values, max_size=3)
moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)).map(  # noqa: DTZ001 -- bounds are naive
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)
lengths = st.none() | st.integers(0, 2**31 - 1)
sizes = st.none() | st.integers(1, 100)
names = st.text(string.ascii_letters + string.digits + "-_./: %?#é", min_size=1, max_size=12)

contents: st.SearchStrategy[dict[str, Any]] = (
    st.fixed_dictionaries({"text": text})
    | st.fixed_dictionaries({"base64": st.binary(max_size=12).map(lambda raw: types.Part.from_bytes(raw).base64)})
    | st.fixed_dictionaries({"url": text})
    | st.fixed_dictionaries({"data": json_values})
)


def part_of(content: dict[str, Any], *, metadata: Any, filename: str | None, media_type: str | None) -> types.Part:
    return types.Part(**content, metadata=metadata, filename=filename, media_type=media_type)


parts = st.builds(part_of, contents, metadata=metadata, filename=maybe_text, media_type=maybe_text)
part_lists = st.lists(parts, min_size=1, max_size=3).map(tuple)
messages = st.builds(
    types.Message,
    message_id=filled,
    role=st.sampled_from(types.Role),
    parts=part_lists,
    context_id=maybe_text,
    task_id=maybe_text,
    metadata=metadata,
    extensions=words,
    reference_task_ids=words,
)
artifacts = st.builds(
    types.Artifact,
    artifact_id=text,
    parts=part_lists,
    name=maybe_text,
    description=maybe_text,
    metadata=metadata,
    extensions=words,
)
statuses = st.builds(
    types.TaskStatus,
    state=st.sampled_from(types.TaskState),
    message=st.none() | messages,
    timestamp=st.none() | moments,
)
tasks = st.builds(
    types.Task,
    id=filled,
    context_id=text,
    status=statuses,
    artifacts=st.lists(artifacts, max_size=2).map(tuple),
    history=st.lists(messages, max_size=2).map(tuple),
    metadata=metadata,
)
events: st.SearchStrategy[types.StreamEvent] = (
    tasks
    | messages
    | st.builds(types.TaskStatusUpdateEvent, task_id=text, context_id=text, status=statuses, metadata=metadata)
    | st.builds(
        types.TaskArtifactUpdateEvent,
        task_id=text,
        context_id=text,
        artifact=artifacts,
        append=st.booleans(),
        last_chunk=st.booleans(),
        metadata=metadata,
    )
)
configs = st.builds(
    types.TaskPushNotificationConfig,
    url=filled,
    id=text,
    task_id=names,
    token=maybe_text,
    authentication=st.none() | st.builds(types.AuthenticationInfo, scheme=filled, credentials=maybe_text),
)
sends = st.builds(
    types.SendMessageRequest,
    message=messages,
    configuration=st.builds(
        types.SendMessageConfiguration,
        accepted_output_modes=words,
        task_push_notification_config=st.none() | configs,
        history_length=lengths,
        return_immediately=st.booleans(),
    ),
    metadata=metadata,
)
requests: dict[Operation, st.SearchStrategy[Any]] = {
    operations.SEND_MESSAGE: sends,
    operations.SEND_STREAMING_MESSAGE: sends,
    operations.GET_TASK: st.builds(types.GetTaskRequest, id=names, history_length=lengths),
    operations.LIST_TASKS: st.builds(
        types.ListTasksRequest,
        context_id=maybe_text,
        status=st.none() | st.sampled_from([state for state in types.TaskState if state.value != "unspecified"]),
        page_size=sizes,
        page_token=text,
        history_length=lengths,
        status_timestamp_after=st.none() | moments,
        include_artifacts=st.booleans(),
    ),
    operations.CANCEL_TASK: st.builds(types.CancelTaskRequest, id=names, metadata=metadata),
    operations.SUBSCRIBE_TO_TASK: st.builds(types.SubscribeToTaskRequest, id=names),
    operations.CREATE_PUSH_CONFIG: configs,
    operations.GET_PUSH_CONFIG: st.builds(types.GetTaskPushNotificationConfigRequest, task_id=names, id=names),
    operations.LIST_PUSH_CONFIGS: st.builds(
        types.ListTaskPushNotificationConfigsRequest, task_id=names, page_size=sizes, page_token=text
    ),
    operations.DELETE_PUSH_CONFIG: st.builds(types.DeleteTaskPushNotificationConfigRequest, task_id=names, id=names),
    operations.GET_EXTENDED_AGENT_CARD: st.just(types.GetExtendedAgentCardRequest()),
}
tenants = st.just("") | names
