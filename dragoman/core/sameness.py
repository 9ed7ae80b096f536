"""When two messages are one that was sent twice."""

import hashlib

import msgspec

from dragoman.types.requests import SendMessageRequest

__all__ = ["digest_of"]

_DIGEST_BYTES = 16

_encode = msgspec.json.Encoder(order="deterministic").encode


def digest_of(request: SendMessageRequest) -> str:
    """What tells apart requests to send a message: the same for requests that say the same, whatever the order of
    members in their metadata and data.

    The message counts whole, and of the rest what the agent may get to see: metadata, output modes, the configuration
    of push notifications. How the caller wants to be answered does not count (waiting or not, in a stream or not, with
    how much history), so that one who has waited in vain can ask in another way.
    """
    configuration = request.configuration
    said = (
        request.message,
        request.metadata,
        configuration.accepted_output_modes,
        configuration.task_push_notification_config,
    )
    return hashlib.blake2b(_encode(said), digest_size=_DIGEST_BYTES).hexdigest()
