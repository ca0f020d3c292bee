"""The Spark session: found if there is one, else started with what suits the machine.

Whatever the user has set, by `--master`, `--conf`, `spark-submit`, a configuration folder or a session of their own,
stays.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING

from whence.errors import WhenceError

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

HEAP_SHARE = 0.35  # of the machine's memory, for Spark's own process; the kernel runs beside it
JAVA = 17
# A part of a join is split if it is larger than the first and than so many times the usual, into parts of the last.
SKEW = {
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "64m",
    "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "3",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "32m",
}


@dataclass(frozen=True)
class Setting:
    """What is asked of the session; None leaves it to Spark's configuration, else to the machine."""

    master: str | None = None
    ui: bool = False
    conf: Mapping[str, str] = field(default_factory=dict)


def start(setting: Setting) -> SparkSession:
    """The session that is running, or a new one."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:
        return SparkSession.builder.getOrCreate()
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # not by spark-submit, which has a Java already
        check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    conf = SparkConf()
    if setting.master or not conf.contains("spark.master"):
        conf.setMaster(setting.master or "local[*]")
    for key, value in defaults(conf, setting).items():
        conf.setIfMissing(key, value)
    conf.setAll(list(setting.conf.items()))
    log = tempfile.TemporaryFile("w+")  # noqa: SIM115 (Spark's process has it open as long as it lives)
    try:
        # Spark's process says much when it starts that nobody asked for; what matters comes as an exception.
        gateway = launch_gateway(conf, {"stderr": log})  # type: ignore[no-untyped-call]
        return SparkSession(SparkContext(conf=conf, gateway=gateway))
    except Exception as error:
        log.seek(0)
        reasons = [line.strip() for text in (str(error), log.read()) for line in text.splitlines() if line.strip()]
        raise WhenceError(f"Spark did not start: {' '.join(reasons[:2])[:300]}") from error


def defaults(conf: SparkConf, setting: Setting) -> dict[str, str]:
    """What is set unless the user has set it."""
    chosen = {
        "spark.app.name": "whence",
        "spark.ui.enabled": str(setting.ui).lower(),
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": f"{heap_megabytes()}m",
        "spark.driver.maxResultSize": "0",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.log.level": "ERROR",
    }
    if conf.get("spark.master", "").startswith("local"):
        chosen |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return chosen


def engine_session(session: SparkSession, adaptive: bool = False) -> SparkSession:
    """A session of our own, so that what we set does not touch the user's. Adaptive, Spark looks at what a join has
    moved before it goes on, and splits parts that are much larger than others; that costs time, and most joins move
    little."""
    own = session.newSession()
    given = session.sparkContext.getConf()
    for key, value in SKEW.items():
        own.conf.set(key, given.get(key) or value)
    own.conf.set("spark.sql.adaptive.enabled", str(adaptive).lower())
    own.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")  # parts must fit those that are there
    own.conf.set("spark.sql.adaptive.autoBroadcastJoinThreshold", "-1")
    own.conf.set("spark.sql.ansi.enabled", "false")
    own.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    # It takes long, and where a frame is in a union twice, its checkpoint fails: "key not found: c0".
    own.conf.set("spark.sql.constraintPropagation.enabled", "false")
    return own


class Cluster:
    """A Spark session that is at hand, or is started in the background: Spark is imported at once, its process waits
    for `go`, so that nothing is started for a program that is wrong."""

    def __init__(self, session: SparkSession | None, setting: Setting) -> None:
        self._setting = setting
        self._own = session is None
        self._session = session
        self._imported = Event()
        self._go = Event()
        self._wanted = True
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, daemon=True)
        if self._own:
            self._thread.start()
        else:
            self._imported.set()

    def imported(self) -> None:
        """Waits until Spark is imported: two threads must not do that at once."""
        self._imported.wait()

    def _run(self) -> None:
        try:
            try:
                import whence.engines.spark.engine  # noqa: F401 (and with it all of Spark that is used)
            finally:
                self._imported.set()
            from pyspark import SparkContext

            self._own = SparkContext._active_spark_context is None
            self._go.wait()
            if self._wanted:
                self._session = start(self._setting)
            if self._session is not None and not self._wanted and self._own:
                self._session.stop()  # nobody waited for it
        except BaseException as error:
            self._error = error

    def go(self) -> None:
        self._go.set()

    def session(self) -> SparkSession:
        """Waits until it is there."""
        if self._session is None:
            self._go.set()
            self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._session is not None
        return self._session

    def stop(self) -> None:
        """Stops a session that was started here; one that is still starting stops itself, or ends with the process."""
        self._wanted = False
        self._go.set()
        if self._own and self._session is not None and not self._thread.is_alive():
            self._session.stop()


@contextmanager
def prepared(session: SparkSession | None, setting: Setting) -> Iterator[Cluster]:
    """A cluster that is started when the block has ended well, and not at all if it has not."""
    cluster = Cluster(session, setting)
    try:
        yield cluster
        cluster.go()
    except BaseException:
        cluster.stop()
        raise


def heap_megabytes() -> int:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    return max(1024, int(memory * HEAP_SHARE))


def check_java() -> None:
    """Java of the right version, or one sentence that says what to install."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    advice = (
        f"install Java {JAVA} or later (Debian: apt-get install openjdk-{JAVA}-jre-headless), or use --engine local"
    )
    if java is None or not os.path.exists(java):
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no java on the PATH"
        raise WhenceError(f"Spark needs Java, and {where}: {advice}")
    told = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
    version = told.partition('"')[2].partition('"')[0]
    major = version.removeprefix("1.").split(".")[0].split("-")[0]
    if major.isdigit() and int(major) < JAVA:
        raise WhenceError(f"Spark needs Java {JAVA} or later, and {java} is version {version}: {advice}")
