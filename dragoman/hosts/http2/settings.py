"""The peer's settings (RFC 9113 section 6.5.2)."""

from collections.abc import Collection, Mapping

from dragoman.hosts.http2.frames import FLOW_CONTROL_ERROR, MAX_FRAME, MAX_WINDOW, PROTOCOL_ERROR, ConnectionFault
from dragoman.hosts.http2.outlet import Outlet, Sender

__all__ = [
    "HEADER_TABLE_SIZE",
    "INITIAL_WINDOW_SIZE",
    "MAX_CONCURRENT_STREAMS",
    "MAX_HEADER_LIST_SIZE",
    "apply_settings",
]

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = (
    range(1, 7)
)
LARGEST_FRAME = 2**24 - 1


def apply_settings(values: Mapping[int, int], outlet: Outlet, streams: Collection[Sender]) -> None:
    """Of each setting the last value, so that the work does not grow with how often a frame repeats one.

    Acknowledge it before anybody sends what it allows: the peer counts so.

    :raises ConnectionFault: a value is outside of its range, or a window would be.
    """
    if values.get(ENABLE_PUSH, 0) > 1:
        raise ConnectionFault(PROTOCOL_ERROR, "ENABLE_PUSH")
    if HEADER_TABLE_SIZE in values:
        outlet.forget_table()
    if not MAX_FRAME <= values.get(MAX_FRAME_SIZE, MAX_FRAME) <= LARGEST_FRAME:
        raise ConnectionFault(PROTOCOL_ERROR, "MAX_FRAME_SIZE")
    window = values.get(INITIAL_WINDOW_SIZE, outlet.stream_window)
    if window != outlet.stream_window:
        _resize(window, outlet, streams)


def _resize(window: int, outlet: Outlet, streams: Collection[Sender]) -> None:
    difference = window - outlet.stream_window
    outlet.stream_window = window
    for stream in streams:
        stream.window += difference
    if window > MAX_WINDOW or any(stream.window > MAX_WINDOW for stream in streams):
        raise ConnectionFault(FLOW_CONTROL_ERROR, "INITIAL_WINDOW_SIZE")
