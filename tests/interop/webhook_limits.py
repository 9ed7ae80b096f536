"""What a peer cannot do with webhooks. Part of `limits`."""

from tests.interop.limit import Evidence, Limit

__all__ = ["WEBHOOK_LIMITS"]

_DEFAULT_HANDLER = "a2a/server/request_handlers/default_request_handler.py"
_ADAPTER_0_3_26 = "a2a/server/apps/rest/rest_adapter.py"
_SENDER = "a2a/server/tasks/base_push_notification_sender.py"

WEBHOOK_LIMITS: tuple[Limit, ...] = (
    Limit(
        peers=("py-0.3.26",),
        role="client",
        scenarios=("webhook_settings",),
        instead={"listed": ..., "deleted": ..., "left": ..., "gone": ...},
        reason="webhooks are set and read, and neither listed nor deleted: it has no call for that",
        evidence=(Evidence("py-0.3.26", "a2a/client/client.py", 161, "async def get_task_callback("),),
    ),
    Limit(
        peers=("py-1.3.0",),
        role="client",
        bindings=("HTTP+JSON",),
        scenarios=("webhook_settings",),
        instead={"listed": ..., "deleted": ..., "left": ..., "gone": ...},
        reason="webhooks are neither listed nor deleted",
        evidence=(
            Evidence("py-1.3.0", "a2a/compat/v0_3/rest_transport.py", 264, "not supported in v0.3 REST"),
            Evidence("py-1.3.0", "a2a/compat/v0_3/rest_transport.py", 275, "not supported in v0.3 REST"),
        ),
    ),
    Limit(
        peers=("py-1.3.0",),
        role="server",
        bindings=("HTTP+JSON",),
        scenarios=("webhook_settings",),
        instead={"deleted": "VersionNotSupportedError", "left": ..., "gone": ...},
        reason="webhooks cannot be deleted: their route has one method, and the routes of 1.0, which come next, refuse "
        "the version",
        evidence=(
            Evidence("py-1.3.0", "a2a/compat/v0_3/rest_adapter.py", 132, "pushNotificationConfigs/{push_id}"),
            Evidence("py-1.3.0", "a2a/compat/v0_3/rest_adapter.py", 133, "'GET'"),
        ),
    ),
    Limit(
        peers=("py-0.3.26",),
        role="server",
        bindings=("JSONRPC",),
        scenarios=("webhook_settings",),
        instead={"gone": ...},
        reason="whichever webhook is asked for, the first one is given",
        evidence=(
            Evidence("py-0.3.26", _DEFAULT_HANDLER, 505, "push_notification_config=push_notification_config[0]"),
        ),
    ),
    Limit(
        peers=("py-0.3.26",),
        role="server",
        bindings=("HTTP+JSON",),
        scenarios=("webhook_settings",),
        instead={"listed": "InternalError", "deleted": "MethodNotFoundError", "left": "InternalError", "gone": ...},
        reason="webhooks are neither listed nor deleted",
        evidence=(
            Evidence(
                "py-0.3.26", "a2a/server/request_handlers/rest_handler.py", 286, "list notifications not implemented"
            ),
            Evidence("py-0.3.26", _ADAPTER_0_3_26, 226, "pushNotificationConfigs/{push_id}"),
            Evidence("py-0.3.26", _ADAPTER_0_3_26, 227, "'GET'"),
        ),
    ),
    Limit(
        peers=("py-0.3.26",),
        role="server",
        bindings=("GRPC",),
        scenarios=("webhook_settings",),
        instead=dict.fromkeys(("listed", "deleted", "left"), "MethodNotFoundError") | {"gone": ...},
        reason="the same; its service leaves both methods as they were generated",
        evidence=(
            Evidence("py-0.3.26", "a2a/grpc/a2a_pb2_grpc.py", 148, "def ListTaskPushNotificationConfig("),
            Evidence("py-0.3.26", "a2a/grpc/a2a_pb2_grpc.py", 162, "def DeleteTaskPushNotificationConfig("),
        ),
    ),
    Limit(
        peers=("py-1.3.0",),
        role="server",
        scenarios=("webhook", "webhook_with_message"),
        instead={"forms": ["1.0"]},
        reason="what is posted has the form of 1.0, in whichever version the webhook was set",
        evidence=(Evidence("py-1.3.0", _SENDER, 145, "json=MessageToDict(to_stream_response(event))"),),
    ),
    Limit(
        peers=("py-0.3.26",),
        role="server",
        scenarios=("webhook", "webhook_with_message"),
        instead={"authorizations": ["none"]},
        reason="a webhook's credentials are kept, and never sent",
        evidence=(Evidence("py-0.3.26", _SENDER, 57, "headers = {'X-A2A-Notification-Token': push_info.token}"),),
    ),
    Limit(
        peers=("js-0.3.14",),
        role="server",
        scenarios=("webhook", "webhook_with_message"),
        instead={"authorizations": ["none"]},
        reason="the same",
        evidence=(Evidence("js-0.3.14", "dist/server/index.js", 559, "headers[this.options.tokenHeaderName]"),),
    ),
    Limit(
        peers=("js-0.3.14",),
        role="server",
        scenarios=("webhook_settings",),
        instead={"gone": "InternalError"},
        reason="to ask for a webhook that is not there is an internal error",
        evidence=(Evidence("js-0.3.14", "dist/server/index.js", 921, "not found for task"),),
    ),
    Limit(
        peers=("js-1.3.0",),
        role="server",
        versions=("1.0", "0.3"),
        scenarios=("webhook_with_message",),
        instead={"tokens": ["none"]},
        reason="a webhook that has credentials is sent them alone, and not its token",
        evidence=(Evidence("js-1.3.0", "dist/server/index.js", 2669, "} else if (pushConfig.token) {"),),
    ),
    Limit(
        peers=("js-1.3.0",),
        role="server",
        bindings=("HTTP+JSON",),
        scenarios=("webhook_settings",),
        instead={"created": "InvalidParamsError", "read": "TaskNotFoundError", "listed": "[]", "left": "[]"},
        reason="a webhook that is set is read from the body itself, where the servers of the other SDKs, this one's "
        "older line too, want a request around it",
        evidence=(
            Evidence("js-1.3.0", "dist/server/express/index.js", 5830, "decodeTaskPushNotificationConfig(req.body)"),
            Evidence(
                "js-0.3.14", "dist/server/express/index.js", 544, "CreateTaskPushNotificationConfigRequest.fromJSON"
            ),
            Evidence(
                "py-0.3.26",
                "a2a/server/request_handlers/rest_handler.py",
                227,
                "CreateTaskPushNotificationConfigRequest()",
            ),
        ),
    ),
    Limit(
        peers=("js-1.3.0",),
        role="server",
        bindings=("HTTP+JSON",),
        scenarios=("webhook",),
        instead="TaskPushNotificationConfig missing pushNotificationConfig",
        reason="the same",
        evidence=(
            Evidence("js-1.3.0", "dist/server/express/index.js", 5830, "decodeTaskPushNotificationConfig(req.body)"),
        ),
    ),
)
