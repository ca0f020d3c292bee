"""Messages of the Debug Adapter Protocol: a header that says how long the JSON after it is."""

from __future__ import annotations

import json
from threading import Lock
from typing import Any, BinaryIO

LONGEST = 1 << 26  # bytes of a message
HEADER = 1 << 12


class Malformed(Exception):
    """What was read is no message; the next one can be read."""

    def __init__(self, reason: str, answers: int = 0, command: str = "") -> None:
        super().__init__(reason)
        self.answers = answers
        self.command = command


class Closed(Exception):
    """Nothing more will come."""


def read(stream: BinaryIO) -> dict[str, Any]:
    """The next request."""
    length = _length(stream)
    body = stream.read(length)
    if len(body) < length:
        raise Closed
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        raise Malformed("the message is not JSON") from None
    if not isinstance(message, dict):
        raise Malformed("a message is a JSON object")
    seq, command = message.get("seq"), message.get("command")
    number = seq if isinstance(seq, int) else 0
    if message.get("type") != "request" or not isinstance(command, str):
        raise Malformed("a request has the type 'request' and a command", number)
    if not isinstance(seq, int):
        raise Malformed("a request has a number, `seq`", 0, command)
    if not isinstance(message.get("arguments", {}), dict | None):
        raise Malformed("`arguments` is a JSON object", number, command)
    return message


def _length(stream: BinaryIO) -> int:
    length: int | None = None
    wrong = ""
    headers = 0
    while True:
        line = stream.readline(HEADER)
        if not line:
            raise Closed
        text = line.strip()
        if not text:
            if length is not None and not wrong:
                return length
            if headers:
                raise Malformed(wrong or "there is no Content-Length before the message")
            continue  # an empty line between messages
        headers += 1
        name, colon, value = text.partition(b":")
        if name.strip().lower() == b"content-length" and colon:
            number = value.strip()
            if not number.isdigit() or int(number) > LONGEST:
                wrong = "Content-Length is the number of bytes of the message"
            else:
                length, wrong = int(number), ""
        elif not colon:
            wrong = "a header is a name, a colon and a value"


class Sender:
    """Numbers messages and writes each as a whole, from whichever thread."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self._lock = Lock()
        self._seq = 0

    def send(self, message: dict[str, Any]) -> None:
        with self._lock:
            self._seq += 1
            body = json.dumps({"seq": self._seq, **message}).encode()
            try:
                self.stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
                self.stream.flush()
            except (OSError, ValueError):  # the client has gone; its reader will say so
                return

    def respond(self, request: dict[str, Any], body: dict[str, Any] | None = None) -> None:
        self.send(_response(request["seq"], request["command"], True) | ({} if body is None else {"body": body}))

    def refuse(self, answers: int, command: str, reason: str) -> None:
        error = {"error": {"id": 1, "format": reason.replace("{", "(").replace("}", ")"), "showUser": True}}
        self.send(_response(answers, command, False) | {"message": reason, "body": error})

    def event(self, name: str, body: dict[str, Any] | None = None) -> None:
        self.send({"type": "event", "event": name, "body": body or {}})


def _response(answers: int, command: str, success: bool) -> dict[str, Any]:
    return {"type": "response", "request_seq": answers, "command": command, "success": success}
