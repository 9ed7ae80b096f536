"""Security schemes and requirements of the agent card (specification section 4.5).

A scheme stands under a member name that says its kind, an OAuth flow likewise. A scheme of a kind that is not known is
left out when a card is read: it cannot be used, and the rest of the card can. Schemes of 0.3, which say their kind in
`type`, are read too, of several OAuth flows the first; and so is the form with a `$case`, which is in the public cards
of the JavaScript SDK.
"""

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from dragoman import types

__all__ = [
    "KINDS",
    "Requirement",
    "Scheme",
    "read_requirements",
    "read_schemes",
    "upgrade",
    "write_requirements",
    "write_scheme",
]


class _Described(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    description: str = ""


class _APIKey(_Described, rename="camel", omit_defaults=True, kw_only=True):
    location: str
    name: str


class _HTTPAuth(_Described, rename="camel", omit_defaults=True, kw_only=True):
    scheme: str
    bearer_format: str = ""


class _OpenIdConnect(_Described, rename="camel", omit_defaults=True, kw_only=True):
    open_id_connect_url: str


class _AuthorizationCode(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    authorization_url: str
    token_url: str
    refresh_url: str = ""
    scopes: dict[str, str]
    pkce_required: bool = False


class _ClientCredentials(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    token_url: str
    refresh_url: str = ""
    scopes: dict[str, str]


class _DeviceCode(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    device_authorization_url: str
    token_url: str
    refresh_url: str = ""
    scopes: dict[str, str]


class _Implicit(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    authorization_url: str = ""
    refresh_url: str = ""
    scopes: dict[str, str] = {}


class _Password(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    token_url: str = ""
    refresh_url: str = ""
    scopes: dict[str, str] = {}


class _Flows(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """One of them."""

    authorization_code: _AuthorizationCode | None = None
    client_credentials: _ClientCredentials | None = None
    implicit: _Implicit | None = None
    password: _Password | None = None
    device_code: _DeviceCode | None = None


class _OAuth2(_Described, rename="camel", omit_defaults=True, kw_only=True):
    flows: _Flows
    oauth2_metadata_url: str = ""


class Scheme(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """One of them."""

    api_key_security_scheme: _APIKey | None = None
    http_auth_security_scheme: _HTTPAuth | None = None
    oauth2_security_scheme: _OAuth2 | None = None
    open_id_connect_security_scheme: _OpenIdConnect | None = None
    mtls_security_scheme: _Described | None = None


class _Scopes(msgspec.Struct, omit_defaults=True):
    """A list of strings, wrapped."""

    list: tuple[str, ...] = ()


class Requirement(msgspec.Struct, omit_defaults=True):
    schemes: dict[str, _Scopes] = {}


_FLOWS: tuple[tuple[str, type[msgspec.Struct], Any], ...] = (
    ("authorization_code", _AuthorizationCode, types.AuthorizationCodeOAuthFlow),
    ("client_credentials", _ClientCredentials, types.ClientCredentialsOAuthFlow),
    ("device_code", _DeviceCode, types.DeviceCodeOAuthFlow),
    ("implicit", _Implicit, types.ImplicitOAuthFlow),
    ("password", _Password, types.PasswordOAuthFlow),
)
_SCHEMES: tuple[tuple[str, type[msgspec.Struct], Any], ...] = (
    ("api_key_security_scheme", _APIKey, types.APIKeySecurityScheme),
    ("http_auth_security_scheme", _HTTPAuth, types.HTTPAuthSecurityScheme),
    ("open_id_connect_security_scheme", _OpenIdConnect, types.OpenIdConnectSecurityScheme),
    ("mtls_security_scheme", _Described, types.MutualTlsSecurityScheme),
)
"""Member name, wire struct, canonical type; the last two have the same fields."""


def write_scheme(scheme: types.SecurityScheme) -> Scheme:
    if isinstance(scheme, types.OAuth2SecurityScheme):
        return Scheme(
            oauth2_security_scheme=_OAuth2(
                description=scheme.description,
                flows=_write_flow(scheme.flow),
                oauth2_metadata_url=scheme.oauth2_metadata_url,
            )
        )
    for member, wire, canonical in _SCHEMES:
        if isinstance(scheme, canonical):
            written = Scheme()
            setattr(written, member, wire(**msgspec.structs.asdict(scheme)))
            return written
    raise AssertionError(scheme)


def _write_flow(flow: types.OAuthFlow) -> _Flows:
    for member, wire, canonical in _FLOWS:
        if isinstance(flow, canonical):
            written = _Flows()
            setattr(written, member, wire(**msgspec.structs.asdict(flow)))
            return written
    raise AssertionError(flow)


def read_schemes(schemes: dict[str, Scheme]) -> dict[str, types.SecurityScheme]:
    read = {name: _read_scheme(scheme) for name, scheme in schemes.items()}
    return {name: scheme for name, scheme in read.items() if scheme is not None}


def _read_scheme(scheme: Scheme) -> types.SecurityScheme | None:
    if scheme.oauth2_security_scheme is not None:
        given = scheme.oauth2_security_scheme
        flow = _first(given.flows, _FLOWS)
        if flow is None:
            return None
        return types.OAuth2SecurityScheme(
            flow=flow, oauth2_metadata_url=given.oauth2_metadata_url, description=given.description
        )
    return cast("types.SecurityScheme | None", _first(scheme, _SCHEMES))


def _first(holder: msgspec.Struct, table: tuple[tuple[str, type[msgspec.Struct], Any], ...]) -> Any:
    for member, _, canonical in table:
        given = getattr(holder, member)
        if given is not None:
            return canonical(**msgspec.structs.asdict(given))
    return None


def write_requirements(requirements: tuple[types.SecurityRequirement, ...]) -> tuple[Requirement, ...]:
    return tuple(
        [
            Requirement(schemes={name: _Scopes(list=tuple(scopes)) for name, scopes in requirement.items()})
            for requirement in requirements
        ]
    )


def read_requirements(requirements: tuple[Requirement, ...]) -> tuple[types.SecurityRequirement, ...]:
    return tuple([{name: scopes.list for name, scopes in requirement.schemes.items()} for requirement in requirements])


KINDS: dict[str, tuple[str, dict[str, str]]] = {
    "apiKey": ("apiKeySecurityScheme", {"in": "location"}),
    "http": ("httpAuthSecurityScheme", {}),
    "oauth2": ("oauth2SecurityScheme", {}),
    "openIdConnect": ("openIdConnectSecurityScheme", {}),
    "mutualTLS": ("mtlsSecurityScheme", {}),
}
"""By the `type` that a scheme has in 0.3: its member name in 1.0, and the members that are called otherwise there."""


def upgrade(card: dict[str, Any]) -> dict[str, Any]:
    """The JSON of a card with schemes and requirements of 0.3 in the form of 1.0; others stay as they are."""
    schemes = card.get("securitySchemes")
    if isinstance(schemes, dict):
        card["securitySchemes"] = {
            name: _upgraded_scheme(scheme) for name, scheme in cast("dict[str, Any]", schemes).items()
        }
    return _with_requirements(card) | _upgraded_skills(card)


def _upgraded_scheme(scheme: Any) -> Any:
    if not isinstance(scheme, dict):
        return scheme
    given = cast("dict[str, Any]", scheme)
    case = given.get("scheme")
    if isinstance(case, dict) and "$case" in case:
        named = cast("dict[str, Any]", case)
        return {str(named["$case"]): named.get("value")}
    kind, renamed = KINDS.get(str(given.get("type")), ("", {}))
    if not kind or kind in given:
        return given
    return {kind: {renamed.get(name, name): value for name, value in given.items() if name != "type"}}


def _with_requirements(holder: dict[str, Any]) -> dict[str, Any]:
    older = holder.get("security")
    if not isinstance(older, list) or "securityRequirements" in holder:
        return holder
    return {**holder, "securityRequirements": [_upgraded_requirement(item) for item in cast("Sequence[Any]", older)]}


def _upgraded_requirement(item: Any) -> Any:
    if not isinstance(item, dict) or "schemes" in item:
        return cast("Any", item)
    return {"schemes": {name: {"list": scopes} for name, scopes in cast("dict[str, Any]", item).items()}}


def _upgraded_skills(card: dict[str, Any]) -> dict[str, Any]:
    skills = card.get("skills")
    if not isinstance(skills, list):
        return {}
    return {
        "skills": [
            _with_requirements(cast("dict[str, Any]", skill)) if isinstance(skill, dict) else skill
            for skill in cast("Sequence[Any]", skills)
        ]
    }
