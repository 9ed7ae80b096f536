"""Secrets in memory: one login for all who wait, renewed in time, and what becomes of refusals."""

import asyncio
import gc
from collections.abc import Callable

import pytest

from dragoman.client import LoginError, Need, Secret
from dragoman.client.login.wallet import MARGIN, MOST, Wallet
from dragoman.errors import TimedOut, TransportError
from dragoman.types.card import HTTPAuthSecurityScheme

NEED = Need(
    name="b", scheme=HTTPAuthSecurityScheme(scheme="bearer"), origin="https://a.example", agent="https://a.example"
)


class Issuer:
    """Gives numbered secrets, each for so many seconds, when it is let."""

    def __init__(self, lifetime: float | None = None) -> None:
        self.lifetime = lifetime
        self.now = 1_000_000.0
        self.asked: list[str | None] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.failure: Exception | None = None
        self.answer: Callable[[int], Secret | None] = self.numbered

    def numbered(self, number: int) -> Secret:
        return Secret(f"s{number}", None if self.lifetime is None else self.now + self.lifetime)

    def takes(self, need: Need) -> bool:
        return need.name == "b"

    async def credentials(self, need: Need, *, refused: Secret | None = None) -> Secret | None:  # noqa: ARG002 -- the port's
        self.asked.append(None if refused is None else refused.value)
        await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        return self.answer(len(self.asked))


def wallet_of(issuer: Issuer) -> Wallet:
    return Wallet(issuer, lambda: issuer.now)


async def value(wallet: Wallet, need: Need = NEED) -> str | None:
    secret = await wallet.secret(need)
    return None if secret is None else secret.value


async def test_all_who_wait_share_one_login() -> None:
    issuer = Issuer()
    wallet = wallet_of(issuer)
    issuer.gate.clear()
    waiting = [asyncio.create_task(value(wallet)) for _ in range(20)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.sleep(0)
    issuer.gate.set()
    assert await asyncio.gather(*waiting[1:]) == ["s1"] * 19
    assert await value(wallet) == "s1"
    assert issuer.asked == [None]


async def test_a_login_goes_on_without_those_who_waited_and_its_outcome_is_kept() -> None:
    issuer = Issuer()
    wallet = wallet_of(issuer)
    issuer.gate.clear()
    waiting = asyncio.create_task(value(wallet))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    issuer.gate.set()
    assert await value(wallet) == "s1"
    assert issuer.asked == [None]


@pytest.mark.parametrize(("lifetime", "until"), [(600.0, 600.0 - MARGIN), (20.0, 10.0), (0.0, 0.0), (-5.0, 0.0)])
async def test_a_secret_is_renewed_shortly_before_it_ends(lifetime: float, until: float) -> None:
    issuer = Issuer(lifetime)
    wallet = wallet_of(issuer)
    assert await value(wallet) == "s1"
    if until:
        issuer.now += until - 0.1
        assert await value(wallet) == "s1"
        assert wallet.at_hand(NEED) is not None
    issuer.now += 0.2
    assert wallet.at_hand(NEED) is None
    assert await value(wallet) == "s2"


@pytest.mark.parametrize("failure", [TimedOut("the issuer is away"), LoginError("say yes first")])
async def test_what_is_still_good_serves_while_it_cannot_be_renewed(failure: Exception) -> None:
    issuer = Issuer(600.0)
    wallet = wallet_of(issuer)
    await value(wallet)
    issuer.failure = failure
    issuer.now += 600.0 - MARGIN
    assert await value(wallet) == "s1"
    issuer.now += MARGIN
    with pytest.raises(type(failure)):
        await value(wallet)
    issuer.failure = None
    assert await value(wallet) == "s4"


async def test_what_was_refused_is_told_and_not_given_again() -> None:
    issuer = Issuer()
    wallet = wallet_of(issuer)
    first = await wallet.secret(NEED)
    assert first is not None
    wallet.refuse(NEED, first)
    second = await wallet.secret(NEED)
    assert second is not None
    assert (second.value, issuer.asked) == ("s2", [None, "s1"])
    wallet.refuse(NEED, first)
    assert wallet.at_hand(NEED) is second


@pytest.mark.parametrize("again", [None, "s1"])
async def test_a_login_without_another_secret_is_asked_once_until_all_is_forgiven(again: str | None) -> None:
    issuer = Issuer()
    wallet = wallet_of(issuer)
    first = await wallet.secret(NEED)
    assert first is not None
    wallet.refuse(NEED, first)
    issuer.answer = lambda _: None if again is None else Secret(again)
    assert [await value(wallet), await value(wallet), wallet.takes(NEED)] == [None, None, False]
    assert len(issuer.asked) == 2
    issuer.answer = issuer.numbered
    wallet.forgive([NEED])
    assert wallet.takes(NEED)
    assert await value(wallet) == "s3"


async def test_who_has_nothing_now_may_have_something_later() -> None:
    issuer = Issuer()
    wallet = wallet_of(issuer)
    issuer.answer = lambda _: None
    assert await value(wallet) is None
    issuer.answer = issuer.numbered
    assert await value(wallet) == "s2"


async def test_each_origin_and_scope_has_its_own() -> None:
    issuer = Issuer()
    wallet = wallet_of(issuer)
    other = Need(name="b", scheme=NEED.scheme, origin="https://b.example", agent="")
    scoped = Need(name="b", scheme=NEED.scheme, origin=NEED.origin, agent="", scopes=("x",))
    elsewhere = Need(name="b", scheme=NEED.scheme, origin=NEED.origin, agent="https://a.example/rest")
    assert [await value(wallet, need) for need in (NEED, other, scoped, elsewhere)] == ["s1", "s2", "s3", "s1"]
    changed = Need(name="b", scheme=HTTPAuthSecurityScheme(scheme="other"), origin=NEED.origin, agent="")
    assert await value(wallet, changed) == "s4"


async def test_what_is_kept_is_bounded() -> None:
    issuer = Issuer()
    wallet = wallet_of(issuer)
    for number in range(MOST + 1):
        await value(wallet, Need(name="b", scheme=NEED.scheme, origin=f"https://{number}", agent=""))
    first = Need(name="b", scheme=NEED.scheme, origin="https://0", agent="")
    assert wallet.at_hand(first) is None


async def test_closing_ends_what_is_under_way() -> None:
    issuer = Issuer()
    wallet = wallet_of(issuer)
    issuer.gate.clear()
    waiting = asyncio.create_task(value(wallet))
    await asyncio.sleep(0)
    await wallet.aclose()
    with pytest.raises(TransportError, match="closed"):
        await waiting
    with pytest.raises(TransportError, match="closed"):
        await value(wallet)


async def test_a_failure_that_nobody_waits_for_is_quiet(caplog: pytest.LogCaptureFixture) -> None:
    issuer = Issuer()
    wallet = wallet_of(issuer)
    issuer.gate.clear()
    issuer.failure = LoginError("no")
    waiting = asyncio.create_task(value(wallet))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    # What was cancelled still knows what it waited for.
    del waiting
    issuer.gate.set()
    for _ in range(3):
        await asyncio.sleep(0)
    issuer.failure = None
    gc.collect()
    assert caplog.text == ""
