"""How an agent says that it pushes: what is wrong is said at once, and no secret is shown."""

from typing import Any

import pytest

from dragoman import Agent, PushOptions, Retry
from dragoman.errors import ConfigurationError


@pytest.mark.parametrize(
    "wrong",
    [
        {"timeout": 0},
        {"timeout": float("nan")},
        {"per_host": 0},
        {"in_flight": 0},
        {"breaker": 0},
        {"max_per_task": 0},
        {"ports": (0,)},
        {"ports": (65_536,)},
        {"events": ("task", "tasks")},
        {"key": ""},
    ],
    ids=str,
)
def test_a_wrong_option_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="push: "):
        PushOptions(**wrong)


@pytest.mark.parametrize("name", ["first", "most", "budget"])
@pytest.mark.parametrize("seconds", [0, -1, float("inf")])
def test_times_of_retries_are_more_than_nothing(name: str, seconds: float) -> None:
    with pytest.raises(ConfigurationError, match=name):
        Retry(**{name: seconds})


def test_the_secret_is_not_shown() -> None:
    assert "hush" not in repr(PushOptions(key="hush"))


@pytest.mark.parametrize(("given", "declared"), [(True, True), (PushOptions(), True), (False, False)])
def test_the_card_declares_what_is_offered(given: bool | PushOptions, declared: bool) -> None:
    assert Agent("A", push=given).card.capabilities.push_notifications is declared
