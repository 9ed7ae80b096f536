"""An agent that signs its cards with three keys, which it publishes."""

from dragoman import Agent, AgentSkill, TaskContext
from dragoman.signing.keys import KeyRing, SigningKey
from dragoman.types.card import AgentCapabilities, AgentCard, AgentInterface

EXTENDED = AgentCard(
    name="Erweitert \U0001f5dd",
    description="",
    version="1",
    supported_interfaces=(
        AgentInterface(url="https://agent.example/", protocol_binding="JSONRPC", protocol_version="1.0"),
    ),
    capabilities=AgentCapabilities(streaming=False, extended_agent_card=True),
    default_input_modes=("text/plain",),
    default_output_modes=(),
    skills=(AgentSkill(id="more", name="More", description="", tags=()),),
)
KEYS = KeyRing.of(*[SigningKey.generate(algorithm) for algorithm in ("ES256", "EdDSA", "RS256")])

agent = Agent("Signed", "Unterschreibt für jeden.", store="memory", extended_card=EXTENDED, sign_cards=KEYS)


@agent.skill
async def echo(task: TaskContext) -> str:
    """Repeat the message."""
    return task.text
