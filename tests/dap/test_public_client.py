"""The client library that VS Code's debug adapters are tested with drives a session, where it is installed:
`npm install --prefix tests/dap`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from threading import Thread

import pytest

from dap.test_session import PROGRAM
from whence.dap.serving import Server

HERE = Path(__file__).parent
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="needs Node.js")
@pytest.mark.skipif(not (HERE / "node_modules").exists(), reason="needs npm install --prefix tests/dap")
def test_the_client_of_vs_code_drives_a_session(tmp_path: Path) -> None:
    (tmp_path / "edge.facts").write_text("1\t2\n2\t3\n3\t1\n3\t4\n")
    program = tmp_path / "program.dl"
    program.write_text(PROGRAM)
    with Server(0) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        command = [str(NODE), str(HERE / "session.js"), str(server.port), str(program)]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
        server.shutdown()
    assert ran.returncode == 0, ran.stderr + ran.stdout
