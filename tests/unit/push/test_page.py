"""`docs/webhooks.md` has the names that are sent."""

import re
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman import types
from dragoman.dialects.push import push_version, write_push
from dragoman.push.headers import delivery_headers
from dragoman.push.signer import HmacSigner, JwtSigner
from dragoman.signing.keys import KeyRing, SigningKey
from dragoman.signing.webhooks import Claims, Secret
from tests.arch.source import ROOT

PAGE = (ROOT / "docs" / "webhooks.md").read_text("utf-8")
NOW = 1_800_000_000
BODY = b"{}"


def _signed() -> dict[str, str]:
    about: dict[str, Any] = {"url": "https://hook.example", "identity": "t:1:c", "timestamp": NOW, "task_id": "t"}
    ring = KeyRing.of(SigningKey.generate())
    made = JwtSigner(ring, "https://a.example").sign(**about, body=BODY)
    return made | HmacSigner(Secret.generate().text).sign(**about, body=BODY)


def _headers() -> dict[str, str]:
    config = types.TaskPushNotificationConfig(
        url="https://hook.example",
        token="t",
        authentication=types.AuthenticationInfo(scheme="ApiKey", credentials="c"),
    )
    at = datetime.fromtimestamp(NOW, UTC)
    return delivery_headers(config, content_type="x", version="1.0", identity="t:1:c", at=at, user_agent="x")


def test_every_header_that_is_sent_is_on_the_page_and_no_other() -> None:
    listed = {
        name.lower() for name in re.findall(r"`([A-Za-z0-9]+(?:-[A-Za-z0-9]+)+)`", PAGE.split("## What to answer")[0])
    }
    assert listed - {"x-api-key"} | {"authorization", "x-api-key"} == {*_headers(), *_signed()}


def test_every_claim_is_on_the_page_and_no_other() -> None:
    table = PAGE.split("| claim | value |")[1].split("\n\n")[0]
    rows = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in table.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in row} == set(Claims.__struct_encode_fields__)


@pytest.mark.parametrize(
    ("line", "key"), [("1.0", "1.0/GRPC"), ("the draft of 1.0", "draft/GRPC"), ("0.3", "0.3/GRPC")]
)
def test_media_types_and_versions_are_those_on_the_page(line: str, key: str) -> None:
    row = next(row for row in PAGE.splitlines() if row.startswith(f"| {line} |"))
    message = types.Message(message_id="m", role=types.Role.AGENT, parts=(types.Part(text="x"),))
    assert f"`{write_push(key, message)[0]}` | `{push_version(key)}`" in row


def test_the_examples_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.chdir(tmp_path)
    *verifying, owner = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    owners: dict[str, Any] = {}
    exec("from dragoman import Agent\nfrom dragoman.push.options import PushOptions\n" + owner, owners)
    secret = Secret.generate().text
    about: dict[str, Any] = {"url": "https://hook.example/x", "identity": "t:1:c", "timestamp": NOW, "task_id": "t"}
    signed = JwtSigner(owners["ring"], "https://agent.example").sign(**about, body=BODY)
    signed |= HmacSigner(secret).sign(**about, body=BODY)
    given: dict[str, Any] = {
        "time": SimpleNamespace(time=lambda: float(NOW)),
        "headers": signed | {"webhook-id": "t:1:c", "webhook-timestamp": str(NOW)},
        "body": BODY,
        "jwks": owners["ring"].jwks(NOW),
    }
    for example in verifying:
        exec(example.replace("whsec_...", secret), given)
    assert given["claims"].task_id == "t"
