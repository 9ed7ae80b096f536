"""What is fetched for a part, and what is not."""

import asyncio
import gzip
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from dragoman.errors import ConfigurationError
from dragoman.outbound.files import FetchFailed, FetchOptions, FetchRefused, FileFetcher
from dragoman.types.content import Part
from dragoman.types.fetching import fetching
from tests.unit.outbound.receiver import PUBLIC, Receiver, Script, answering, listening, lookup, silent

HEAD = b"HTTP/1.1 200 OK\r\n"
PICTURE = HEAD + b"Content-Type: image/png; x=1\r\nContent-Length: 3\r\n\r\npng"


@asynccontextmanager
async def _fetching(
    script: Script, *, max_bytes: int = 100, within: float = 10.0, at_once: int = 16
) -> AsyncGenerator[tuple[FileFetcher, Receiver], None]:
    async with listening(script) as receiver:
        allow = [f"http://{PUBLIC}:{receiver.port}"]
        options = FetchOptions(allow=allow, max_bytes=max_bytes, timeout=within, at_once=at_once)
        files = FileFetcher(options, resolve=lookup([PUBLIC]))
        yield files, receiver
        files.close()


def _redirect(*locations: str) -> Script:
    return answering(
        *(b"HTTP/1.1 302 Found\r\nLocation: " + to.encode() + b"\r\nContent-Length: 0\r\n\r\n" for to in locations),
        PICTURE,
    )


async def test_an_inline_file_is_there_at_once() -> None:
    found = await FileFetcher().fetch(Part.from_bytes(b"\x00\xff", media_type="image/png"))
    assert (found, found.media_type) == (b"\x00\xff", "image/png")


@pytest.mark.parametrize("part", [Part(text="a"), Part(data={}), Part(data=None)])
async def test_what_is_no_file_cannot_be_fetched(part: Part) -> None:
    with pytest.raises(ValueError, match="no file"):
        await FileFetcher().fetch(part)


async def test_a_file_comes_with_the_type_that_its_server_says() -> None:
    async with _fetching(answering(PICTURE)) as (files, receiver):
        found = await files.fetch(Part(url=receiver.url() + "?a=%2F", media_type="text/plain"))
    assert (found, found.media_type) == (b"png", "image/png; x=1")
    assert receiver.heads[0].startswith("GET /hook?a=%2F HTTP/1.1\r\n")


@pytest.mark.parametrize("told", [b"", b"Content-Type: nothing\r\n", b"Content-Type: a/" + b"b" * 300 + b"\r\n"])
async def test_without_one_it_has_that_of_the_part(told: bytes) -> None:
    async with _fetching(answering(HEAD + told + b"Content-Length: 0\r\n\r\n")) as (files, receiver):
        assert (await files.fetch(Part(url=receiver.url(), media_type="text/csv"))).media_type == "text/csv"


async def test_nothing_is_sent_that_says_who_asks() -> None:
    async with _fetching(answering(PICTURE)) as (files, receiver):
        await files.fetch(Part(url=receiver.url()))
    names = {line.partition(":")[0].lower() for line in receiver.heads[0].split("\r\n")[1:-2]}
    assert names == {"host", "accept", "accept-encoding", "user-agent"}
    assert "Accept-Encoding: identity\r\n" in receiver.heads[0]


async def test_cookies_are_not_kept() -> None:
    redirect = b"HTTP/1.1 302 No\r\nSet-Cookie: a=b\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n"
    async with _fetching(answering(redirect, PICTURE)) as (files, receiver):
        await files.fetch(Part(url=receiver.url()))
    assert [line for line in receiver.heads[1].split("\r\n") if "ookie" in line] == []


async def test_a_file_may_have_just_so_many_bytes() -> None:
    async with _fetching(answering(HEAD + b"Content-Length: 100\r\n\r\n" + b"x" * 100)) as (files, receiver):
        assert len(await files.fetch(Part(url=receiver.url()))) == 100


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (HEAD + b"Content-Length: 101\r\n\r\n" + b"x" * 101, "longer than 100"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"40\r\n" + b"x" * 64 + b"\r\n" + b"40\r\n", "longer|HTTP"),
        (
            HEAD + b"Content-Encoding: gzip\r\nContent-Length: 25\r\n\r\n" + gzip.compress(b"x" * 10**5, mtime=0)[:25],
            "coding",
        ),
        (HEAD + b"Content-Encoding: br\r\nContent-Length: 1\r\n\r\nx", "coding"),
        (b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", "404"),
        (b"HTTP/1.1 206 Part\r\nContent-Length: 1\r\n\r\nx", "206"),
        (b"HTTP/1.1 302 No\r\nContent-Length: 0\r\n\r\n", "nowhere"),
        (HEAD + b"Content-Length: 9\r\n\r\nx", "HTTP"),
        (b"SSH-2.0-x\r\n", "HTTP"),
        (b"", "before an answer"),
    ],
)
async def test_only_a_whole_short_plain_file_is_one(reply: bytes, words: str) -> None:
    async with _fetching(answering(reply, close=True)) as (files, receiver):
        with pytest.raises(FetchFailed, match=words) as raised:
            await files.fetch(Part(url=receiver.url() + "?secret"))
    assert "secret" not in str(raised.value)
    assert not isinstance(raised.value, FetchRefused)


async def test_three_redirects_are_followed_and_no_fourth() -> None:
    async with _fetching(_redirect("/a", "b?c", "/d")) as (files, receiver):
        assert await files.fetch(Part(url=receiver.url())) == b"png"
    assert [head.split(" ")[1] for head in receiver.heads] == ["/hook", "/a", "/b?c", "/d"]
    async with _fetching(_redirect("/a", "/b", "/c", "/d")) as (files, receiver):
        with pytest.raises(FetchFailed, match="more than 3 redirects"):
            await files.fetch(Part(url=receiver.url()))
    assert len(receiver.heads) == 4


async def test_it_takes_no_longer_than_its_time_redirects_included() -> None:
    async with _fetching(silent, within=0.3) as (files, receiver):
        with pytest.raises(FetchFailed, match=r"within 0\.3 s"):
            await files.fetch(Part(url=receiver.url()))
        await receiver.closed.wait()


async def test_so_many_are_fetched_at_once_and_further_ones_wait() -> None:
    gate, over = asyncio.Event(), asyncio.Event()
    seen: list[int] = []
    gone: list[int] = []
    ended = 0

    async def counted(receiver: Receiver, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal ended
        await receiver.read(reader)
        seen.append(receiver.connections - ended)
        if len(seen) == 2:
            gate.set()
        await gate.wait()
        ended += 1
        writer.write(PICTURE)
        await reader.read()
        writer.close()
        gone.append(receiver.connections)
        if len(gone) == 6:
            over.set()

    async with asyncio.timeout(20), _fetching(counted, at_once=2) as (files, receiver):
        fetches = [asyncio.ensure_future(files.fetch(Part(url=receiver.url()))) for _ in range(6)]
        assert await asyncio.gather(*fetches) == [b"png"] * 6
        await over.wait()
    assert max(seen) == 2


@pytest.mark.parametrize("url", ["data:,a", "file:///etc/passwd", "http://127.0.0.1/", "https://user@a.example/", "a"])
async def test_by_default_no_other_than_public_addresses_are_called(url: str) -> None:
    with pytest.raises(FetchRefused):
        await FileFetcher().fetch(Part(url=url))


async def test_after_it_was_closed_it_begins_anew() -> None:
    async with _fetching(answering(PICTURE)) as (files, receiver):
        part = Part(url=receiver.url())
        assert await files.fetch(part) == b"png"
        files.close()
        assert await files.fetch(part) == b"png"


async def test_a_thread_is_told_how_it_asks() -> None:
    with pytest.raises(RuntimeError, match=r"task\.fetch"):
        await asyncio.to_thread(FileFetcher().fetch, Part(url="https://a.example/"))


async def test_outside_of_a_handler_nobody_fetches() -> None:
    assert fetching.get() is None
    with pytest.raises(RuntimeError, match=r"client\.fetch"):
        await Part(url="https://a.example/").fetch()


@pytest.mark.parametrize(
    "options", [{"network": "private"}, {"max_bytes": 0}, {"timeout": 0.0}, {"at_once": 0}, {"allow": ["ftp://a"]}]
)
def test_options_that_mean_nothing_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        FetchOptions(**options)  # type: ignore[arg-type]  # what the test is about
