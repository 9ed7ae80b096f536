"""Files of tokens: for their owner alone, whole at every moment, and believed only where they belong."""

import asyncio
import fcntl
import logging
import os
import stat
from pathlib import Path

import msgspec
import pytest

from dragoman.client.login.need import Need
from dragoman.client.login.oauth import KeptLogins, TokenCache, TokensUnsafe, turn
from dragoman.client.login.oauth.cache import MemoryTokens, Tokens
from dragoman.client.login.oauth.tokens import Kept, Key, Token
from dragoman.errors import TimedOut
from tests.unit.client.login.oauth.scripted import openid_at

SECRETS = ("access-5f0a", "refresh-77c1")


def kept(origin: str = "https://agent.example", scopes: tuple[str, ...] = ("chat",), at: float = 1000.0) -> Kept:
    return Kept(
        key=Key(origin=origin, scheme="openid", scopes=scopes, client_id="app"),
        token=Token(access=SECRETS[0], refresh=SECRETS[1], obtained_at=at),
        agent=origin,
        grant="authorization_code",
        token_url="https://idp.example/token",
    )


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def wide() -> object:
    """Nothing is taken away from the modes of new files."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("wide")
async def test_files_are_for_their_owner_alone(cache: TokenCache) -> None:
    async with cache.turn(kept().key):
        cache.write(kept())
        assert {path.suffix for path in cache.folder.iterdir()} == {".json", ".lock"}
        assert [mode(path) for path in cache.folder.iterdir()] == [0o600] * 2
    assert mode(cache.folder) == 0o700
    assert cache.read(kept().key) == kept()
    assert cache.path(kept().key).name.startswith("agent.example-")


def test_what_is_not_there_is_not_made_by_looking(cache: TokenCache) -> None:
    assert cache.read(kept().key) is None
    assert cache.every() == []
    assert not cache.folder.parent.exists()


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o660, 0o620])
def test_a_file_that_others_can_open_is_refused(cache: TokenCache, bits: int, caplog: pytest.LogCaptureFixture) -> None:
    cache.write(kept())
    cache.path(kept().key).chmod(bits)
    with pytest.raises(TokensUnsafe, match="can be opened by others") as caught:
        cache.read(kept().key)
    assert "chmod 600" in str(caught.value)
    assert cache.every() == []
    assert "can be opened by others" in caplog.text
    assert not any(secret in caplog.text + str(caught.value) for secret in SECRETS)


def test_a_folder_that_others_can_open_is_refused(cache: TokenCache) -> None:
    cache.write(kept())
    cache.folder.chmod(0o755)
    for use in (
        lambda: cache.read(kept().key),
        cache.every,
        lambda: cache.write(kept()),
        lambda: cache.turn(kept().key),
    ):
        with pytest.raises(TokensUnsafe, match="chmod 700"):
            use()


def test_links_are_refused(cache: TokenCache, tmp_path: Path) -> None:
    elsewhere = TokenCache(tmp_path / "elsewhere")
    elsewhere.write(kept())
    cache.write(kept(scopes=()))
    cache.path(kept().key).symlink_to(elsewhere.path(kept().key))
    with pytest.raises(TokensUnsafe, match="link"):
        cache.read(kept().key)
    assert cache.every() == [kept(scopes=())]
    linked = TokenCache(tmp_path / "linked")
    linked.folder.symlink_to(elsewhere.folder)
    with pytest.raises(TokensUnsafe, match="link"):
        linked.read(kept().key)
    # Writing replaces a link, and not what is behind it.
    cache.write(kept(at=2000.0))
    assert elsewhere.read(kept().key) == kept()
    assert cache.read(kept().key) == kept(at=2000.0)


def test_what_is_no_file_is_refused(cache: TokenCache) -> None:
    cache.write(kept(scopes=()))
    os.mkfifo(cache.path(kept().key), 0o600)
    with pytest.raises(TokensUnsafe, match="no file"):
        cache.read(kept().key)


def test_a_file_of_somebody_else_is_refused(cache: TokenCache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.write(kept())
    owner = cache.folder.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(TokensUnsafe, match="somebody else"):
        cache.read(kept().key)


def test_a_file_under_anothers_name_is_not_believed(cache: TokenCache) -> None:
    """So nobody who can have a file copied gets a token sent to an agent that it was not made for."""
    cache.write(kept())
    other = kept("https://evil.example")
    cache.path(kept().key).rename(cache.path(other.key))
    assert cache.read(other.key) is None
    assert cache.every() == []


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 100_000, b"\xff", b'{"key": 1}', b" " * 300_000])
def test_what_cannot_be_read_is_as_if_it_was_not_there(cache: TokenCache, content: bytes) -> None:
    cache.write(kept())
    cache.path(kept().key).write_bytes(content)
    assert cache.read(kept().key) is None
    assert cache.every() == []


def test_all_are_listed_the_latest_first_and_removed_one_by_one(cache: TokenCache) -> None:
    for number, origin in enumerate(("https://b.example", "https://a.example:8443", "http://[::1]:9")):
        cache.write(kept(origin, at=float(number)))
    assert [each.key.origin for each in cache.every()] == [
        "http://[::1]:9",
        "https://a.example:8443",
        "https://b.example",
    ]
    assert cache.remove(kept("https://b.example").key)
    assert not cache.remove(kept("https://b.example").key)
    assert len(cache.every()) == 2


def test_a_folder_that_cannot_be_made_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "tokens"):
        with pytest.raises(TokensUnsafe):
            TokenCache(place).write(kept())


def test_the_folder_is_the_users_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert TokenCache().folder == tmp_path / "dragoman" / "tokens"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert TokenCache().folder == Path.home() / ".local/state/dragoman/tokens"


@pytest.mark.parametrize("in_memory", [False, True])
async def test_one_has_the_turn_at_a_time(cache: TokenCache, in_memory: bool) -> None:
    tokens: Tokens = MemoryTokens() if in_memory else cache
    inside = 0

    async def enter() -> None:
        nonlocal inside
        async with tokens.turn(kept().key):
            inside += 1
            assert inside == 1
            await asyncio.sleep(0)
            # Also where the file is removed meanwhile, as a logout does.
            tokens.remove(kept().key)
            await asyncio.sleep(0)
            inside -= 1

    async with asyncio.timeout(20):
        await asyncio.gather(*(enter() for _ in range(5)))


@pytest.mark.parametrize("remade", [False, True])
def test_a_turn_by_a_file_that_is_gone_meanwhile_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remade: bool
) -> None:
    """Whoever waited for the file that a logout has removed would not see those who wait for the next one."""
    place = tmp_path / "a.lock"
    lock = fcntl.flock

    def late(handle: int, how: int) -> None:
        place.unlink()
        if remade:
            place.touch(0o600)
        lock(handle, how)

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", late)
        assert turn.by_file(place) is None
    free = turn.by_file(place)
    assert free is not None
    assert turn.by_file(place) is None
    free()


async def test_a_turn_is_not_waited_for_without_end(cache: TokenCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "PATIENCE", 0.01)
    async with cache.turn(kept().key):
        async with cache.turn(kept(scopes=()).key):
            pass  # another login is another turn
        with pytest.raises(TimedOut, match="not got it in time"):
            async with cache.turn(kept().key):
                pass


def needing(origin: str, *scopes: str) -> Need:
    return msgspec.structs.replace(openid_at("https://idp.example/", origin=origin), scopes=scopes)


def test_a_kept_login_is_for_its_origin_its_scheme_and_its_scopes(cache: TokenCache) -> None:
    cache.write(kept("https://agent.example", ("chat", "pay")))
    logins = KeptLogins(cache)
    assert logins.takes(needing("https://agent.example", "chat"))
    assert logins.takes(needing("https://agent.example"))
    for other in (
        needing("https://agent.example", "chat", "call"),
        needing("https://agent.example:8443", "chat"),
        needing("http://agent.example", "chat"),
        needing("https://agent.example.evil.org", "chat"),
        msgspec.structs.replace(needing("https://agent.example", "chat"), name="other"),
    ):
        assert not logins.takes(other)


async def test_a_kept_login_of_another_origin_gives_nothing(cache: TokenCache) -> None:
    cache.write(kept())
    assert await KeptLogins(cache).credentials(needing("https://evil.example", "chat")) is None


async def test_ending_a_login_removes_it_also_where_nobody_can_be_told(
    cache: TokenCache, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    lost = msgspec.structs.replace(kept(), revocation_url="http://127.0.0.1:1/revoke")
    cache.write(lost)
    with pytest.raises(Exception, match="cannot be asked"):
        await KeptLogins(cache).end(lost)
    assert list(cache.folder.iterdir()) == []
    assert not any(secret in caplog.text for secret in SECRETS)
