"""Whole sessions of an editor over a socket, and messages that are none."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import whence
from dap.client import Client, framed
from whence.dap.messages import Closed, Malformed, read
from whence.dap.serving import Server, serve

PROGRAM = """\
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, y) :- edge(x, z),
    path(z, y).
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "edge.facts").write_text("1\t2\n2\t3\n3\t1\n3\t4\n")
    (tmp_path / "program.dl").write_text(PROGRAM)
    return tmp_path / "program.dl"


@pytest.fixture
def client() -> Iterator[Client]:
    with Server(0) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        with Client(server.port) as connected:
            yield connected
        server.shutdown()


def test_a_session(client: Client, program: Path) -> None:
    capabilities = client.request("initialize", adapterID="whence")
    assert capabilities["supportsStepBack"]
    client.request("launch", program=str(program), query="path(1, Y)")
    client.event("initialized")
    source = {"path": str(program)}
    (made,) = client.request("setBreakpoints", source=source, breakpoints=[{"line": 7, "condition": "z = 3"}])[
        "breakpoints"
    ]
    assert (made["verified"], made["line"]) == (True, 7)
    client.request("setFunctionBreakpoints", breakpoints=[])
    client.request("configurationDone")
    assert client.event("stopped")["reason"] == "entry"
    assert client.request("threads")["threads"] == [{"id": 1, "name": "path(1, Y)"}]
    assert client.stack() == [("path(1, Y)", 5)]
    # Over an atom, into a call.
    client.request("next", threadId=1)
    assert client.event("stopped")["description"] == "step: A-EDB, R-Merge, R-Result, Q-Union"
    assert client.stack() == [("path(1, Y)", 6)]
    client.request("next", threadId=1)
    client.event("stopped")
    client.request("stepIn", threadId=1)
    client.event("stopped")
    assert client.stack() == [("path(2, y)", 5), ("path(1, Y)", 7)]
    assert client.values(client.scope("Arguments")["variablesReference"]) == [("x", "2")]
    assert client.values(client.scope("Bindings", 2)["variablesReference"]) == [("x", "1"), ("z", "2")]
    assert client.values(client.scope("Result so far", 2)["variablesReference"]) == [("x", "1"), ("y", "2")]
    # To the breakpoint, whose condition holds for z = 3.
    client.request("continue", threadId=1)
    stopped = client.event("stopped")
    assert (stopped["reason"], stopped["hitBreakpointIds"]) == ("breakpoint", [made["id"]])
    assert client.stack() == [("path(2, y)", 7), ("path(1, Y)", 7)]
    found = client.request("evaluate", expression="edge(z, W)", frameId=1, context="watch")
    assert (found["result"], found["indexedVariables"]) == ("2 rows: 3, 4 | 3, 1", 2)
    assert client.request("evaluate", expression="z", frameId=1, context="hover")["result"] == "z = 3"
    # Back, one reduction at a time, and on.
    client.request("stepBack", threadId=1, granularity="instruction")
    client.event("stopped")
    scopes = client.request("scopes", frameId=1)["scopes"]
    assert [scope["name"] for scope in scopes] == [
        "Bindings", "Given by edge(x, z)", "Arguments", "Result so far", "Derived so far",
    ]  # fmt: skip
    client.request("stepIn", threadId=1, granularity="instruction")
    client.event("stopped")
    client.request("stepOut", threadId=1)
    assert client.event("stopped")["reason"] == "breakpoint"  # the next iteration comes there again
    client.request("reverseContinue", threadId=1)
    client.event("stopped")
    # Without breakpoints the call is left, and then the query.
    client.request("setBreakpoints", source=source, breakpoints=[])
    client.request("stepOut", threadId=1)
    client.event("stopped")
    assert client.stack()[0] == ("path(1, Y)", 7)
    client.request("continue", threadId=1)
    answer = client.event("output")["output"]
    assert answer.splitlines()[:2] == ["path(1, Y): 4 in all", "Y"]
    assert sorted(answer.splitlines()[2:]) == ["1", "2", "3", "4"]
    client.event("terminated")
    client.request("restart")
    assert client.event("stopped")["reason"] == "entry"
    client.request("disconnect")


def test_breakpoints_on_relations_with_counts(client: Client, program: Path) -> None:
    client.launch(program=str(program), query="path(1, Y)", stopOnEntry=False)
    made = client.request(
        "setFunctionBreakpoints",
        breakpoints=[{"name": "path", "hitCondition": "3"}, {"name": "path/2", "condition": "x = 3"}, {"name": "way"}],
    )["breakpoints"]
    assert [one["verified"] for one in made] == [True, True, False]
    assert "no relation 'way'" in made[2]["message"]
    client.request("configurationDone")
    assert client.event("stopped")["hitBreakpointIds"] == [made[0]["id"]]
    assert client.stack()[0] == ("path(3, y)", 5)
    client.request("continue", threadId=1)
    assert client.event("stopped")["hitBreakpointIds"] == [made[1]["id"]]
    assert client.stack()[0] == ("path(3, y)", 6)


def test_breakpoints_that_cannot_be(client: Client, program: Path) -> None:
    client.launch(program=str(program), query="path(1, Y)")
    source = {"path": str(program)}
    wanted = [
        {"line": 99},
        {"line": 5, "condition": "x >"},
        {"line": 5, "hitCondition": "often"},
        {"line": 6, "column": 15},
    ]
    made = client.request("setBreakpoints", source=source, breakpoints=wanted)["breakpoints"]
    assert [one["verified"] for one in made] == [False, False, False, True]
    other = client.request("setBreakpoints", source={"path": "/other.dl"}, breakpoints=[{"line": 1}])["breakpoints"]
    assert [one["verified"] for one in other] == [False]


def test_large_tables_come_in_pages(client: Client, tmp_path: Path) -> None:
    (tmp_path / "n.facts").write_text("".join(f"{n}\tn{n}\n" for n in range(5000)))
    (tmp_path / "p.dl").write_text(
        ".decl n(x: number, t: symbol)\n.input n\n.decl p(x: number, t: symbol)\np(x, t) :- n(x, t), x > 9.\n"
    )
    client.launch(program=str(tmp_path / "p.dl"), query="p(X, T)", facts=str(tmp_path))
    client.request("configurationDone")
    client.event("stopped")
    client.request("next", threadId=1)
    client.event("stopped")
    scope = client.scope("Bindings")
    assert scope["indexedVariables"] == 5000
    page = client.values(scope["variablesReference"], filter="indexed", start=4000, count=2)
    assert page == [("[4000]", 'x = 4000, t = "n4000"'), ("[4001]", 'x = 4001, t = "n4001"')]
    assert client.refused("variables", variablesReference=4711)


def test_a_state_is_debugged_and_why_is_asked(client: Client, program: Path, tmp_path: Path) -> None:
    session = whence.open(program)
    session.read_inputs(tmp_path)
    session.run()
    session.save(tmp_path / "state")
    client.launch(state=str(tmp_path / "state"), why="path(1, 4)")
    client.request("configurationDone")
    client.event("stopped")
    assert client.stack() == [("path(1, 4)", 5)]
    client.request("terminate")
    client.event("terminated")
    assert "launch" in client.refused("next", threadId=1)


def test_a_query_that_is_a_body_has_its_own_source(client: Client, program: Path) -> None:
    client.launch(program=str(program), query="path(1, Y), Y > 2")
    client.request("configurationDone")
    client.event("stopped")
    (frame,) = client.request("stackTrace", threadId=1)["stackFrames"]
    assert (frame["name"], frame["line"]) == ("the query", 1)
    assert (
        client.request("source", sourceReference=frame["source"]["sourceReference"])["content"] == "path(1, Y), Y > 2"
    )


def test_a_pause_is_heard(client: Client, tmp_path: Path) -> None:
    (tmp_path / "edge.facts").write_text("".join(f"{n}\t{n + 1}\n" for n in range(300)) + "300\t0\n")
    (tmp_path / "program.dl").write_text(PROGRAM)
    client.launch(program=str(tmp_path / "program.dl"), query="path(0, Y)")
    client.request("setFunctionBreakpoints", breakpoints=[{"name": "path", "condition": "x = 99999"}])
    client.request("configurationDone")
    client.event("stopped")
    client.request("continue", threadId=1)
    client.request("pause", threadId=1)
    assert client.event("stopped")["reason"] == "pause"
    client.request("disconnect")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "`program`"),
        ({"program": "nowhere.dl", "query": "p(X)"}, "nowhere.dl"),
        ({"state": "nowhere"}, "nowhere"),
        ({"program": True}, "arguments of 'launch'"),
    ],
)
def test_launches_that_fail(client: Client, arguments: dict[str, Any], said: str) -> None:
    client.request("initialize", adapterID="whence")
    assert said in client.refused("launch", **arguments)
    assert "launch" in client.refused("configurationDone")


def test_a_query_that_is_wrong(client: Client, program: Path) -> None:
    assert "`query`" in client.refused("launch", program=str(program))
    assert "unknown relation `pth`" in client.refused("launch", program=str(program), query="pth(1, Y)")
    client.launch(program=str(program), query="path(1, Y)")


MALFORMED = [
    framed(b"{not json"),
    framed(b"[1, 2]"),
    framed(b'"next"'),
    framed(b'{"seq": 1}'),
    framed(b'{"seq": 1, "type": "response", "command": "next"}'),
    framed(b'{"seq": "one", "type": "request", "command": "next"}'),
    framed(b'{"seq": 1, "type": "request", "command": 7}'),
    framed(b'{"seq": 1, "type": "request", "command": "next", "arguments": [1]}'),
    framed(b"\xff\xfe"),
    framed(b"[" * 100_000),
    b"Content-Length: many\r\n\r\n",
    b"Content-Length: -5\r\n\r\n",
    b"Content-Length: 99999999999999\r\n\r\n",
    b"Content-Type: json\r\n\r\n",
    b"hello\r\n\r\n",
]


@pytest.mark.parametrize("content", MALFORMED)
def test_a_malformed_message_gets_an_error_response_and_the_server_lives_on(
    client: Client, program: Path, content: bytes
) -> None:
    client.send_bytes(content)
    answer = client.read()
    assert (answer["type"], answer["success"]) == ("response", False)
    assert answer["message"]
    client.launch(program=str(program), query="path(1, Y)")
    client.request("configurationDone")
    client.event("stopped")
    client.send_bytes(content)
    assert not client.read()["success"]
    assert client.stack() == [("path(1, Y)", 5)]


def test_requests_that_make_no_sense(client: Client, program: Path) -> None:
    assert "not supported" in client.refused("disassemble")
    assert "not supported" in client.refused("__init__")
    client.launch(program=str(program), query="path(1, Y)")
    for command in ("scopes", "variables", "evaluate", "setBreakpoints", "setFunctionBreakpoints"):
        assert f"arguments of '{command}'" in client.refused(command)
    assert client.refused("scopes", frameId=99)
    assert "not bound" in client.refused("evaluate", expression="Q > 3")
    client.request("configurationDone")
    client.event("stopped")
    client.request("continue", threadId=1)
    client.event("terminated")
    assert "done" in client.refused("next", threadId=1)


def test_what_is_left_out_of_a_message_ends_it() -> None:
    with pytest.raises(Closed):
        read(io.BytesIO(b"Content-Length: 10\r\n\r\n{}"))
    with pytest.raises(Malformed):
        read(io.BytesIO(b"Content-Length: 2\r\nnonsense\r\n\r\n{}"))


def test_standard_input_and_output(program: Path) -> None:
    """As an editor starts it; what the program prints must not get among the messages."""
    requests = [
        ("initialize", {"adapterID": "whence"}),
        ("launch", {"program": str(program), "query": "path(1, Y)"}),
        ("configurationDone", {}),
        ("continue", {"threadId": 1}),
        ("disconnect", {}),
    ]
    sent = b"".join(
        framed(json.dumps({"seq": i, "type": "request", "command": name, "arguments": arguments}).encode())
        for i, (name, arguments) in enumerate(requests, 1)
    )
    command = [sys.executable, "-m", "whence.cli", "debug", "--dap"]
    ran = subprocess.run(command, input=sent, capture_output=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    parts = ran.stdout.replace(b"\r\n", b"").split(b"Content-Length: ")[1:]
    shown = [json.loads(part.lstrip(b"0123456789")) for part in parts]
    assert [one.get("event") or one["command"] for one in shown] == [
        "initialize", "launch", "initialized", "configurationDone", "stopped",
        "continue", "output", "terminated", "disconnect",
    ]  # fmt: skip
    assert [one["seq"] for one in shown] == list(range(1, len(shown) + 1))


def test_an_end_of_input_ends_the_server() -> None:
    assert serve(io.BytesIO(b""), io.BytesIO()) == 0
