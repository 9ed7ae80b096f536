"""An agent's extensions: those that only stand in its card, and those that do something."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman.errors import ConfigurationError
from dragoman.extensions.extension import Extension
from dragoman.extensions.hooks import AgentExtensions, check_uris
from dragoman.ports.agent import Turn
from dragoman.types.card import AgentCapabilities, AgentCard, AgentExtension

__all__ = ["AnyExtension", "Extending", "Offers"]

AnyExtension = AgentExtension | Extension
"""What an agent declares: an entry for its card, or an extension that makes one."""


class Extending:
    """The extensions of an agent in the order in which they are declared.

    `given` are the capabilities that stand in for what is inferred: then the card has the entries that they have.

    Raises:
        ConfigurationError: one is there twice, or has no URI that can be named.
    """

    def __init__(self, extensions: Sequence[AnyExtension], given: AgentCapabilities | None) -> None:
        check_uris(extension.uri for extension in extensions)
        self._given = given is not None
        self.active: Mapping[str, Extension] = {one.uri: one for one in extensions if isinstance(one, Extension)}
        """Those that do something, by URI."""
        self.hooks = AgentExtensions(tuple(self.active.values())) if self.active else None
        self.declared = [one if isinstance(one, AgentExtension) else AgentExtension(uri=one.uri) for one in extensions]
        """The entries as far as they do not depend on the rest of the card."""

    def entered(self, card: AgentCard) -> AgentCard:
        """The card with the entries as the extensions make them."""
        if self._given or not self.active:
            return card
        entries = tuple([self._entry(one, card) for one in card.capabilities.extensions])
        capabilities = msgspec.structs.replace(card.capabilities, extensions=entries)
        return msgspec.structs.replace(card, capabilities=capabilities)

    def _entry(self, declared: AgentExtension, card: AgentCard) -> AgentExtension:
        extension = self.active.get(declared.uri)
        if extension is None:
            return declared
        entry = extension.entry(card)
        if entry.uri != declared.uri:
            raise ConfigurationError(f"the extension {declared.uri} declares itself as {entry.uri}")
        return entry


class Offers:
    """What the extensions in force offer to one run, each made when it is asked for, and once."""

    def __init__(self, extensions: Mapping[str, Extension], turn: Turn) -> None:
        self._extensions = extensions
        self._turn = turn
        self._made: dict[str, Any] = {}

    def of(self, uri: str) -> Any:
        """None if the extension is not in force, or only stands in the card."""
        extension = self._extensions.get(uri)
        if extension is None or uri not in self._turn.extensions:
            return None
        if uri not in self._made:
            self._made[uri] = extension.for_task(self._turn)
        return self._made[uri]
