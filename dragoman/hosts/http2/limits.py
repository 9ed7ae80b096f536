"""What a peer may ask of one HTTP/2 connection before it is refused."""

import msgspec

__all__ = ["Allowance", "Http2Limits"]


class Allowance(msgspec.Struct, frozen=True):
    """`burst` at once, and `rate` more each second. What is beyond is a flood: GOAWAY with ENHANCE_YOUR_CALM."""

    burst: int
    rate: float


class Http2Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Beside what `ConnectionLimits` says of heads, idling and slow readers: a stream whose window the peer keeps shut
    for as long as `stall` is cancelled. Times in seconds, sizes in bytes.

    What one connection can make us keep, with the defaults of both: `connection_window` of bodies that the application
    has not read; for each of `max_running` requests a head of at most `max_head_bytes` (and what Python adds, about
    150 bytes a field); one block of `max_block_bytes`; one frame that is not whole yet (16 KiB); `high_water` and one
    turn's frames of output (128 KiB), `max_control_frames` of at most 17 bytes; and what the application itself holds
    while it waits to send. That is 1 MiB plus 64 KiB + 19 KiB for each request with a head as large as allowed;
    a connection with ordinary requests costs some ten KiB.
    """

    max_concurrent_streams: int = 128
    """Advertised; a stream beyond it gets REFUSED_STREAM, which says that nothing was done."""
    max_running: int = 256
    """Requests whose application has not ended, those counted whose streams are closed or reset; then as above."""
    stream_window: int = 256 * 1024
    """Advertised: bytes of one request's body that wait for the application."""
    connection_window: int = 1024 * 1024
    """The same for all requests together."""
    max_block_bytes: int = 64 * 1024
    """A header block as it is sent, compressed; more ends the connection. What it says has `max_head_bytes`,
    advertised too, and `max_header_fields`; more of those is answered by 431, and none of it is kept."""
    max_continuations: int = 32
    """Frames that one header block may have after its first."""
    max_control_frames: int = 1000
    """Answers (acknowledgements, resets, window updates) that wait while the peer reads nothing."""
    linger: float = 1.0
    """What the peer still sends is read and dropped so long after the last frame, so that it can read that."""
    keep_alive: float = 45.0
    """A peer with a stream open that has said nothing for so long is asked by a PING whether it is still there: nothing
    else would tell that it is not, while there is nothing to send."""
    keep_alive_timeout: float = 20.0
    """For anything to come after that; then the connection is cut."""

    resets: Allowance = Allowance(500, 50)
    """Of streams by the peer: rapid reset."""
    provoked: Allowance = Allowance(100, 10)
    """Of streams by us, for what the peer did to them: the same the other way round. Refused streams count."""
    pings: Allowance = Allowance(500, 100)
    """Beyond one for each DATA frame that was sent: clients measure the path with those."""
    settings: Allowance = Allowance(50, 5)
    """SETTINGS frames, acknowledgements too."""
    updates: Allowance = Allowance(1000, 100)
    """WINDOW_UPDATE frames beyond two for each DATA frame that was sent and two for each stream."""
    dribbles: Allowance = Allowance(500, 50)
    """DATA frames that the peer's windows made smaller than `dribble` bytes."""
    dribble: int = 256
    empties: Allowance = Allowance(100, 20)
    """DATA without a byte and without an end, header fragments without a byte."""
    ignored: Allowance = Allowance(1000, 200)
    """PRIORITY, frames of unknown types, and whatever comes for streams that are closed."""
