"""Where a server listens: by what it secures connections, what it lets them cost, and what it warns of."""

import ssl
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent, ConfigurationError, ConnectionLimits
from dragoman.auth import ApiKey, MutualTls
from dragoman.hosts.run import Serving
from tests.behaviour.agents import echo
from tests.unit.auth.certificates import alternative, authority, issued


class Ran:
    """What was to be run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("dragoman.hosts.run.run", self._run)
        self.serving: Serving
        self.tls: ssl.SSLContext | None
        self.limits: ConnectionLimits

    def _run(self, serving: Serving, host: str, port: int, tls: Any, limits: ConnectionLimits) -> None:
        self.serving, self.tls, self.limits = serving, tls, limits
        serving.ready(f"http://{host}:{port}")


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Ran:
    return Ran(monkeypatch)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Any]:
    authority().files(tmp_path, "authority")
    own = issued(authority(), names=alternative(ip="127.0.0.1"), uses=None).files(tmp_path, "server")
    return {"tls": own, "client_ca": tmp_path / "authority.pem"}


def test_callers_are_asked_for_certificates_and_may_have_none(ran: Ran, files: dict[str, Any]) -> None:
    asked: list[ssl.VerifyMode | None] = []
    for options in (files, {"tls": files["tls"]}, {}):
        echo().run(**options)
        asked.append(None if ran.tls is None else ran.tls.verify_mode)
    assert asked == [ssl.CERT_OPTIONAL, ssl.CERT_NONE, None]


def test_certificates_of_callers_need_tls(ran: Ran, files: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="client_ca= goes with tls="):
        echo().run(client_ca=files["client_ca"])
    assert not hasattr(ran, "serving")


def test_what_connections_may_cost_is_what_the_owner_says(ran: Ran) -> None:
    echo().run()
    assert ran.limits == ConnectionLimits()
    echo().run(connections=ConnectionLimits(most=7))
    assert ran.limits == ConnectionLimits(most=7)


def test_connections_of_trusted_proxies_are_those_of_many(ran: Ran) -> None:
    echo(trusted_proxies=["10.0.0.0/8"]).run()
    assert [ran.serving.trusts(address) for address in ("10.1.2.3", "192.0.2.1")] == [True, False]


@pytest.mark.parametrize(
    ("options", "asked", "warns"),
    [
        ({"auth": MutualTls()}, False, True),
        ({"auth": MutualTls() | ApiKey({})}, False, True),
        ({"auth": MutualTls()}, True, False),
        ({"auth": MutualTls(), "trusted_proxies": ["10.0.0.1"], "client_cert_header": True}, False, False),
        ({"auth": ApiKey({})}, False, False),
        ({}, False, False),
    ],
)
@pytest.mark.usefixtures("ran")
def test_a_server_that_asks_nobody_for_the_certificates_it_needs_says_so(
    caplog: pytest.LogCaptureFixture, files: dict[str, Any], options: dict[str, Any], *, asked: bool, warns: bool
) -> None:
    agent: Agent = echo(**options)
    agent.run(**(files if asked else {}))
    assert ("no client_ca=" in caplog.text) == warns
