"""On real clusters of several processes: an executor is killed in the middle, and the result is right; a master with
two workers serves as well."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

# In a process of its own, because a process has one Spark.
SCRIPT = """
import os, signal, subprocess, sys
import whence
from whence.engines.spark.cluster import Setting
from whence.engines.spark.options import Options

NODES = 10
TEXT = '''
.decl edge(x: symbol, y: symbol)
.decl path(x: symbol, y: symbol)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
'''


class Killing:
    killed = 0

    def stratum(self, *_): pass

    def placed(self, place, reason): print(place)

    def iteration(self, iteration, new):
        if iteration == 5 and not self.killed:
            found = subprocess.run(["pgrep", "-f", "CoarseGrainedExecutorBackend.*" + application], capture_output=True)
            self.killed = int(found.stdout.split()[0])
            os.kill(self.killed, signal.SIGKILL)


setting = Setting(master="local-cluster[2,1,1024]")
options = Options(setting, placement=sys.argv[1], tail_rows=int(sys.argv[2]))
with whence.open(text=TEXT, engine="spark", options=options) as session:
    application = session.engine.cluster.session().sparkContext.applicationId
    session.load(edge=[(f"n{i}", f"n{i + 1}") for i in range(NODES)])
    killing = Killing()
    session.run(killing)
    if sys.argv[1] == "decomposed":  # one job: kill when it is done, and what was cached is computed again
        killing.iteration(5, 0)
    assert killing.killed
    found = {row: (iteration, count) for row, iteration, count in session["path"].tuples(annotated=True)}
wanted = {(f"n{i}", f"n{j}"): (j - i, 1) for i in range(NODES) for j in range(i + 1, NODES + 1)}
assert found == wanted, (len(found), len(wanted))
print("right")
"""


@pytest.mark.parametrize(
    ("place", "tail_rows"),
    [
        pytest.param("decomposed", 0, marks=pytest.mark.slow),
        ("exchanged", 0),
        pytest.param("exchanged", 1, marks=pytest.mark.slow),  # 20 tuples are in the driver's process, then on Spark
    ],
)
def test_a_lost_executor_changes_nothing(place: str, tail_rows: int, tmp_path: Path) -> None:
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"}
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, place, str(tail_rows)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.stdout.split()[-1:] == ["right"], ran.stdout + ran.stderr


STANDALONE = """
import sys
import whence
from whence.engines.spark.cluster import Setting
from whence.engines.spark.options import Options

NODES = 8
TEXT = '''
.decl edge(x: symbol, y: symbol)
.decl path(x: symbol, y: symbol)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
'''
loopback = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
memory = {"spark.executor.memory": "700m", "spark.driver.memory": "700m"}
options = Options(Setting(master=sys.argv[2], conf={**loopback, **memory}), placement=sys.argv[1], tail_rows=0)
with whence.open(text=TEXT, engine="spark", options=options) as session:
    session.load(edge=[(f"n{i}", f"n{i + 1}") for i in range(NODES)])
    session.run()
    found = {row: (iteration, count) for row, iteration, count in session["path"].tuples(annotated=True)}
    holders = session.engine.cluster.session().sparkContext._jsc.sc().getExecutorMemoryStatus().size()
wanted = {(f"n{i}", f"n{j}"): (j - i, 1) for i in range(NODES) for j in range(i + 1, NODES + 1)}
assert found == wanted, (len(found), len(wanted))
assert holders == 3, holders  # the driver and two executors
print("right")
"""


@contextmanager
def standalone(folder: Path) -> Iterator[str]:
    """A master and two workers of one core each; its URL."""
    home = Path(pyspark.__file__).parent
    environment = os.environ | {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(home),
        "SPARK_WORKER_DIR": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    worker = [
        f"{deploy}.worker.Worker",
        "--host",
        "127.0.0.1",
        "--webui-port",
        "0",
        "--cores",
        "1",
        "--memory",
        "1g",
        url,
    ]
    master = [f"{deploy}.master.Master", "--host", "127.0.0.1", "--webui-port", "0", "--port", str(port)]
    with (folder / "log").open("w") as log:
        running = [
            subprocess.Popen([home / "bin" / "spark-class", *what], env=environment, stdout=log, stderr=log)
            for what in (master, worker, worker)
        ]
        try:
            for _ in range(300):  # workers try again until the master listens
                if (folder / "log").read_text().count("Successfully registered with master") == 2:
                    break
                time.sleep(0.2)
            yield url
        finally:
            for process in running:
                process.terminate()
            for process in running:
                process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["decomposed", "exchanged"])
def test_a_master_with_two_workers(place: str, tmp_path: Path) -> None:
    with standalone(tmp_path) as url:
        ran = subprocess.run(
            [sys.executable, "-c", STANDALONE, place, url],
            cwd=tmp_path,
            env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert ran.stdout.split()[-1:] == ["right"], ran.stdout + ran.stderr
