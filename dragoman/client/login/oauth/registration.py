"""The client as a provider knows it, and how it shows that it is this one (RFC 6749 section 2.3)."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any, Literal
from urllib.parse import quote_plus

import msgspec

from dragoman.client.login.oauth.failures import LoginFailed

__all__ = ["ClientAuth", "ClientSecret", "Registration"]

ClientAuth = Literal["auto", "client_secret_basic", "client_secret_post", "none"]
ClientSecret = str | Callable[[], str | None] | None
"""The secret, or what gives it at the moment when it is needed."""

BASIC, POST, NONE = "client_secret_basic", "client_secret_post", "none"


class Registration(msgspec.Struct, frozen=True):
    """Its `repr` shows no secret."""

    client_id: str
    secret: str = ""
    method: str = NONE

    def __repr__(self) -> str:
        return f"Registration({self.client_id!r})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("client_id", self.client_id)]

    @classmethod
    def chosen(cls, client_id: str, secret: ClientSecret, wish: str, offered: Sequence[str]) -> "Registration":
        """By what the provider takes. Without a wish: nothing if there is no secret, else Basic, else in the form;
        Basic is what a provider takes that says nothing (RFC 8414 section 2).

        Raises:
            LoginFailed: the provider takes neither, or the secret that is wished for is not there.
        """
        if wish == NONE:
            return cls(client_id)
        told = (secret() if callable(secret) else secret) or ""
        if wish == "auto" and not told:
            return cls(client_id)
        if not told:
            raise LoginFailed("The secret of the client is needed, and there is none")
        if wish != "auto":
            return cls(client_id, told, wish)
        method = next((method for method in (BASIC, POST) if method in (offered or (BASIC,))), None)
        if method is None:
            raise LoginFailed(f"The provider takes no client secret, but: {', '.join(offered)[:200]}")
        return cls(client_id, told, method)

    def signed(self, form: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """Headers and form of a request in the client's name."""
        if self.method == BASIC:
            # Both are coded as in a form first, since an id may have a colon (section 2.3.1).
            pair = f"{quote_plus(self.client_id)}:{quote_plus(self.secret)}"
            return {"authorization": f"Basic {b64encode(pair.encode()).decode()}"}, form
        proof = {"client_secret": self.secret} if self.method == POST else {}
        return {}, {**form, "client_id": self.client_id, **proof}
