"""What the card says of an agent and its skills, as far as their authors leave it to be inferred."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from dragoman.errors import ConfigurationError
from dragoman.ports.auth import Authenticator
from dragoman.types.card import AgentCapabilities, AgentCard, AgentExtension, AgentSkill, SecurityScheme
from dragoman.types.reliable import RELIABLE

__all__ = ["check_schemes", "inferred_capabilities", "secured", "skill_card"]

OURS = AgentExtension(
    uri=RELIABLE, description="Numbered events, streams that go on where they broke off, messages that are taken once."
)


def inferred_capabilities(
    *, streaming: bool, push: bool, extended_card: bool, extensions: Sequence[AgentExtension]
) -> AgentCapabilities:
    """The capabilities with these extensions and then our own, unless it is among them."""
    declared = tuple(extensions)
    if all(extension.uri != RELIABLE for extension in declared):
        declared = (*declared, OURS)
    return AgentCapabilities(
        streaming=streaming, push_notifications=push, extended_agent_card=extended_card, extensions=declared
    )


def secured(card: AgentCard, auth: Authenticator | None, of_skills: Iterable[Authenticator | None] = ()) -> AgentCard:
    """The card with that by which callers are known, as it is enforced; `of_skills` are what single skills ask for."""
    if auth is None:
        return card
    schemes: dict[str, SecurityScheme] = {}
    for one in (auth, *of_skills):
        schemes |= {} if one is None else one.schemes
    return msgspec.structs.replace(card, security_schemes=schemes, security_requirements=tuple(auth.requirements))


def check_schemes(skill: str, asked: Authenticator | None, agent: Authenticator | None, card: AgentCard) -> None:
    """Raises `ConfigurationError` if a skill asks for what the card of its agent, as it is so far, cannot say."""
    if asked is None:
        return
    if agent is None:
        raise ConfigurationError(f"the skill {skill} asks who calls, but its agent does not: it needs auth= too")
    for name, scheme in asked.schemes.items():
        if card.security_schemes.get(name, scheme) != scheme:
            raise ConfigurationError(f"the scheme {name} of the skill {skill} is another one than the card has")


def skill_card(
    function: Callable[..., Any],
    skill_id: str | None,
    name: str | None,
    description: str | None,
    *,
    tags: Sequence[str],
    examples: Sequence[str],
    modes: tuple[Sequence[str], Sequence[str]],
    auth: Authenticator | None = None,
) -> AgentSkill:
    """A skill as it is stated; what is not comes from the function's name and docstring. `modes` are those of its
    input and of its output.
    """
    words = function.__name__.strip("_").replace("_", " ").capitalize()
    return AgentSkill(
        id=skill_id or function.__name__,
        name=name or words,
        description=description or _summary(function) or words,
        tags=tuple(tags),
        examples=tuple(examples),
        input_modes=tuple(modes[0]),
        output_modes=tuple(modes[1]),
        security_requirements=() if auth is None else tuple(auth.requirements),
    )


def _summary(function: Callable[..., Any]) -> str:
    """The first paragraph of the docstring, on one line."""
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
