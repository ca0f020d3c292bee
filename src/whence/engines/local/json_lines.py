"""JSON lines: a tuple is an object with the relation's columns by name, `{"x": 1, "y": 2}`, or an array in their order.

Records are arrays or objects of their fields, null for nil, or the text that Soufflé's files have.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from whence.lang.program import Relation, Type

from .fitting import sieve_columns
from .sieve import Misfit, Sieved


def sieve_json(lines: Sequence[bytes], relation: Relation, types: Mapping[str, Type]) -> Sieved:
    """Lines without the newline at their end; empty ones do not count."""
    names = [column.name for column in relation.columns]
    tuples: list[Sequence[Any]] = []
    places: list[int] = []  # of each tuple, its line
    misfits: list[Misfit] = []
    for row, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            tuples.append(_values(json.loads(line), names, relation))
            places.append(row)
        except _Wrong as error:
            misfits.append(Misfit(row, 1, *error.args))
        except json.JSONDecodeError as error:
            misfits.append(Misfit(row, error.colno, f"this line is not JSON: {error.msg}", f"write {_form(names)}"))
        except UnicodeDecodeError:
            misfits.append(Misfit(row, 1, "this line has bytes that are not UTF-8", "save the file as UTF-8"))
        except (RecursionError, ValueError):
            misfits.append(Misfit(row, 1, "this line is too deep or has too long a number", f"write {_form(names)}"))
    columns = [[row[i] for row in tuples] for i in range(relation.arity)]
    sieved = sieve_columns(relation, types, columns, len(tuples))
    misfits += (misfit._replace(row=places[misfit.row], column=1) for misfit in sieved.misfits)
    return Sieved(sieved.columns, sieved.count, sorted(misfits))


class _Wrong(Exception):
    """A message and a hint."""


def _values(found: Any, names: Sequence[str], relation: Relation) -> Sequence[Any]:
    if isinstance(found, dict):
        missing = [name for name in names if name not in found]
        if missing:
            raise _Wrong(f"{relation.name} needs the column {missing[0]}, which this line has not", _form(names))
        return [found[name] for name in names]
    if isinstance(found, list):
        if len(found) != len(names):
            needed = f"{len(names)} column" + "s" * (len(names) != 1)
            raise _Wrong(f"{relation.name} needs {needed}, but this line has {len(found)}", f"write {_form(names)}")
        return found
    raise _Wrong("this line is neither an object nor an array", f"write {_form(names)}")


def _form(names: Sequence[str]) -> str:
    return "{" + ", ".join(f'"{name}": …' for name in names) + "}"
