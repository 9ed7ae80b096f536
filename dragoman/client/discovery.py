"""From a reference to an agent's card, and from a card to the interfaces to try, in order."""

import asyncio
import importlib.util
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from dragoman.client.signatures import CardDocument
from dragoman.client.transport import PATIENCE, HttpResponse, HttpTransport, following, read
from dragoman.client.words import shown
from dragoman.dialects.card import decode_card
from dragoman.errors import ConfigurationError, DragomanError, ReplyMalformed, TransportError
from dragoman.types.card import AgentCard, AgentInterface

__all__ = [
    "CardCache",
    "CardInvalid",
    "CardNotFound",
    "CardSource",
    "NoUsableInterface",
    "at_hand",
    "candidates",
    "locate",
    "minor",
    "secure",
]

WELL_KNOWN = "/.well-known/agent-card.json"
OLDER_WELL_KNOWN = "/.well-known/agent.json"
GRPC = "GRPC"
PREFERRED = "1.0"
"""The version that is used if there is a choice."""
MAX_CARD = 4 * 1024 * 1024
MOST_INTERFACES = 32
"""Of one card that are tried: with each that does not answer a call takes longer."""
OK = 200
NOT_MODIFIED = 304
# Answers after which no other place is asked: who is asking is in doubt, or (from 500 on) the agent is in trouble.
_FINAL = {401, 403}
_TROUBLE = 500
_LOCAL_HOST = re.compile(r"(localhost|127\.[0-9.]+|\[::1\]|0\.0\.0\.0)(:[0-9]+)?(/|$)")


class CardNotFound(TransportError):
    """No card where the reference points. `status` is the HTTP status of the answer, None for a file."""

    def __init__(self, message: str, status: int | None = None) -> None:
        self.status = status
        super().__init__(message)


class CardInvalid(ReplyMalformed):
    """What is there is not an agent card. `document` is all of it."""

    document: bytes = b""


class NoUsableInterface(DragomanError):
    """The card offers no interface in a binding and version that this client speaks and its caller accepts."""


def locate(reference: str) -> Path | tuple[str, ...]:
    """Where the card may be: a file, or URLs to try in turn.

    A host or origin means its well-known path, then the older one. A URL with a path is the card itself, else an
    agent mounted there. `file:` URLs, and what looks like a path or is an existing file, are files. A host without a
    scheme is asked over https, this machine over http.
    """
    if reference.startswith("file:"):
        return Path(unquote(urlsplit(reference).path))
    if "://" not in reference:
        if reference.startswith(("/", "./", "../", "~")) or Path(reference).is_file():
            return Path(reference).expanduser()
        scheme = "http" if _LOCAL_HOST.match(reference) else "https"
        reference = f"{scheme}://{reference}"
    parts = urlsplit(reference)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigurationError(f"{reference!r} is neither a host, an http(s) URL nor a file")
    if parts.path.endswith(".json") or parts.query:
        return (reference,)
    base = reference.rstrip("/")
    well_known = (base + WELL_KNOWN, base + OLDER_WELL_KNOWN)
    return well_known if parts.path in {"", "/"} else (reference, *well_known)


def candidates(
    card: AgentCard,
    spoken: Collection[tuple[str, str]],
    *,
    versions: Sequence[str] | None = None,
    bindings: Sequence[str] | None = None,
    custom: Collection[str] = (),
) -> tuple[AgentInterface, ...]:
    """The interfaces to try, at most 32: those spoken, of 1.0 first, else in the card's order (specification section
    8.3.2).

    Args:
        card: what the agent offers.
        spoken: pairs of binding and version.
        versions: the only versions that the caller accepts, as Major.Minor; by default all that are spoken.
        bindings: the only bindings that the caller accepts, best first, which goes before the version.
        custom: bindings that the caller brought channels for; their versions are theirs to judge.

    Raises:
        NoUsableInterface: none is left; says what there is.
    """
    accepted = None if versions is None else [minor(version) for version in versions]
    found = [
        interface
        for interface in card.supported_interfaces
        if _speaks(interface, spoken, custom)
        and (accepted is None or minor(interface.protocol_version) in accepted)
        and (bindings is None or interface.protocol_binding in bindings)
    ]
    if not found:
        raise NoUsableInterface(_unusable(card, accepted, bindings))
    order = list(bindings or ())

    def rank(interface: AgentInterface) -> tuple[int, bool]:
        wished = order.index(interface.protocol_binding) if order else 0
        return wished, interface.protocol_binding not in custom and minor(interface.protocol_version) != PREFERRED

    return tuple(sorted(found, key=rank)[:MOST_INTERFACES])


def at_hand(interfaces: Sequence[AgentInterface], custom: Collection[str] = ()) -> Sequence[AgentInterface]:
    """The interfaces without those of gRPC, if its library is not installed and others are left."""
    others = [one for one in interfaces if one.protocol_binding != GRPC]
    there = GRPC in custom or importlib.util.find_spec("grpc") is not None
    return interfaces if there or not others else others


def secure(card: AgentCard, interface: AgentInterface, reference: object = None) -> bool:
    """Whether an interface whose URL has no scheme is under TLS: if the card's other interfaces are, else if the place
    of the card is, as far as `reference` names one, else unless it is on this machine.
    """
    if "://" in interface.url:
        return True  # it says itself what it is, and nobody looks at this
    known = {urlsplit(one.url).scheme for one in card.supported_interfaces} & {"http", "https"}
    if not known and isinstance(reference, str):
        place = locate(reference)
        known = {urlsplit(url).scheme for url in (() if isinstance(place, Path) else place)}
    return "https" in known if known else not _LOCAL_HOST.match(interface.url)


def _unusable(card: AgentCard, versions: Sequence[str] | None, bindings: Sequence[str] | None) -> str:
    offered = ", ".join(f"{each.protocol_binding} {each.protocol_version}" for each in card.supported_interfaces)
    wishes = [f"in version {' or '.join(versions)}"] if versions is not None else []
    wishes += [f"over {' or '.join(bindings)}"] if bindings is not None else []
    return (
        f"No interface of {shown(card.name)!r} can be used {' '.join(wishes)}".rstrip()
        + f"; it offers: {shown(offered) or 'none'}"
    )


def _speaks(interface: AgentInterface, spoken: Collection[tuple[str, str]], custom: Collection[str]) -> bool:
    binding = interface.protocol_binding
    return binding in custom or (binding, minor(interface.protocol_version)) in spoken


def minor(version: str) -> str:
    """Major.Minor: the patch number plays no part (section 3.6)."""
    return ".".join(version.split(".")[:2])


class _Entry(msgspec.Struct):
    document: CardDocument
    etag: str
    seen: float
    fresh_until: float


class CardCache:
    """Cards as HTTP allows to keep them (section 8.6): within `max-age` unasked, after that with a conditional request.

    May be shared by clients that send the same headers. `clock` gives seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: dict[str, _Entry] = {}

    def fresh(self, urls: Iterable[str], tolerance: float = 0.0) -> CardDocument | None:
        """The first card among these that needs no request: within its time, or seen less than `tolerance` ago."""
        now = self._clock()
        for entry in self._known(urls):
            if now < max(entry.fresh_until, entry.seen + tolerance):
                return entry.document
        return None

    def stale(self, urls: Iterable[str]) -> CardDocument | None:
        """The first card among these, however old, for when the agent cannot be asked; it counts as seen now."""
        for entry in self._known(urls):
            entry.seen = self._clock()
            return entry.document
        return None

    def condition(self, url: str) -> dict[str, str]:
        """The headers that make a request for this card conditional."""
        entry = self._entries.get(url)
        return {"if-none-match": entry.etag} if entry is not None and entry.etag else {}

    def has(self, url: str) -> bool:
        """Whether this card was seen."""
        return url in self._entries

    def renew(self, url: str, headers: Mapping[str, str]) -> CardDocument:
        """The card that the agent says has not changed."""
        document, etag = self._entries[url].document, self._entries[url].etag
        return self.keep(url, document, {"etag": etag, **headers})

    def keep(self, url: str, document: CardDocument, headers: Mapping[str, str]) -> CardDocument:
        now = self._clock()
        self._entries[url] = _Entry(document, headers.get("etag", ""), now, now + _max_age(headers))
        return document

    def _known(self, urls: Iterable[str]) -> Iterator[_Entry]:
        return (self._entries[url] for url in urls if url in self._entries)


def _max_age(headers: Mapping[str, str]) -> float:
    control = headers.get("cache-control", "")
    if re.search(r"no-(cache|store)", control):
        return 0.0
    age = re.search(r"max-age=\"?([0-9]+)", control)
    return float(age[1]) if age else 0.0


class CardSource:
    """Gives the card from where `locate` says it is."""

    def __init__(
        self,
        place: Path | tuple[str, ...],
        transport: HttpTransport,
        cache: CardCache,
        headers: Mapping[str, str],
        patience: float = PATIENCE,
    ) -> None:
        """`patience` is how many seconds the body of a card may take."""
        self._patience = patience
        self._place = place
        self._transport = transport
        self._cache = cache
        self._headers = {"accept": "application/json", **headers}
        self._read: CardDocument | None = None
        self._asking = asyncio.Lock()

    async def card(self, tolerance: float = 0.0) -> CardDocument:
        """The card, fetched unless it is fresh; the same object as long as it is the same.

        With a tolerance, in seconds, a card seen that short a time ago will do, and any that was seen if the agent
        does not give it now.

        Raises:
            CardNotFound: nothing there.
            CardInvalid: something else there.
            TransportError: the place cannot be reached.
        """
        if isinstance(self._place, Path):
            if self._read is None or not tolerance:
                self._read = await asyncio.to_thread(_from_file, self._place)
            return self._read
        async with self._asking:
            kept = self._cache.fresh(self._place, tolerance)
            return kept if kept is not None else await self._renewed(self._place, tolerance)

    async def _renewed(self, urls: tuple[str, ...], tolerance: float) -> CardDocument:
        try:
            return await self._fetch(urls)
        except TransportError:
            seen = self._cache.stale(urls) if tolerance else None
            if seen is None:
                raise
            return seen

    async def _fetch(self, urls: tuple[str, ...]) -> CardDocument:
        failure: CardNotFound | ReplyMalformed | None = None
        for url in urls:
            try:
                return await self._asked(url)
            except CardNotFound as error:
                if error.status in _FINAL or (error.status or 0) >= _TROUBLE:
                    raise
                failure = failure if isinstance(failure, ReplyMalformed) else error
            except ReplyMalformed as error:
                failure = failure if isinstance(failure, ReplyMalformed) else error
        assert failure is not None
        raise failure

    async def _asked(self, url: str) -> CardDocument:
        headers = {**self._headers, **self._cache.condition(url)}
        async with following(self._transport, "GET", url, headers) as response:
            if response.status == NOT_MODIFIED and self._cache.has(url):
                return self._cache.renew(url, response.headers)
            return self._cache.keep(url, await _received(url, response, self._patience), response.headers)


async def _received(url: str, response: HttpResponse, patience: float) -> CardDocument:
    if response.status != OK:
        raise CardNotFound(f"No agent card at {url} (status {response.status})", response.status)
    return _decoded(await read(response, MAX_CARD, patience), url)


def _from_file(path: Path) -> CardDocument:
    try:
        return _decoded(path.read_bytes(), str(path))
    except OSError as error:
        raise CardNotFound(f"No agent card in {path}: {error.strerror}") from error


def _decoded(body: bytes, place: str) -> CardDocument:
    try:
        return CardDocument(decode_card(body), body)
    except ReplyMalformed as error:
        why = str(error).removesuffix(f": {error.excerpt}")
        invalid = CardInvalid(f"{place} is not an agent card: {why}", error.excerpt)
        invalid.document = body
        raise invalid from error
