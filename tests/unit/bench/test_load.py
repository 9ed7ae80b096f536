"""What the bench takes from its load generator for gRPC."""

import pytest

from bench.load import Load, read_summary

SAID = """starting benchmark...
spawning thread #0: 4 total client(s). Timing-based test with 0s of warm-up time and 3s of main duration.
Application protocol: h2c

finished in 3.01s, 260.33 req/s, 68.93KB/s
requests: 781 total, 797 started, 781 done, 781 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 785 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 206.78KB (211746) total, 2.58KB (2643) headers (space savings 95.82%), 160.72KB (164582) data
                     min         max         mean         sd        +/- sd
time for request:    13.59ms    196.05ms     60.90ms     22.96ms    89.24%
"""


def test_answers_seconds_and_bytes_are_read() -> None:
    assert read_summary(SAID) == Load(781, 3.01, 164582)
    assert read_summary(SAID.replace("3.01s", "987.00ms")).seconds == 0.987


@pytest.mark.parametrize("bad", ["failed", "errored", "timeout", "3xx", "4xx", "5xx"])
def test_one_failed_call_spoils_the_whole(bad: str) -> None:
    with pytest.raises(RuntimeError, match="Calls failed"):
        read_summary(SAID.replace(f"0 {bad}", f"1 {bad}"))


def test_what_is_no_summary_is_not_taken_for_one() -> None:
    with pytest.raises(RuntimeError, match="something else"):
        read_summary("finished in 3.01s")
