"""From a stored configuration and an event to the request that is sent."""

from datetime import datetime
from functools import cache
from typing import Protocol

from dragoman.ports.push import Push
from dragoman.push.delivery import Delivery, Undeliverable
from dragoman.push.headers import delivery_headers, delivery_id
from dragoman.push.seal import Seal, SealBroken
from dragoman.push.signer import WebhookSigner
from dragoman.types.content import Message
from dragoman.types.events import StreamEvent

__all__ = ["Bodies", "Preparation"]


class Bodies(Protocol):
    """What bodies look like, by the key of a dialect."""

    def posts_whole_tasks(self, dialect_key: str) -> bool: ...

    def push_version(self, dialect_key: str) -> str: ...

    def write_push(self, dialect_key: str, event: StreamEvent) -> tuple[str, bytes]:
        """Media type and body.

        Raises:
            KeyError: there is no such dialect.
        """
        ...


class Preparation:
    """`PreparePush` by what was sealed; `signer`, if there is one, signs each request."""

    def __init__(self, seal: Seal, bodies: Bodies, signer: WebhookSigner | None = None) -> None:
        self._seal = seal
        self._bodies = bodies
        self._signer = signer

    def whole(self, dialect: str) -> bool:
        return self._bodies.posts_whole_tasks(dialect)

    def request(self, push: Push, event: StreamEvent, seq: int, at: datetime) -> Delivery:
        try:
            config = self._seal.open(push.sealed, push.task_id, push.id)
        except SealBroken as error:
            raise Undeliverable(f"The configuration cannot be read: {error}") from None
        try:
            media, body = self._bodies.write_push(push.dialect, event)
        except KeyError:
            raise Undeliverable(
                f"The configuration is of the dialect {push.dialect}, which is not spoken here"
            ) from None
        about = event.message_id if isinstance(event, Message) and not push.task_id else push.task_id
        headers = delivery_headers(
            config,
            content_type=media,
            version=self._bodies.push_version(push.dialect),
            identity=(identity := delivery_id(about, seq, push.id)),
            at=at,
            user_agent=_user_agent(),
        )
        if self._signer is not None:
            headers |= self._signer.sign(
                url=config.url, identity=identity, timestamp=int(at.timestamp()), task_id=push.task_id, body=body
            )
        return Delivery(config.url, headers, body)


@cache
def _user_agent() -> str:
    from importlib.metadata import version

    return f"dragoman/{version('dragoman')}"
