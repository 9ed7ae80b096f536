"""Tokens that say nothing by themselves: their issuer is asked what they are worth (RFC 7662)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote_plus

import msgspec
import pybase64

from dragoman.auth.claims import Expected, principal_of, read_claims
from dragoman.auth.jwt import read_part
from dragoman.auth.kept import Kept
from dragoman.auth.tokens import is_token
from dragoman.errors import DragomanError, UnavailableError
from dragoman.ports.call import Principal
from dragoman.ports.webhook import Undelivered
from dragoman.signing.jws import NotVerified

if TYPE_CHECKING:
    from dragoman.outbound.answers import Page

__all__ = ["Introspection", "Introspector", "Post", "Where"]

REMEMBERED = 4096
REMEMBERED_WRONG = 1024
WRONG_FOR = 10.0
"""Seconds for which the issuer is not asked again about a token that was no good."""
AT_ONCE = 16
"""Calls to the issuer at a time."""
WAITING = 256
"""Tokens about which it is being asked; callers with others are told to come back."""
COME_BACK = 2.0
"""Seconds."""
OK, BAD_REQUEST = 200, 400
ABOUT_TOKENS = frozenset({"unsupported_token_type", "invalid_token"})
"""Errors that are the token's own, and neither the issuer's nor ours."""

T = TypeVar("T")
Where = Callable[[], Awaitable[str]]
Post = Callable[[str, Mapping[str, str], str], Awaitable["Page"]]

log = logging.getLogger("dragoman.auth")


class Introspection(msgspec.Struct, frozen=True, kw_only=True):
    """Asks the issuer about each token that is new: as this client, which the issuer lets ask. Its `repr` shows no
    secret.
    """

    client_id: str
    client_secret: str
    url: str = ""
    """Where; without it as the metadata say."""
    keep: float = 60.0
    """Seconds for which an answer counts, and no longer than the token is good: so long a token that was revoked may
    still let somebody in. 0 asks for every call."""

    def __repr__(self) -> str:
        return f"Introspection(client_id={self.client_id!r}, url={self.url!r})"

    @property
    def authorization(self) -> str:
        """What the issuer knows the client by (RFC 6749 section 2.3.1)."""
        pair = f"{quote_plus(self.client_id)}:{quote_plus(self.client_secret)}"
        return f"Basic {pybase64.b64encode(pair.encode()).decode()}"


class _Told(msgspec.Struct):
    active: bool
    token_type: str = ""
    token_use: str = ""
    client_id: str = ""


class _Refusal(msgspec.Struct):
    error: str = ""


class _Issued(msgspec.Struct):
    iss: str = ""


class Introspector:
    """Of many calls with one new token one asks for all, and it is answered also if that one leaves. What was found is
    remembered under a digest of the token.

    `where` says at which URL to ask, and `post` asks, as `IssuerClient.post`. Principals are of `scheme`; `now` gives
    seconds since 1970.
    """

    def __init__(
        self,
        expected: Expected,
        asking: Introspection,
        where: Where,
        post: Post,
        *,
        scheme: str,
        now: Callable[[], float],
    ) -> None:
        self._expected = expected
        self._asking = asking
        self._where = where
        self._post = post
        self._scheme = scheme
        self._now = now
        self._good: Kept[Principal] = Kept(REMEMBERED)
        self._wrong: Kept[bool] = Kept(REMEMBERED_WRONG)
        self._asked: dict[str, asyncio.Task[Principal | DragomanError]] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def principal(self, token: str) -> Principal:
        now = self._now()
        principal = self._good.get(token, now)
        if principal is not None:
            return principal
        if self._wrong.get(token, now) or not is_token(token) or self._is_of_another(token):
            raise NotVerified("it is no token of the issuer")
        found = await asyncio.shield(self._asked.get(token) or self._ask(token))
        if isinstance(found, DragomanError):
            raise found
        return found

    def _is_of_another(self, token: str) -> bool:
        """Whether it says itself that another has issued it: nobody else is shown that one's tokens."""
        try:
            issuer = read_part(token, 1, _Issued).iss
        except NotVerified:
            return False
        return bool(issuer) and issuer not in self._expected.issuers

    def _ask(self, token: str) -> "asyncio.Task[Principal | DragomanError]":
        if len(self._asked) >= WAITING:
            raise _later()
        task = asyncio.get_running_loop().create_task(self._found(token))
        self._asked[token] = task
        task.add_done_callback(lambda _: self._asked.pop(token, None))
        return task

    async def _found(self, token: str) -> Principal | DragomanError:
        """Whose the token is, or why that is not known: nobody may be left who would catch an error."""
        try:
            async with self._turns:
                document = await self._answer(token)
            principal, until = self._read(document)
        except NotVerified as error:
            self._wrong.put(token, True, self._now() + WRONG_FOR)
            return error
        except UnavailableError as error:
            return error
        except DragomanError as error:
            log.warning("the issuer cannot be asked about tokens: %s", error)
            return _later()
        self._good.put(token, principal, until)
        return principal

    async def _answer(self, token: str) -> bytes:
        """What the issuer says of the token.

        Raises:
            NotVerified: that it is none of its own.
            DragomanError: nothing.
        """
        form = {"token": token, "token_type_hint": "access_token"}
        page = await self._post(await self._where(), form, self._asking.authorization)
        if page.status == BAD_REQUEST and _decoded(page.body, _Refusal).error in ABOUT_TOKENS:
            raise NotVerified("the issuer introspects no tokens of this kind")
        if page.status != OK:
            raise Undelivered(f"Introspection is answered with status {page.status}")
        return page.body

    def _read(self, document: bytes) -> tuple[Principal, float]:
        """Whom it names, and until when that counts."""
        told = _decoded(document, _Told)
        if not told.active:
            raise NotVerified("it is not active")
        claims, members = read_claims(document)
        if not claims.iss:
            # It need not say so: it is the one who was asked.
            claims.iss = min(self._expected.issuers)
        now = self._now()
        until = self._expected.check(claims, now)
        if not _is_access(told, surely=bool(self._expected.audiences)):
            raise NotVerified("it is no token to call with")
        kept = now + self._asking.keep
        until = kept if until is None else min(until, kept)
        if self._expected.subject not in members and told.client_id:
            # A client of its own. Somebody could be called as a client is, so that it has a name that nobody has.
            return principal_of(claims, told.client_id, self._scheme, members, "client "), until
        return principal_of(claims, self._expected.subject_in(members), self._scheme, members), until


def _is_access(told: _Told, *, surely: bool) -> bool:
    """Whether it is an access token, and none by which a client gets others. An issuer need not say what it is: then
    it counts if it is `surely` for this agent.
    """
    if told.token_use not in {"", "access_token"}:
        return False
    return told.token_type.lower() == "bearer" if told.token_type else surely


def _decoded(document: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(document, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise Undelivered("What the issuer answers cannot be read") from None


def _later() -> UnavailableError:
    error = UnavailableError()
    error.retry_after = COME_BACK
    return error
