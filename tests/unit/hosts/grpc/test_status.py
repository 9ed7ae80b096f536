"""How calls end, and how long they may take, on the wire."""

import pytest

from dragoman.hosts.grpc.deadline import timeout_of
from dragoman.hosts.grpc.status import Code, Fault, trailers


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [("1H", 3600), ("2M", 120), ("3S", 3), ("250m", 0.25), ("10u", 1e-5), ("100n", 1e-7), ("99999999S", 99999999)],
)
def test_a_timeout_is_a_number_and_a_unit(stated: str, seconds: float) -> None:
    assert timeout_of({"grpc-timeout": stated}) == pytest.approx(seconds)


def test_no_timeout_is_no_deadline() -> None:
    assert timeout_of({}) is None


@pytest.mark.parametrize("stated", ["", "S", "5", "123456789S", "-1S", "1.5S", "1s", "1S ", "1S, 2S", "\u0661S"])
def test_what_is_no_timeout_is_refused(stated: str) -> None:
    with pytest.raises(Fault) as caught:
        timeout_of({"grpc-timeout": stated})
    assert caught.value.code is Code.INTERNAL


def test_a_status_message_is_percent_encoded() -> None:
    assert trailers(Code.NOT_FOUND, "50% of ü\n is ~ a+b") == [
        (b"grpc-status", b"5"),
        (b"grpc-message", b"50%25 of %C3%BC%0A is ~ a+b"),
    ]
