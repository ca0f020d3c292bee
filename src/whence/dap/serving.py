"""The server: a thread reads requests, so that a pause is heard while the debugger runs; another does them in order."""

from __future__ import annotations

import socketserver
import sys
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, BinaryIO

from whence.dap.adapter import Adapter
from whence.dap.messages import Closed, Malformed, Sender, read
from whence.errors import WhenceError

INTERRUPTING = ("pause", "terminate", "disconnect")


def serve(source: BinaryIO, sink: BinaryIO) -> int:
    """One client, until it disconnects."""
    sender = Sender(sink)
    pausing = Event()
    adapter = Adapter(sender, pausing.is_set)
    waiting: SimpleQueue[dict[str, Any] | None] = SimpleQueue()

    def work() -> None:
        while not adapter.closed and (request := waiting.get()) is not None:
            if request["command"] not in INTERRUPTING:
                pausing.clear()
            adapter.handle(request)

    worker = Thread(target=work, daemon=True)
    worker.start()
    while not adapter.closed:
        try:
            request = read(source)
        except Malformed as error:
            sender.refuse(error.answers, error.command, f"malformed message: {error}")
            continue
        except (Closed, OSError, ValueError):
            break
        command = request["command"]
        if command in INTERRUPTING:
            pausing.set()
        if command == "pause":
            sender.respond(request)
        else:
            waiting.put(request)
        if command == "disconnect":
            break
    waiting.put(None)
    worker.join()
    return 0


class _Connection(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        serve(self.rfile, self.wfile)  # type: ignore[arg-type]


class Server(socketserver.ThreadingTCPServer):
    """Listens on this machine only."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int) -> None:
        try:
            super().__init__(("127.0.0.1", port), _Connection)
        except (OSError, OverflowError) as error:
            reason = error.strerror if isinstance(error, OSError) else "a port is at most 65535"
            raise WhenceError(f"cannot listen on port {port}: {reason}; choose another, or 0 for any") from None

    @property
    def port(self) -> int:
        return int(self.server_address[1])


def serve_on(port: int) -> int:
    """Any number of clients, one after the other or at once, until it is interrupted."""
    with Server(port) as server:
        print(f"listening on 127.0.0.1:{server.port}", file=sys.stderr, flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print(file=sys.stderr)
    return 0
