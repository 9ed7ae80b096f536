"""Push notification configuration (specification sections 4.3.1 and 4.3.2)."""

import msgspec

__all__ = ["AuthenticationInfo", "TaskPushNotificationConfig"]


class AuthenticationInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """How the agent authenticates to the webhook: an IANA scheme name and credentials in its form."""

    scheme: str
    credentials: str | None = None

    def __repr__(self) -> str:
        return f"AuthenticationInfo(scheme={self.scheme!r}, credentials=...)"


class TaskPushNotificationConfig(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Where and how updates of one task are posted. `task_id` is empty inside SendMessage."""

    url: str
    id: str = ""
    task_id: str = ""
    tenant: str = ""
    token: str | None = None
    authentication: AuthenticationInfo | None = None

    def __repr__(self) -> str:
        return f"TaskPushNotificationConfig(id={self.id!r}, task_id={self.task_id!r}, url={self.url!r})"
