"""Official SDKs call an agent with tokens of the identity provider, which they put where its card says."""

import json
import os
import subprocess
from collections.abc import Generator, Mapping
from typing import Any

import pytest

from tests.behaviour.manifest import requirement
from tests.idp.process import AUDIENCE, IdentityProvider, secret_of
from tests.interop.columns import BINDINGS
from tests.interop.stage import OURS, ROOT, command, serving

PATIENCE = 120.0
"""Seconds for all jobs of one peer."""
AGENT = ROOT / "tests" / "interop" / "known_agent.py"
CALLS = {
    "py-1.3.0": [(version, binding) for version in ("1.0", "0.3") for binding in BINDINGS],
    "py-0.3.26": [("0.3", "JSONRPC")],
    "js-1.3.0": [(version, binding) for version in ("1.0", "0.3") for binding in BINDINGS[:2]],
}
"""Where each SDK puts tokens into calls: JavaScript's not over gRPC, the older one of Python over JSON-RPC alone."""


@pytest.fixture(scope="module")
def url(idp: IdentityProvider, tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    folder = tmp_path_factory.mktemp("known")
    environment = {"ISSUER": idp.issuer, "AUDIENCE": AUDIENCE, "CLIENT_SECRET": secret_of("agent")}
    argv = [OURS[0], "serve", f"{AGENT}:agent", "--port", "0"]
    with serving(argv, folder / "agent.log", {**os.environ, **environment}, folder) as line:
        yield line.split()[1]


def _asked(peer: str, url: str, credentials: Mapping[str, str]) -> list[str]:
    """What the agent says to the peer over each of its bindings; or what the SDK makes of the refusal."""
    jobs = [
        {"url": url, "version": version, "binding": binding, "credentials": credentials}
        for version, binding in CALLS[peer]
    ]
    run = subprocess.run(
        command(peer, "bearer"),
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE,
        cwd=ROOT,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    answers: list[Any] = json.loads(run.stdout)
    return answers


@requirement("R-7.4-01", "R-4.5-01")
@pytest.mark.parametrize("peer", CALLS)
def test_an_official_client_reads_from_the_card_where_its_token_goes(
    idp: IdentityProvider, url: str, peer: str
) -> None:
    jwt = idp.token()
    opaque = idp.tokens("app-opaque", login="bob")["access_token"]
    asked = 'Bearer scope="call" ' if peer.startswith("js") else ""
    number = len(CALLS[peer])
    assert _asked(peer, url, {"openIdConnect": jwt}) == [f"{asked}{idp.issuer} service"] * number
    assert _asked(peer, url, {"oauth2": opaque}) == [f"{asked}{idp.issuer} bob"] * number


@requirement("R-7.4-02")
@pytest.mark.parametrize("peer", CALLS)
def test_an_official_client_sees_that_it_was_refused(idp: IdentityProvider, url: str, peer: str) -> None:
    for credentials, number, word in (
        ({}, "401", "Authentication required"),
        ({"openIdConnect": "made-up"}, "401", "Authentication required"),
        ({"oauth2": idp.token("service-opaque", "chat")}, "403", "A scope is missing of: call"),
    ):
        answers = _asked(peer, url, credentials)
        assert [answer for answer in answers if number not in answer and word not in answer] == []
