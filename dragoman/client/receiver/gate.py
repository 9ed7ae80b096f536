"""Who may notify at all: token, credentials and time of a request, looked at before its body is read."""

import hmac
from base64 import b64encode
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from dragoman.client.receiver.refusal import Refused
from dragoman.client.receiver.watch import Watch, Watches, digest_of
from dragoman.types.push import AuthenticationInfo

__all__ = ["Gate", "authorization_of", "exposed"]

TOKEN_HEADERS = ("x-a2a-notification-token", "a2a-notification-token")
"""Both spellings are in use."""
LONGEST_STAMP = 18
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Gate:
    """Lets in who shows a token, or the credentials; what is shown must be right, and one of both must be there.

    Some agents send only one of the two where both were asked for. `token` is good for tasks that were not asked for
    here. `window` is in seconds, `clock` gives seconds since 1970.
    """

    def __init__(
        self,
        watches: Watches,
        *,
        token: str | None,
        authentication: AuthenticationInfo | None,
        window: float,
        clock: Callable[[], float],
    ) -> None:
        self._watches = watches
        self._token = None if token is None else digest_of(token)
        self._authorization = None if authentication is None else _comparable(authorization_of(authentication))
        self._window = window
        self._clock = clock

    def admit(self, headers: Mapping[str, str]) -> Watch | None:
        """The configuration whose token is shown; None for the token that is good for all, or for credentials alone.

        Raises:
            Refused: 401 for a stranger, 400 for a request of another time.
        """
        tokens = {headers[name] for name in TOKEN_HEADERS if name in headers}
        shown = headers.get("authorization") if self._authorization is not None else None
        if len(tokens) > 1 or (not tokens and shown is None):
            raise _stranger()
        watch = None
        if tokens:
            watch = self._holder(tokens.pop())
        if shown is not None and not hmac.compare_digest(_comparable(shown), self._authorization or b""):
            raise _stranger()
        self._check_time(headers.get("webhook-timestamp"))
        return watch

    def _holder(self, token: str) -> Watch | None:
        watch = self._watches.by_token(token)
        if watch is None and (self._token is None or not hmac.compare_digest(digest_of(token), self._token)):
            raise _stranger()
        return watch

    def _check_time(self, stamp: str | None) -> None:
        if stamp is None:
            return
        plausible = stamp.isascii() and stamp.isdigit() and len(stamp) <= LONGEST_STAMP
        if not plausible or abs(self._clock() - int(stamp)) > self._window:
            raise Refused(400, "webhook-timestamp is not of now")


def authorization_of(authentication: AuthenticationInfo) -> str:
    """The value of the header that agents send; credentials for Basic that have a colon are encoded (RFC 7617)."""
    scheme, credentials = authentication.scheme, authentication.credentials or ""
    if scheme.lower() == "basic" and ":" in credentials:
        credentials = b64encode(credentials.encode()).decode()
    return f"{scheme} {credentials}"


def exposed(url: str) -> bool:
    """Whether what is posted there can be read on its way."""
    address = urlsplit(url)
    return address.scheme == "http" and address.hostname not in LOOPBACK


def _comparable(shown: str) -> bytes:
    """The name of a scheme is the same in any case (RFC 9110 section 11.1)."""
    scheme, *credentials = shown.split()[:2] or [""]
    return " ".join([scheme.lower(), *credentials]).encode("utf-8", "surrogatepass")


def _stranger() -> Refused:
    return Refused(401, "token or credentials are missing or wrong")
