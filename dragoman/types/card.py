"""The agent card: how an agent describes itself (specification sections 4.4 and 4.5).

Members that the specification marks required have no default, except where an empty value means the same.
For `optional` members None means "not stated", which is not the same as False or the empty string (section 8.4.1).
"""

import msgspec

from dragoman.types.json import JsonObject

__all__ = [
    "APIKeySecurityScheme",
    "AgentCapabilities",
    "AgentCard",
    "AgentCardSignature",
    "AgentExtension",
    "AgentInterface",
    "AgentProvider",
    "AgentSkill",
    "AuthorizationCodeOAuthFlow",
    "ClientCredentialsOAuthFlow",
    "DeviceCodeOAuthFlow",
    "HTTPAuthSecurityScheme",
    "ImplicitOAuthFlow",
    "MutualTlsSecurityScheme",
    "OAuth2SecurityScheme",
    "OAuthFlow",
    "OpenIdConnectSecurityScheme",
    "PasswordOAuthFlow",
    "SecurityRequirement",
    "SecurityScheme",
]


class AgentProvider(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Who offers the agent."""

    organization: str
    url: str


class AgentInterface(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One way to reach the agent. `protocol_binding` is a core name or the URI of a custom binding."""

    url: str
    protocol_binding: str
    protocol_version: str
    tenant: str = ""


class AgentExtension(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An extension that the agent supports; a required one must be named by every caller (section 3.3.4)."""

    uri: str
    description: str = ""
    required: bool = False
    params: JsonObject | None = None


class AgentCapabilities(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Optional abilities of the agent; None is "not stated", which counts as no."""

    streaming: bool | None = None
    push_notifications: bool | None = None
    extended_agent_card: bool | None = None
    extensions: tuple[AgentExtension, ...] = ()


SecurityRequirement = dict[str, tuple[str, ...]]
"""Scheme name to the scopes it needs; all of one requirement apply together, several are alternatives."""


class AgentSkill(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One thing that the agent is good at. Empty modes mean the card's defaults."""

    id: str
    name: str
    description: str
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    input_modes: tuple[str, ...] = ()
    output_modes: tuple[str, ...] = ()
    security_requirements: tuple[SecurityRequirement, ...] = ()


class AgentCardSignature(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A JSON Web Signature over the card (section 8.4.2); `protected` and `signature` are base64url."""

    protected: str
    signature: str
    header: JsonObject | None = None


class APIKeySecurityScheme(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An API key in a header, a query parameter or a cookie (`location`) of the given name."""

    location: str
    name: str
    description: str = ""


class HTTPAuthSecurityScheme(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """HTTP authentication with an IANA-registered scheme."""

    scheme: str
    bearer_format: str = ""
    description: str = ""


class OpenIdConnectSecurityScheme(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """OpenID Connect, found through its discovery document."""

    open_id_connect_url: str
    description: str = ""


class MutualTlsSecurityScheme(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A client certificate."""

    description: str = ""


class AuthorizationCodeOAuthFlow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    authorization_url: str
    token_url: str
    scopes: dict[str, str]
    refresh_url: str = ""
    pkce_required: bool = False


class ClientCredentialsOAuthFlow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    token_url: str
    scopes: dict[str, str]
    refresh_url: str = ""


class DeviceCodeOAuthFlow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    device_authorization_url: str
    token_url: str
    scopes: dict[str, str]
    refresh_url: str = ""


class ImplicitOAuthFlow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Deprecated by the specification; read for old cards."""

    authorization_url: str
    scopes: dict[str, str]
    refresh_url: str = ""


class PasswordOAuthFlow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Deprecated by the specification; read for old cards."""

    token_url: str
    scopes: dict[str, str]
    refresh_url: str = ""


OAuthFlow = (
    AuthorizationCodeOAuthFlow
    | ClientCredentialsOAuthFlow
    | DeviceCodeOAuthFlow
    | ImplicitOAuthFlow
    | PasswordOAuthFlow
)


class OAuth2SecurityScheme(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """OAuth 2.0 with exactly one flow (section 4.5.7)."""

    flow: OAuthFlow
    oauth2_metadata_url: str = ""
    description: str = ""


SecurityScheme = (
    APIKeySecurityScheme
    | HTTPAuthSecurityScheme
    | OAuth2SecurityScheme
    | OpenIdConnectSecurityScheme
    | MutualTlsSecurityScheme
)


class AgentCard(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Who an agent is, what it can do, and how to reach it. Interfaces are in order of preference."""

    name: str
    description: str
    version: str
    supported_interfaces: tuple[AgentInterface, ...]
    capabilities: AgentCapabilities
    default_input_modes: tuple[str, ...]
    default_output_modes: tuple[str, ...]
    skills: tuple[AgentSkill, ...]
    provider: AgentProvider | None = None
    documentation_url: str | None = None
    icon_url: str | None = None
    security_schemes: dict[str, SecurityScheme] = {}
    security_requirements: tuple[SecurityRequirement, ...] = ()
    signatures: tuple[AgentCardSignature, ...] = ()
