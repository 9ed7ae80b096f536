"""Requests of A2A 1.0 as bytes, sent in the leanest way: measuring must cost less than what is measured."""

import json
import socket
import uuid
from dataclasses import dataclass
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from scripts.programs import CARD_PATH

__all__ = ["Stream", "Template", "Wire", "fetch_card", "text_of"]

PATIENCE = 30.0


def fetch_card(url: str) -> Any:
    with urlopen(url + CARD_PATH, timeout=PATIENCE) as reply:
        return json.load(reply)


@dataclass(frozen=True)
class Template:
    """A request for any number of messages: `%ID%` in the body stands for what makes each one unique."""

    method: str
    path: str
    body: str
    headers: dict[str, str]


@dataclass(frozen=True)
class Stream:
    """A whole stream: seconds to the first event and to the end, and the events."""

    first: float
    total: float
    events: list[Any]


@dataclass(frozen=True)
class Wire:
    """One interface of a server."""

    binding: str
    url: str
    token: str = ""
    """Of the caller, if callers must be known."""

    def send(self, text: str, *, stream: bool = False, webhook: str = "") -> Template:
        params: dict[str, Any] = {
            "message": {"messageId": f"{uuid.uuid4()}-%ID%", "role": "ROLE_USER", "parts": [{"text": text}]},
        }
        if webhook:
            params["configuration"] = {"taskPushNotificationConfig": {"url": webhook, "token": "of-the-bench"}}
        if self.binding == "JSONRPC":
            return self._rpc("SendStreamingMessage" if stream else "SendMessage", params)
        return self._template("POST", "/message:stream" if stream else "/message:send", json.dumps(params))

    def get(self, task_id: str) -> Template:
        if self.binding == "JSONRPC":
            return self._rpc("GetTask", {"id": task_id})
        return self._template("GET", f"/tasks/{task_id}", "")

    def page(self) -> Template:
        """The first page, at its default size."""
        if self.binding == "JSONRPC":
            return self._rpc("ListTasks", {})
        return self._template("GET", "/tasks", "")

    def _rpc(self, method: str, params: dict[str, Any]) -> Template:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self._template("POST", "", json.dumps(body))

    def _template(self, method: str, path: str, body: str) -> Template:
        base = urlsplit(self.url).path
        whole = base.rstrip("/") + path if path else base or "/"
        known = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return Template(method, whole, body, {"Content-Type": "application/json", "A2A-Version": "1.0"} | known)

    def ask(self, template: Template) -> Any:
        """The result of one request; over JSON-RPC without its envelope."""
        url = urlsplit(self.url)._replace(path=template.path).geturl()
        body = template.body.replace("%ID%", "0").encode() or None
        request = Request(url, body, template.headers, method=template.method)
        with urlopen(request, timeout=PATIENCE) as reply:
            answer = json.load(reply)
        if self.binding != "JSONRPC":
            return answer
        if "result" not in answer:
            raise RuntimeError(f"{template.body}: {answer}")
        return answer["result"]

    def connect(self, template: Template) -> socket.socket:
        """A connection on which the request has been sent and nothing was read."""
        url = urlsplit(self.url)
        connection = socket.create_connection((url.hostname, url.port), PATIENCE)
        body = template.body.replace("%ID%", "0").encode()
        headers = {**template.headers, "Host": url.netloc, "Content-Length": str(len(body))}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        connection.sendall(f"{template.method} {template.path} HTTP/1.1\r\n{lines}\r\n".encode() + body)
        return connection

    def stream(self, text: str) -> Stream:
        """One stream to its end. The reading is decoded afterwards, so that decoding takes no time from the server."""
        began = perf_counter()
        first = 0.0
        received = bytearray()
        with self.connect(self.send(text, stream=True)) as connection:
            while not received.endswith(b"\r\n0\r\n\r\n"):
                piece = connection.recv(1 << 18)
                if not piece:
                    raise RuntimeError("The stream was cut off.")
                received += piece
                if not first and b"data:" in received:
                    first = perf_counter() - began
        total = perf_counter() - began
        return Stream(first, total, self._events(bytes(received)))

    def _events(self, received: bytes) -> list[Any]:
        head, _, rest = received.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode())
        body = bytearray()
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            length = int(size, 16)
            body += rest[:length]
            rest = rest[length + 2 :]
        data = [line[5:] for line in body.decode().splitlines() if line.startswith("data:")]
        events = [json.loads(line) for line in data]
        return [event["result"] for event in events] if self.binding == "JSONRPC" else events


def text_of(events: list[Any]) -> str:
    """The text of the artifacts that a stream built, by the rules of append."""
    texts: dict[str, str] = {}
    for event in events:
        for artifact in event.get("task", {}).get("artifacts", ()):
            texts[artifact["artifactId"]] = _joined(artifact)
        if "artifactUpdate" in event:
            update = event["artifactUpdate"]
            name = update["artifact"]["artifactId"]
            before = texts.get(name, "") if update.get("append") else ""
            texts[name] = before + _joined(update["artifact"])
    return "".join(texts.values())


def _joined(artifact: Any) -> str:
    return "".join(part.get("text", "") for part in artifact["parts"])
