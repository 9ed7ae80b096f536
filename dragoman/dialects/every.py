"""Every dialect that there is, in the order of preference."""

from typing import Literal

from dragoman.dialects.base import Dialect
from dragoman.dialects.draft.jsonrpc import JsonRpc as DraftJsonRpc
from dragoman.dialects.draft.rest import Rest as DraftRest
from dragoman.dialects.v0_3.grpc import DraftGrpc
from dragoman.dialects.v0_3.grpc import Grpc as OlderGrpc
from dragoman.dialects.v0_3.jsonrpc import JsonRpc as OlderJsonRpc
from dragoman.dialects.v0_3.rest import Rest as OlderRest
from dragoman.dialects.v1_0.card import DRAFT_VERSION
from dragoman.dialects.v1_0.grpc import Grpc
from dragoman.dialects.v1_0.jsonrpc import JsonRpc
from dragoman.dialects.v1_0.rest import Rest

__all__ = ["declared", "every_dialect", "version_of"]


def every_dialect(media_type: Literal["accept", "json"] = "accept") -> tuple[Dialect, ...]:
    """1.0 first, then 0.3 and the draft; JSON-RPC, HTTP+JSON and gRPC of each.

    `media_type` is that of successes over HTTP+JSON, as `v1_0.rest.Rest` has it.
    """
    return (
        JsonRpc(),
        Rest(media_type=media_type),
        Grpc(),
        OlderJsonRpc(),
        OlderRest(),
        OlderGrpc(),
        DraftJsonRpc(),
        DraftRest(media_type=media_type),
        DraftGrpc(),
    )


def declared(dialect: Dialect) -> bool:
    """Whether cards declare the dialect. The draft is answered, but by its version it cannot be told from 1.0."""
    return not dialect.key.startswith("draft/")


def version_of(dialect: Dialect) -> str:
    """The version by which a client knows the dialect in an interface of a card."""
    return dialect.version if declared(dialect) else DRAFT_VERSION
