"""On a real cluster of several processes: an executor is killed in the middle, and the result is right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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


options = Options(Setting(master="local-cluster[2,1,1024]"), placement=sys.argv[1])
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


@pytest.mark.parametrize("place", [pytest.param("decomposed", marks=pytest.mark.slow), "exchanged"])
def test_a_lost_executor_changes_nothing(place: str, tmp_path: Path) -> None:
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"}
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, place],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.stdout.split()[-1:] == ["right"], ran.stdout + ran.stderr
