"""What Spark and Java say when they fail, as the one sentence that matters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from whence.engines.local.reading import FactsError

MISSING_FILE = "PATH_NOT_FOUND"
MISSING_TABLE = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND")
DEPTH = 20  # of causes that are followed
_SECRET = re.compile(r"(password|pwd|secret|token)=[^;&\s]*", re.IGNORECASE)
_CLASS = re.compile(r"^(\[[A-Z_0-9.]+\] |[a-z]\w*(\.\w+)+(Exception|Error): )+")
_STATE = re.compile(r"\s*SQLSTATE: \w+;?$")


@contextmanager
def explained(source: str, what: str, missing: str = "", hint: str = "") -> Iterator[None]:
    """Failures of Spark become a `FactsError` about `source`: `what` and the reason, or `missing` if it is absent."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        condition = error.getCondition() if isinstance(error, PySparkException) else ""
        if missing and condition in (MISSING_FILE, *MISSING_TABLE):
            raise FactsError(source, 0, 0, missing, hint) from None
        raise FactsError(source, 0, 0, f"{what}: {reason_of(error)}") from None


def reason_of(error: BaseException) -> str:
    """The message of the first cause, without class names and stacks."""
    messages = [str(error.java_exception.toString())] if isinstance(error, Py4JJavaError) else [str(error)]
    cause: Any = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    for _ in range(DEPTH):
        if cause is None:
            break
        messages.append(cause.getMessage() or cause.getClass().getSimpleName())
        cause = cause.getCause()
    text = messages[-1].strip()
    if "Traceback (most recent call last)" in text:  # of a task; its last line says what happened
        return without_secrets(text.splitlines()[-1])
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [type(error).__name__]
    return without_secrets(_STATE.sub("", _CLASS.sub("", lines[0]))).rstrip(".")


def without_secrets(text: str) -> str:
    return _SECRET.sub(r"\1=…", text)
