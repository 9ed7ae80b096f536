"""Protocol extensions: how to write one, and those that come with Dragoman (specification section 4.6)."""

from dragoman.extensions.contents import with_contents
from dragoman.extensions.extension import Emitted, ExtendedCall, Extension, Request, Result
from dragoman.extensions.timestamps import Timestamps

__all__ = ["Emitted", "ExtendedCall", "Extension", "Request", "Result", "Timestamps", "with_contents"]
