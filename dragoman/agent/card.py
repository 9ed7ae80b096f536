"""What the card says of an agent and its skills, as far as their authors leave it to be inferred."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from dragoman.ports.auth import Authenticator
from dragoman.types.card import AgentCapabilities, AgentCard, AgentExtension, AgentSkill
from dragoman.types.reliable import RELIABLE

__all__ = ["inferred_capabilities", "secured", "skill_card"]

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


def secured(card: AgentCard, auth: Authenticator | None) -> AgentCard:
    """The card with that by which callers are known, as it is enforced."""
    if auth is None:
        return card
    return msgspec.structs.replace(
        card, security_schemes=dict(auth.schemes), security_requirements=tuple(auth.requirements)
    )


def skill_card(
    function: Callable[..., Any],
    skill_id: str | None,
    name: str | None,
    description: str | None,
    *,
    tags: Sequence[str],
    examples: Sequence[str],
    modes: tuple[Sequence[str], Sequence[str]],
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
    )


def _summary(function: Callable[..., Any]) -> str:
    """The first paragraph of the docstring, on one line."""
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
