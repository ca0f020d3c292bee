"""A client of the Debug Adapter Protocol over a socket, as an editor would be: requests, responses, events."""

from __future__ import annotations

import json
import socket
from types import TracebackType
from typing import Any

TIMEOUT = 30


class Client:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT)
        self.stream = self.socket.makefile("rb")
        self.seq = 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    # Requests

    def send(self, command: str, arguments: dict[str, Any] | None = None) -> int:
        self.seq += 1
        message = {"seq": self.seq, "type": "request", "command": command, "arguments": arguments or {}}
        self.send_bytes(framed(json.dumps(message).encode()))
        return self.seq

    def send_bytes(self, content: bytes) -> None:
        self.socket.sendall(content)

    def request(self, command: str, **arguments: Any) -> dict[str, Any]:
        """The body of the response to a request that succeeds."""
        response = self.response(self.send(command, arguments))
        assert response["success"], response
        assert response["command"] == command
        body: dict[str, Any] = response.get("body", {})
        return body

    def refused(self, command: str, **arguments: Any) -> str:
        """Why a request fails."""
        response = self.response(self.send(command, arguments))
        assert not response["success"], response
        assert response["body"]["error"]["format"]
        message: str = response["message"]
        return message

    def response(self, seq: int) -> dict[str, Any]:
        while True:
            message = self.read()
            if message["type"] == "response" and message["request_seq"] == seq:
                return message
            assert message["type"] == "event", message
            self.events.append(message)

    def event(self, name: str) -> dict[str, Any]:
        """The body of the next event of this name."""
        while True:
            for i, event in enumerate(self.events):
                if event["event"] == name:
                    del self.events[: i + 1]
                    body: dict[str, Any] = event["body"]
                    return body
            self.events.append(self.read())

    def read(self) -> dict[str, Any]:
        length = 0
        while line := self.stream.readline().strip():
            name, _, value = line.partition(b":")
            assert name == b"Content-Length"
            length = int(value)
        assert length, "the server closed the connection"
        message: dict[str, Any] = json.loads(self.stream.read(length))
        return message

    # What is often asked

    def launch(self, **arguments: Any) -> None:
        self.request("initialize", adapterID="whence", linesStartAt1=True, columnsStartAt1=True)
        self.request("launch", **arguments)
        self.event("initialized")

    def stack(self) -> list[tuple[str, int]]:
        """The names and lines of the frames."""
        return [(frame["name"], frame["line"]) for frame in self.request("stackTrace", threadId=1)["stackFrames"]]

    def scope(self, name: str, frame: int = 1) -> dict[str, Any]:
        scopes = self.request("scopes", frameId=frame)["scopes"]
        found: dict[str, Any] = next(scope for scope in scopes if scope["name"] == name)
        return found

    def values(self, reference: int, **page: Any) -> list[tuple[str, str]]:
        found = self.request("variables", variablesReference=reference, **page)["variables"]
        return [(one["name"], one["value"]) for one in found]


def framed(content: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(content), content)
