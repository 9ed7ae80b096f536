"""Credentials go where the card says and are shown nowhere; TLS is verified unless told otherwise."""

import asyncio
import ssl
from base64 import b64encode
from pathlib import Path
from urllib.parse import quote

import pytest
import trustme

from dragoman.cli.credentials import Redactor
from tests.cli.program import Program
from tests.cli.scripted import Json, Refused, ScriptedAgent
from tests.cli.serving import serving

BEARER, KEY, PARAMETER = "tok/+en-7f3a91", "key&5d8e=02", "Custom s3cr3t-value-41"
SCHEMES: dict[str, Json] = {
    "bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
    "header": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
    "query": {"apiKeySecurityScheme": {"location": "query", "name": "the key"}},
    "cookie": {"apiKeySecurityScheme": {"location": "cookie", "name": "sid"}},
}


def demanding(agent: ScriptedAgent, *schemes: str) -> None:
    agent.card_extra = {
        "securitySchemes": {name: SCHEMES[name] for name in schemes},
        "securityRequirements": [{"schemes": {name: {"list": []} for name in schemes}}],
    }


def holders(agent: ScriptedAgent, secret: str) -> set[str]:
    """Where in the requests the secret was: `card` for any card fetch, else header and query names, or the body."""
    found: set[str] = set()
    for request in agent.requests:
        places = {name for name, value in request.headers.items() if secret in value}
        places |= {f"?{name}" for name, value in request.query.items() if secret in value}
        places |= {"body"} if secret in str(request.params.get("message")) else set()
        found |= {"card"} if places and request.operation == "card" else places
    return found


@pytest.mark.row("A2ACLI_AUTH_001")
@pytest.mark.parametrize(
    ("scheme", "place"),
    [("bearer", "authorization"), ("header", "x-key"), ("query", "?the key"), ("cookie", "cookie")],
)
async def test_a_credential_goes_where_its_scheme_says(
    bound: ScriptedAgent, program: Program, scheme: str, place: str
) -> None:
    demanding(bound, scheme)
    option, secret = ("--bearer", BEARER) if scheme == "bearer" else ("--api-key", KEY)
    ran = await program.run("send", "hi", option, secret)
    assert ran.code == 0, ran.err
    assert holders(bound, secret) == {place}


@pytest.mark.row("A2ACLI_AUTH_001")
async def test_what_no_scheme_takes_is_not_sent(agent: ScriptedAgent, program: Program) -> None:
    ran = await program.run("send", "hi", "--bearer", BEARER, "--api-key", KEY, "--svc-param", f"X-Tag: {PARAMETER}")
    assert ran.code == 0
    assert holders(agent, BEARER) == holders(agent, KEY) == set()
    assert holders(agent, PARAMETER) == {"x-tag"}
    assert ran.err.count("Warning: the card declares no scheme") == 2
    assert "--svc-param" in ran.err


@pytest.mark.row("A2ACLI_AUTH_001")
async def test_the_help_does_not_call_service_parameters_credentials(program: Program) -> None:
    shown = (await program.run("send", "--help")).out
    text = shown[shown.index("--svc-param") : shown.index("--metadata")].lower()
    assert not {"auth", "token", "credential"} & set(text.split())
    assert "auth" not in text


@pytest.mark.row("A2ACLI_AUTH_002")
async def test_variables_carry_credentials_and_flags_beat_them(agent: ScriptedAgent, program: Program) -> None:
    demanding(agent, "bearer")
    variables = {"A2ACLI_BEARER": BEARER}
    first = await program.run("send", "hi", env=variables)
    assert holders(agent, BEARER) == {"authorization"}
    agent.requests.clear()
    second = await program.run("send", "hi", "--bearer", "another-one-77", env=variables)
    assert holders(agent, BEARER) == set()
    assert holders(agent, "another-one-77") == {"authorization"}
    assert first.code == second.code == 0
    agent.card_extra = {}
    demanding(agent, "header")
    assert (await program.run("send", "hi", env={"A2ACLI_API_KEY": KEY})).code == 0
    assert holders(agent, KEY) == {"x-key"}


@pytest.mark.row("A2ACLI_AUTH_002")
async def test_the_help_says_who_can_see_flags(program: Program) -> None:
    shown = " ".join((await program.run("help", "send")).out.split())
    for variable in ("A2ACLI_BEARER", "A2ACLI_API_KEY"):
        assert variable in shown
    assert "process table" in shown
    assert "history" in shown


@pytest.mark.row("A2ACLI_AUTH_003")
async def test_certificates_are_verified_unless_told_otherwise(program: Program) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    async with serving(context) as secure:
        demanding(secure, "bearer")
        reference = ("send", "hi", "-a", secure.base, "--bearer", BEARER)
        refused, insecure, by_variable, plain = await asyncio.gather(
            program.run(*reference, "-o", "json"),
            program.run(*reference, "--insecure"),
            program.run(*reference, env={"A2ACLI_INSECURE": "1"}),
            program.run("card", "get", "-a", secure.base, "--insecure"),
        )
    assert refused.code == 3
    assert refused.error["code"] == "A2ACLI_ERR_UNREACHABLE"
    for ran in (insecure, by_variable):
        assert ran.code == 0, ran.err
        assert "Warning: --insecure" in ran.err
        assert "Warning: SECURITY" in ran.err
    assert "Warning: --insecure" in plain.err
    assert "SECURITY" not in plain.err


@pytest.mark.row("A2ACLI_AUTH_004")
@pytest.mark.parametrize("fails", [False, True], ids=["success", "failure"])
async def test_no_secret_reaches_a_screen(bound: ScriptedAgent, program: Program, fails: bool) -> None:
    demanding(bound, "bearer", "query")
    if fails:
        bound.refuse["SendStreamingMessage"] = Refused("INTERNAL_ERROR", f"bad {BEARER} and {quote(KEY)} {PARAMETER}")
    options = ("--bearer", BEARER, "--api-key", KEY, "--svc-param", f"X-Deep:{PARAMETER}")
    text, document = await asyncio.gather(
        program.run("send", "hi", "--debug", "--verbose", *options),
        program.run("send", "hi", "--debug", "-o", "json", *options, "--stream"),
    )
    assert text.code == document.code == (1 if fails else 0)
    for ran in (text, document):
        assert "debug: > POST" in ran.err
        assert "[redacted]" in ran.err
        for secret in (BEARER, KEY, PARAMETER, PARAMETER.split()[1]):
            for spelling in (secret, quote(secret), quote(secret, safe=""), b64encode(secret.encode()).decode()):
                assert spelling not in ran.err
                assert spelling not in ran.out


def test_redaction_knows_the_spellings_of_a_secret() -> None:
    redact = Redactor()
    redact.hide('p"w d/1')
    redact.hide_parameter("Authorization", "Basic dXNlcjpwYXNz")
    redact.hide_parameter("traceparent", "00-abcdef")
    encoded = b64encode(b'p"w d/1').decode()
    line = f'p"w d/1 {encoded} p%22w%20d/1 p%22w+d%2F1 p\\"w d/1 dXNlcjpwYXNz http://me:you@host/ 00-abcdef'
    shown = redact(line)
    assert shown.count("[redacted]") == 7
    assert shown.endswith("http://[redacted]@host/ 00-abcdef")


async def test_a_protected_card_asks_for_a_copy(agent: ScriptedAgent, program: Program) -> None:
    agent.refuse["card"] = Refused("", "no", status=401)
    ran = await program.run("card", "get", "-o", "json", "--bearer", BEARER)
    assert ran.code == 4
    assert ran.error["code"] == "A2ACLI_ERR_CREDENTIALS_MISSING"
    assert "saved copy" in ran.error["hint"]
    assert holders(agent, BEARER) == set()


async def test_a_header_cannot_be_smuggled_in(agent: ScriptedAgent, program: Program, tmp_path: Path) -> None:
    demanding(agent, "bearer")
    runs = await asyncio.gather(
        program.run("send", "hi", "--bearer", "a\r\nX-Evil: 1"),
        program.run("send", "hi", "--svc-param", "X-A: b\r\nX-Evil: 1"),
        program.run("send", "hi", "--svc-param", "A2A-Version: 0.3"),
    )
    assert [ran.code for ran in runs] == [2, 2, 2]
    assert agent.sends == []


@pytest.mark.parametrize(
    "options", [("--bearer", BEARER), ("--api-key", KEY), ("--svc-param", f"X-Tag: {PARAMETER}")], ids=lambda o: o[0]
)
async def test_what_is_given_stays_with_the_agent_that_is_named(
    agent: ScriptedAgent, program: Program, options: tuple[str, str]
) -> None:
    async with serving() as other:
        demanding(agent, "bearer" if options[0] == "--bearer" else "header")
        agent.card_extra["supportedInterfaces"] = other.card()["supportedInterfaces"]
        secret = options[1].rpartition(" ")[2]
        refused = await program.run("send", "hi", "-o", "json", *options)
        assert (refused.code, other.requests) == (4, [])
        assert refused.error["hint"] == f"If that place is to have them: --credential-origin {other.base}"
        assert "credential_origins" not in refused.error["message"]
        allowed = await program.run("send", "hi", *options, "--credential-origin", other.base)
        assert allowed.code == 0, allowed.err
        assert holders(other, secret) != set()
        wrong = await program.run("send", "hi", *options, "--credential-origin", f"{other.base}/rpc")
        assert wrong.code == 2
        agent.card_extra = {"supportedInterfaces": other.card()["supportedInterfaces"]}
        harmless = await program.run("send", "hi", "--svc-param", "traceparent: 00-ab")
        assert harmless.code == 0


async def test_variables_of_programs_give_what_lacks(agent: ScriptedAgent, program: Program) -> None:
    demanding(agent, "bearer", "header")
    by_name = {"DRAGOMAN_TOKEN_BEARER": BEARER, "DRAGOMAN_TOKEN_HEADER": KEY}
    ran = await program.run("send", "hi", "--debug", env=by_name)
    assert ran.code == 0, ran.err
    assert (holders(agent, BEARER), holders(agent, KEY)) == ({"authorization"}, {"x-key"})
    assert BEARER not in ran.err
    assert KEY not in ran.err
    agent.requests.clear()
    mixed = await program.run("send", "hi", "--api-key", "another-one-77", env=by_name)
    assert mixed.code == 0
    assert (holders(agent, KEY), holders(agent, "another-one-77")) == (set(), {"x-key"})
    for lacking in ({"DRAGOMAN_TOKEN": BEARER}, {"DRAGOMAN_TOKEN_BEARER": BEARER}):
        refused = await program.run("send", "hi", "-o", "json", env=lacking)
        assert refused.error["code"] == "A2ACLI_ERR_CREDENTIALS_MISSING"
    demanding(agent, "header")
    assert (await program.run("send", "hi", env={"DRAGOMAN_TOKEN": KEY})).code == 0
