"""The page docs/interop.md, made from what a run found."""

from collections.abc import Mapping

from tests.interop.columns import BINDINGS, PEERS, Column
from tests.interop.limit import Limit
from tests.interop.limits import LIMITS
from tests.interop.scenarios import SCENARIOS
from tests.interop.stage import ROOT
from tests.interop.verdicts import ABSENT, FAILED, PASSED

__all__ = ["PAGE", "Verdicts", "page"]

PAGE = ROOT / "docs" / "interop.md"

Verdicts = Mapping[Column, Mapping[str, str]]
"""Of each column, of each scenario."""

_SIGNS = {PASSED: "✓", FAILED: "FAILED", ABSENT: "-"}

_HEAD = """\
# Interop with the official SDKs

What `make interop` found; a test holds this page to every run. Each official SDK runs in a process and an environment
of its own, as client of our server and as server of our client. Every cell goes through the same scenario and is held
to the same expectation. A column is a release of an SDK in one protocol version; the three signs of a cell stand for
JSON-RPC, HTTP+JSON and gRPC, in this order. What is posted to a webhook is read by the SDK of the client that has set
it. Beside that, every client calls our server over TLS, every server pushes to the receiver of our client, and every
client and server find a way to talk when nobody asks for a version or a binding.

✓ what is seen is what is expected · - the protocol version has no such thing · a number: the limit below explains it
"""

_ROLES = {"client": "Their clients, our server", "server": "Our client, their servers"}


def page(verdicts: Verdicts) -> str:
    parts = [_HEAD]
    for role, title in _ROLES.items():
        parts.append(f"## {title}\n\n{_table(role, verdicts)}")
    parts.append(f"## What is tried\n\n{_scenarios()}")
    parts.append(f"## Limits of the peers\n\n{_limits()}")
    return "\n".join(parts)


def _table(role: str, verdicts: Verdicts) -> str:
    lines = [(peer, version) for peer in PEERS.values() for version in peer.versions]
    heads = [f"{peer.name}, A2A {version}" for peer, version in lines]
    rows = [f"| | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for scenario in SCENARIOS:
        cells = [_cell(role, version, peer.key, scenario, verdicts) for peer, version in lines]
        rows.append(f"| {scenario.replace('_', ' ')} | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def _cell(role: str, version: str, peer: str, scenario: str, verdicts: Verdicts) -> str:
    signs = [verdicts[Column(role, version, peer, binding)][scenario] for binding in BINDINGS]
    return " ".join(_SIGNS.get(sign, sign) for sign in signs)


def _scenarios() -> str:
    told = {name.replace("_", " "): " ".join((scenario.__doc__ or "").split()) for name, scenario in SCENARIOS.items()}
    return "\n".join(f"- **{name}**: {words}" for name, words in told.items()) + "\n"


def _limits() -> str:
    return "\n".join(f"{number}. {_limit(limit)}" for number, limit in enumerate(LIMITS, 1)) + "\n"


def _limit(limit: Limit) -> str:
    peers = " and ".join(PEERS[peer].name for peer in limit.peers)
    lines = [f"`{one.path}:{one.line}` ({PEERS[one.peer].name})" for one in limit.evidence]
    where = f"{' and '.join(limit.bindings)}, A2A {' and '.join(limit.versions)}"
    return f"{peers}, as {limit.role} over {where}: {limit.reason}. {', '.join(lines)}"
