"""What Spark reports when a task fails, as the sentence that the task meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from whence.engines.local.execute import EvaluationError
from whence.errors import WhenceError
from whence.tables import Lost

SAID_BY_A_TASK = re.compile(r"whence\.[\w.]*EvaluationError: (.*)")
RAISED_BY_A_TASK = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt): .+$", re.MULTILINE)
GONE = ("CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND", "Checkpoint block")
NO_MEMORY = ("OutOfMemoryError", "Java heap space", "MemoryError")


@contextmanager
def told() -> Iterator[None]:
    """Around whatever runs a Spark job."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = str(error)
        said = SAID_BY_A_TASK.search(text)
        if said:
            raise EvaluationError(said.group(1).strip()) from None
        if any(sign in text for sign in GONE):
            raise Lost from error
        if any(sign in text for sign in NO_MEMORY):
            raise WhenceError(
                "Spark ran out of memory; give it more with --conf spark.driver.memory=… (or spark.executor.memory), "
                "or more partitions with --partitions"
            ) from None
        reason = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
        raised = RAISED_BY_A_TASK.findall(text)
        if raised and "Python worker" in text:
            reason = f"a task failed with {raised[-1].strip()}"
            if "ModuleNotFoundError" in reason:
                reason += "; set PYSPARK_PYTHON to a Python that has Whence installed"
        raise WhenceError(f"Spark could not go on: {reason[:300]}") from error
