"""Schemes, and alternatives of schemes that apply together: the `Authenticator` that agents are given."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from dragoman.errors import A2AError, ConfigurationError, PermissionDeniedError, UnauthenticatedError, UnavailableError
from dragoman.ports.auth import Credentials
from dragoman.ports.call import Principal
from dragoman.types.card import (
    HTTPAuthSecurityScheme,
    OAuth2SecurityScheme,
    OpenIdConnectSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
)

__all__ = ["Auth", "Scheme", "challenge", "denied", "unauthenticated"]


def challenge(scheme: str, **parameters: str) -> str:
    """One challenge, its parameters quoted (RFC 9110 sections 11.3 and 5.6.4).

    Raises:
        ConfigurationError: a header cannot say this.
    """
    if not all(value.isascii() and value.isprintable() for value in (scheme, *parameters.values())):
        raise ConfigurationError(f"what callers are told to authenticate by is ASCII: {', '.join(parameters.values())}")
    quoted = {name: value.replace("\\", "\\\\").replace('"', '\\"') for name, value in parameters.items()}
    return " ".join([scheme, ", ".join(f'{name}="{value}"' for name, value in quoted.items())]).strip()


def unauthenticated(told: str) -> UnauthenticatedError:
    """The error with this challenge."""
    error = UnauthenticatedError()
    error.challenges = (told,)
    return error


def denied(needs: Sequence[str], told: str) -> PermissionDeniedError:
    """The error with this challenge. The scopes are named: the card says them to everybody."""
    error = PermissionDeniedError(f"A scope is missing of: {' '.join(needs)}")
    error.challenges = (told,) if told else ()
    return error


class Auth(ABC):
    """By what callers are known: a scheme, or several. `a | b` is either, `a & b` is both, and the first is who calls.

    Alternatives are tried in their order; the first that is met counts, whatever else a request brings.
    """

    @property
    @abstractmethod
    def alternatives(self) -> tuple[tuple["Scheme", ...], ...]: ...

    def __or__(self, other: "Auth") -> "Auth":
        return _Combined((*self.alternatives, *other.alternatives))

    def __and__(self, other: "Auth") -> "Auth":
        return _Combined(
            [tuple(dict.fromkeys(mine + theirs)) for mine in self.alternatives for theirs in other.alternatives]
        )

    @property
    def schemes(self) -> Mapping[str, SecurityScheme]:
        return {scheme.name: scheme.described for scheme in self._each()}

    @property
    def requirements(self) -> tuple[SecurityRequirement, ...]:
        return tuple({scheme.name: scheme.needs for scheme in several} for several in self.alternatives)

    async def authenticate(self, credentials: Credentials) -> Principal:
        asked: dict[Scheme, Principal | A2AError] = {}
        for alternative in self.alternatives:
            found = [await _asked(scheme, credentials, asked) for scheme in alternative]
            if all(isinstance(one, Principal) for one in found):
                first = found[0]
                assert isinstance(first, Principal)
                return first
        raise await _refusal(self.alternatives, asked)

    def _each(self) -> list["Scheme"]:
        return list(dict.fromkeys(scheme for several in self.alternatives for scheme in several))


class Scheme(Auth):
    """One security scheme of the card, under this name. `described` is what the card says of it, `needs` are the scopes
    that each call must have.
    """

    def __init__(self, name: str, described: SecurityScheme, needs: Iterable[str] = ()) -> None:
        if not name:
            raise ConfigurationError("a security scheme has a name")
        self.name = name
        self.described = described
        self.needs = tuple(needs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"

    @property
    def alternatives(self) -> tuple[tuple["Scheme", ...], ...]:
        return ((self,),)

    async def authenticate(self, credentials: Credentials) -> Principal:
        return await self.known(credentials)

    @property
    def whole(self) -> "Scheme":
        """The scheme of the card that this is: itself, or the one that it asks more of."""
        return self

    def needing(self, *scopes: str) -> "Scheme":
        """The same scheme for callers who have these scopes too: what a skill may ask for."""
        return _Needing(self, scopes)

    @abstractmethod
    async def known(self, credentials: Credentials) -> Principal:
        """Who calls, by this scheme alone; raises as `Authenticator.authenticate` does, with one challenge."""


class _Needing(Scheme):
    """A scheme whose callers need more."""

    def __init__(self, scheme: Scheme, scopes: Sequence[str]) -> None:
        if not scopes:
            raise ConfigurationError(f"name the scopes that {scheme.name} is to need")
        described = scheme.described
        if isinstance(described, OAuth2SecurityScheme) and not described.flow.scopes.keys() >= {*scopes}:
            raise ConfigurationError(f"the flow of {scheme.name} does not declare all of: {' '.join(scopes)}")
        super().__init__(scheme.name, scheme.described, dict.fromkeys((*scheme.needs, *scopes)))
        self._scheme = scheme
        self._challenge = _lacking(scheme.described, self.needs)

    @property
    def whole(self) -> Scheme:
        return self._scheme.whole

    async def known(self, credentials: Credentials) -> Principal:
        principal = await self._scheme.known(credentials)
        if not principal.scopes.issuperset(self.needs):
            raise denied(self.needs, self._challenge)
        return principal


def _lacking(described: SecurityScheme, needs: Sequence[str]) -> str:
    """What callers of this scheme are told who lack a scope (RFC 6750 section 3.1); nothing where tokens have none."""
    match described:
        case OAuth2SecurityScheme() | OpenIdConnectSecurityScheme():
            bearer = True
        case HTTPAuthSecurityScheme():
            bearer = described.scheme.lower() == "bearer"
        case _:
            bearer = False
    return challenge("Bearer", error="insufficient_scope", scope=" ".join(needs)) if bearer else ""


class _Combined(Auth):
    def __init__(self, alternatives: Sequence[tuple[Scheme, ...]]) -> None:
        self._alternatives = tuple(dict.fromkeys(alternatives))
        schemes = {scheme.whole for scheme in self._each()}
        if len({scheme.name for scheme in schemes}) < len(schemes):
            raise ConfigurationError("two security schemes have one name; give one of them another name=")

    def __repr__(self) -> str:
        return " | ".join(" & ".join(map(repr, several)) for several in self._alternatives)

    @property
    def alternatives(self) -> tuple[tuple[Scheme, ...], ...]:
        return self._alternatives


async def _asked(
    scheme: Scheme, credentials: Credentials, asked: dict[Scheme, Principal | A2AError]
) -> Principal | A2AError:
    """What the scheme says, which is asked once for a request."""
    if scheme not in asked:
        try:
            asked[scheme] = await scheme.known(credentials)
        except (UnauthenticatedError, PermissionDeniedError, UnavailableError) as error:
            asked[scheme] = error
    return asked[scheme]


async def _refusal(
    alternatives: Sequence[tuple[Scheme, ...]], asked: Mapping[Scheme, Principal | A2AError]
) -> A2AError:
    """That it cannot be found out, if so; a lack of scopes, where nothing else is wrong with an alternative; else what
    every scheme asks for, also those that were content: of two secrets nobody is told which one was right.
    """
    for error in asked.values():
        if isinstance(error, UnavailableError):
            return error
    for several in alternatives:
        wrong = [one for one in map(asked.__getitem__, several) if not isinstance(one, Principal)]
        if all(isinstance(one, PermissionDeniedError) for one in wrong):
            return wrong[0]
    refused: list[UnauthenticatedError] = []
    for scheme, found in asked.items():
        one = found if isinstance(found, UnauthenticatedError) else await _asked(scheme, Credentials(), {})
        if isinstance(one, UnauthenticatedError):
            refused.append(one)
    error = UnauthenticatedError()
    error.challenges = tuple(dict.fromkeys(told for one in refused for told in one.challenges))
    return error
