"""Service `a2a.v1.A2AService`, which A2A 0.3 and the draft of 1.0 share.

The messages are the same; methods, statuses, and what some fields mean are not.
"""

from dragoman import operations
from dragoman.dialects.grpc import GrpcBinding
from dragoman.dialects.status import GRPC_0_3, GRPC_DRAFT
from dragoman.dialects.v0_3 import messages
from dragoman.operations import Operation

__all__ = ["DraftGrpc", "Grpc"]

_SHARED: dict[str, Operation] = {
    "SendMessage": operations.SEND_MESSAGE,
    "SendStreamingMessage": operations.SEND_STREAMING_MESSAGE,
    "GetTask": operations.GET_TASK,
    "CancelTask": operations.CANCEL_TASK,
    "GetTaskPushNotificationConfig": operations.GET_PUSH_CONFIG,
    "ListTaskPushNotificationConfig": operations.LIST_PUSH_CONFIGS,
    "DeleteTaskPushNotificationConfig": operations.DELETE_PUSH_CONFIG,
}
_ONLY_0_3: dict[str, Operation] = {
    "TaskSubscription": operations.SUBSCRIBE_TO_TASK,
    "CreateTaskPushNotificationConfig": operations.CREATE_PUSH_CONFIG,
    "GetAgentCard": operations.GET_EXTENDED_AGENT_CARD,
}
_ONLY_DRAFT: dict[str, Operation] = {
    "ListTasks": operations.LIST_TASKS,
    "SubscribeToTask": operations.SUBSCRIBE_TO_TASK,
    "SetTaskPushNotificationConfig": operations.CREATE_PUSH_CONFIG,
    "GetExtendedAgentCard": operations.GET_EXTENDED_AGENT_CARD,
}


class Grpc(GrpcBinding):
    """gRPC, version 0.3."""

    key = "0.3/GRPC"
    version = "0.3"

    service = "a2a.v1.A2AService"
    methods = _SHARED | _ONLY_0_3
    requests = messages.REQUESTS
    results = messages.RESULTS
    statuses = GRPC_0_3
    texts = True


class DraftGrpc(GrpcBinding):
    """gRPC, in the draft of version 1.0."""

    key = "draft/GRPC"
    version = "1.0"

    service = "a2a.v1.A2AService"
    methods = _SHARED | _ONLY_DRAFT
    requests = messages.DRAFT_REQUESTS
    results = messages.DRAFT_RESULTS
    statuses = GRPC_DRAFT
