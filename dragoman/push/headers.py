"""The headers of a delivery (section 4.3.3), as a pure function of what is delivered and to whom."""

from datetime import datetime
from urllib.parse import quote

import pybase64

from dragoman.signing.webhooks import ID_HEADER, TIMESTAMP_HEADER
from dragoman.types.push import AuthenticationInfo, TaskPushNotificationConfig

__all__ = ["delivery_headers", "delivery_id"]

_KEY_SCHEMES = frozenset({"apikey", "xapikey"})


def delivery_id(about: str, seq: int, config_id: str) -> str:
    """The id that all attempts of one delivery have: task (or message), number of the event, configuration.

    What is not a letter or a digit of ASCII, `-`, `_` or `~` is percent-encoded, so that the three can be told apart.
    """
    return f"{_plain(about)}:{seq}:{_plain(config_id)}"


def _plain(text: str) -> str:
    return quote(text, safe="").replace(".", "%2E")


def delivery_headers(
    config: TaskPushNotificationConfig,
    *,
    content_type: str,
    version: str,
    identity: str,
    at: datetime,
    user_agent: str,
) -> dict[str, str]:
    """Names in lower case. `version` is that of the protocol, `identity` a `delivery_id`, `at` the time of the attempt.

    The members of the configuration must be fit for headers, as they are checked to be when it is stored.
    """
    headers = {
        "content-type": content_type,
        "a2a-version": version,
        "user-agent": user_agent,
        ID_HEADER: identity,
        "idempotency-key": identity,
        TIMESTAMP_HEADER: str(int(at.timestamp())),
    }
    if config.token:
        headers["x-a2a-notification-token"] = headers["a2a-notification-token"] = config.token
    if config.authentication is not None:
        headers |= _authorization(config.authentication)
    return headers


def _authorization(given: AuthenticationInfo) -> dict[str, str]:
    """None without credentials. Basic ones may be given as `name:password`; keys go into the header that APIs have for
    them too, since `ApiKey` is no scheme of HTTP.
    """
    credentials = given.credentials
    if not credentials:
        return {}
    scheme = given.scheme.lower()
    if scheme == "basic" and ":" in credentials:
        credentials = pybase64.b64encode(credentials.encode()).decode()
    headers = {"authorization": f"{given.scheme} {credentials}"}
    if scheme.replace("-", "").replace("_", "") in _KEY_SCHEMES:
        headers["x-api-key"] = credentials
    return headers
