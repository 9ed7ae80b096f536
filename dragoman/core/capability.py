"""May this operation be used, by what the card declares (specification section 3.3.4)."""

from dragoman.errors import (
    A2AError,
    ExtensionSupportRequiredError,
    PushNotificationNotSupportedError,
    UnsupportedOperationError,
)
from dragoman.operations import Operation
from dragoman.types.card import AgentCapabilities

__all__ = ["activated_extensions", "check_capability", "check_extensions"]

_MISSING: dict[str, tuple[type[A2AError], str]] = {
    "streaming": (UnsupportedOperationError, "This agent does not stream"),
    "push_notifications": (PushNotificationNotSupportedError, "This agent does not send push notifications"),
    "extended_agent_card": (UnsupportedOperationError, "This agent has no extended card"),
}


def check_capability(operation: Operation, capabilities: AgentCapabilities) -> None:
    """Raises the error that the specification names if the card does not declare what the operation needs."""
    if operation.needs is not None and not getattr(capabilities, operation.needs):
        error, message = _MISSING[operation.needs]
        raise error(message)


def check_extensions(requested: tuple[str, ...], capabilities: AgentCapabilities) -> None:
    """Raises `ExtensionSupportRequiredError` if a required extension is not among those the caller names."""
    missing = [
        extension.uri for extension in capabilities.extensions if extension.required and extension.uri not in requested
    ]
    if missing:
        raise ExtensionSupportRequiredError(
            f"This agent requires the caller to support: {', '.join(missing)}",
            details={"extensions": ",".join(missing)},
        )


def activated_extensions(requested: tuple[str, ...], capabilities: AgentCapabilities) -> tuple[str, ...]:
    """The extensions that the caller names and the agent has, in the caller's order; never another version."""
    known = {extension.uri for extension in capabilities.extensions}
    return tuple(uri for uri in dict.fromkeys(requested) if uri in known)
