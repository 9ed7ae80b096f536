"""Cards that are signed here verify in the official SDKs, and cards that they sign verify here."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Generator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dragoman import connect
from dragoman.cards import CardKeys, CardSigner, Outcome, verify_card
from dragoman.cards.canonical import Form
from dragoman.dialects.card import CARD_SHAPES, CardShape, card_members, encode_card
from dragoman.signing.keys import KeyRing, SigningKey
from dragoman.types.card import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentProvider,
    AgentSkill,
    APIKeySecurityScheme,
    AuthorizationCodeOAuthFlow,
    ClientCredentialsOAuthFlow,
    HTTPAuthSecurityScheme,
    MutualTlsSecurityScheme,
    OAuth2SecurityScheme,
    OpenIdConnectSecurityScheme,
)
from tests.behaviour.manifest import requirement
from tests.interop.stage import ROOT, command, serving

PEERS = ("py-1.3.0", "js-1.3.0")
PATIENCE = 120.0
"""Seconds for all jobs of one peer."""
ALGORITHMS: Any = ("ES256", "EdDSA", "RS256")
RING = KeyRing.of(*[SigningKey.generate(algorithm) for algorithm in ALGORITHMS])
PUBLIC = [entry.key.public_jwk() for entry in RING.keys]
PRIVATE = [entry.key.private_jwk() for entry in RING.keys]


def _card(**changed: Any) -> AgentCard:
    members: dict[str, Any] = {
        "name": "Translator",
        "description": "Translates.",
        "version": "1.0",
        "supported_interfaces": (
            AgentInterface(url="https://agent.example/", protocol_binding="JSONRPC", protocol_version="1.0"),
            AgentInterface(url="https://agent.example", protocol_binding="HTTP+JSON", protocol_version="1.0"),
        ),
        "capabilities": AgentCapabilities(streaming=True),
        "default_input_modes": ("text/plain",),
        "default_output_modes": ("text/plain",),
        "skills": (AgentSkill(id="t", name="Translate", description="From one to another.", tags=("words",)),),
    }
    return AgentCard(**members | changed)


def _extended(**params: Any) -> AgentCapabilities:
    return AgentCapabilities(extensions=(AgentExtension(uri="urn:example:x", description="", params=params),))


_FLOWS = (
    AuthorizationCodeOAuthFlow(authorization_url="https://a.example", token_url="https://t.example", scopes={"x": ""}),
    ClientCredentialsOAuthFlow(token_url="https://t.example", scopes={"read": "Read."}),
)
CARDS = {
    "plain": _card(),
    "unicode": _card(
        name="Übersetzer \U0001f5fa",
        description='"a"\\\n\u2028\x07\u20ac',
        capabilities=_extended(**{"\ufb33": 1, "\U0001f600": 2}),
    ),
    "empty lists and strings": _card(description="", skills=(), default_input_modes=(), default_output_modes=()),
    "optional members set to defaults": _card(
        icon_url="",
        documentation_url="",
        capabilities=AgentCapabilities(streaming=False, push_notifications=False, extended_agent_card=False),
    ),
    "numbers": _card(
        capabilities=_extended(
            a=1.0, b=0.1, c=1e-7, d=1e21, e=-0.0, f=333333333.33333329, g=2**53 - 1, h=1.5e300, i=123456789.0, j=2**60
        )
    ),
    "empty members of params": _card(capabilities=_extended(a=None, b="", c=[], d={}, e=[{}, ""], f=False, g=0)),
    "legacy members": _card(
        provider=AgentProvider(organization="Example", url="https://example.com"),
        supported_interfaces=(
            *_card().supported_interfaces,
            AgentInterface(url="https://agent.example/", protocol_binding="JSONRPC", protocol_version="0.3"),
        ),
        security_schemes={"key": APIKeySecurityScheme(location="header", name="X-Key")},
        security_requirements=({"key": ()},),
    ),
    "schemes": _card(
        security_schemes={
            "key": APIKeySecurityScheme(location="cookie", name="k", description="Ask us."),
            "http": HTTPAuthSecurityScheme(scheme="Bearer", bearer_format="JWT"),
            "code": OAuth2SecurityScheme(flow=_FLOWS[0]),
            "client": OAuth2SecurityScheme(flow=_FLOWS[1], oauth2_metadata_url="https://m.example"),
            "oidc": OpenIdConnectSecurityScheme(open_id_connect_url="https://o.example"),
            "tls": MutualTlsSecurityScheme(),
        },
        security_requirements=({"key": ()}, {"client": ("read",), "tls": ()}),
        skills=(AgentSkill(id="s", name="S", description="d", tags=(), security_requirements=({"http": ()},)),),
    ),
}
VERIFIED_THERE: list[tuple[str, CardShape, dict[str, Any]]] = [
    (case, shape, jwk) for case in CARDS for shape in CARD_SHAPES for jwk in PUBLIC
]


def _served(case: str, shape: CardShape, **changed: Any) -> dict[str, Any]:
    """The card's JSON as our server serves it, signed."""
    members: dict[str, Any] = json.loads(encode_card(CardSigner(RING).signed(CARDS[case]), shape))
    return members | changed


def _asked(peer: str, jobs: Sequence[dict[str, Any]]) -> list[Any]:
    run = subprocess.run(
        command(peer, "cards"),
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


@cache
def _said(peer: str, work: str = "verify") -> list[Any]:
    return _asked(
        peer, [{"do": work, "card": _served(case, shape), "keys": [jwk]} for case, shape, jwk in VERIFIED_THERE]
    )


@cache
def _made(peer: str, work: str = "sign") -> dict[str, Any]:
    jobs = [{"do": work, "card": card_members(card), "keys": PRIVATE} for card in CARDS.values()]
    return dict(zip(CARDS, _asked(peer, jobs), strict=True))


@requirement("R-8.4.1-01")
@requirement("R-8.4.2-01")
@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("case", CARDS)
def test_a_card_signed_here_verifies_there_in_every_shape_with_every_key(peer: str, case: str) -> None:
    said = [
        (shape, jwk["alg"], answer)
        for (one, shape, jwk), answer in zip(VERIFIED_THERE, _said(peer), strict=True)
        if one == case
    ]
    assert said == [(shape, algorithm, "verified") for shape in CARD_SHAPES for algorithm in ALGORITHMS]


@pytest.mark.parametrize("peer", PEERS)
def test_a_card_that_was_changed_does_not_verify_there(peer: str) -> None:
    changes: list[dict[str, Any]] = [{"name": "Other"}, {"iconUrl": "https://x.example/"}, {"signatures": []}]
    jobs = [{"do": "verify", "card": _served("unicode", "everyone", **each), "keys": PUBLIC} for each in changes]
    assert "verified" not in _asked(peer, jobs)


@requirement("R-8.4.3-01")
@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("case", CARDS)
async def test_a_card_signed_there_verifies_here(peer: str, case: str) -> None:
    card = _made(peer)[case]
    for jwk in PUBLIC:
        found = await verify_card(json.dumps(card).encode(), CardKeys(jwk))
        assert found.outcome is Outcome.VERIFIED, found
        assert [one.key_id for one in found.signatures if one.valid] == [jwk["kid"]]
        assert {one.form for one in found.signatures if one.valid} <= {Form.SPECIFICATION, Form.SDK}
        assert found.card is not None
        assert (found.card.name, found.card.supported_interfaces) == (
            CARDS[case].name,
            CARDS[case].supported_interfaces,
        )
    changed = await verify_card(json.dumps({**card, "name": "Other"}).encode(), CardKeys({"keys": PUBLIC}))
    assert (changed.outcome, changed.forged) == (Outcome.UNVERIFIABLE, True)


async def test_what_is_signed_as_a_typed_object_of_the_javascript_sdk_verifies_here_where_there_are_no_schemes() -> (
    None
):
    # index.js: `canonicalizeAgentCard` reads a typed object as if it were JSON, in which schemes have another form; so
    # it leaves them out, and everybody could put others in their place.
    for case, card in _made("js-1.3.0", "sign typed").items():
        found = await verify_card(json.dumps(card).encode(), CardKeys({"keys": PUBLIC}))
        covered = not CARDS[case].security_schemes
        assert found.outcome is (Outcome.VERIFIED if covered else Outcome.UNVERIFIABLE), case


def test_what_the_javascript_client_gives_its_caller_verifies_unless_it_has_put_schemes_into_its_own_form() -> None:
    said = _said("js-1.3.0", "verify resolved")
    for (case, shape, _), answer in zip(VERIFIED_THERE, said, strict=True):
        # Schemes that say their `type` beside their name are left as they are.
        typed = bool(CARDS[case].security_schemes) and (shape == "strict-1.0" or case == "schemes")
        assert (answer == "verified") is not typed, (case, shape, answer)


def test_the_python_sdk_loses_what_schemes_of_older_cards_have_no_word_for() -> None:
    # card_resolver.py: `_handle_security_compatibility` puts a scheme with a `type` in the place of the newer one.
    flow = AuthorizationCodeOAuthFlow(
        authorization_url="https://a.example",
        token_url="https://t.example",
        scopes={"x": "y"},
        pkce_required=True,
    )
    interfaces = CARDS["legacy members"].supported_interfaces
    card = CardSigner(RING).signed(
        _card(supported_interfaces=interfaces, security_schemes={"code": OAuth2SecurityScheme(flow=flow)})
    )
    jobs = [{"do": "verify", "card": json.loads(encode_card(card, shape)), "keys": PUBLIC} for shape in CARD_SHAPES]
    said = dict(zip(CARD_SHAPES, _asked("py-1.3.0", jobs), strict=True))
    assert said == {"everyone": "InvalidSignaturesError: No valid signature found", "strict-1.0": "verified"}
    assert _asked("js-1.3.0", jobs) == ["verified"] * 2


@pytest.fixture(scope="module")
def signed_agent(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The URL of our server with an agent that signs its cards."""
    folder = tmp_path_factory.mktemp("signed")
    program = str(Path(sys.executable).parent / "dragoman")
    argv = [program, "serve", f"{Path(__file__).parent / 'signed_agent.py'}:agent", "--port", "0"]
    with serving(argv, folder / "server.log", dict(os.environ), folder) as line:
        yield line.split()[1]


def _published(url: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{url}/.well-known/jwks.json", timeout=PATIENCE) as answer:
        keys: list[dict[str, Any]] = json.loads(answer.read())["keys"]
        return keys


def test_the_cards_of_a_served_agent_verify_in_the_clients_of_the_sdks(signed_agent: str) -> None:
    keys = _published(signed_agent)
    assert [jwk["alg"] for jwk in keys] == list(ALGORITHMS)
    by_python = [{"do": "fetch", "card": signed_agent, "keys": [jwk]} for jwk in keys]
    assert _asked("py-1.3.0", by_python) == ["verified Signed and Erweitert \U0001f5dd"] * 3
    well_known = f"{signed_agent}/.well-known/agent-card.json"
    by_javascript = [{"do": "fetch", "card": well_known, "keys": [jwk]} for jwk in keys]
    assert _asked("js-1.3.0", by_javascript) == ["verified"] * 3


async def test_the_cards_of_a_served_agent_verify_in_our_client_which_requires_it(signed_agent: str) -> None:
    keys = CardKeys({"keys": _published(signed_agent)})
    for bindings in (["JSONRPC"], ["HTTP+JSON"], ["GRPC"]):
        async with connect(signed_agent, bindings=bindings, card_keys=keys, card_signatures="require") as client:
            assert (await client.card()).name == "Signed"
            assert (await client.get_extended_agent_card()).name.startswith("Erweitert")
