"""`dragoman auth logout`, where several agents are logged in to."""

from dragoman.client.login.oauth import TokenCache
from dragoman.client.login.oauth.tokens import Kept, Key, Token
from tests.cli.program import Program

ACCESS = "access-token-of-one"


async def test_of_several_agents_at_one_origin_the_one_that_is_named_is_left(program: Program) -> None:
    cache = TokenCache(program.home / ".local/state/dragoman/tokens")
    for name in ("red", "blue"):
        agent = f"https://agents.example/{name}"
        key = Key(origin="https://agents.example", scheme="oauth", client_id="app", resource=agent)
        token = Token(access=ACCESS, obtained_at=1000.0)
        cache.write(Kept(key=key, token=token, agent=agent, grant="device_code", token_url=f"{agent}/token"))
    left = await program.run("auth", "logout", "https://agents.example/red")
    assert left.code == 0, left.err
    assert [kept.agent for kept in cache.every()] == ["https://agents.example/blue"]
    assert (await program.run("auth", "status", "https://agents.example")).fields["Agent"] == [
        "https://agents.example/blue"
    ]
