"""Real data: an editing trace and a university, read from the folder that `--data` names.

Halves and doubles are made from it: the first insertions of the trace, copies of the university's individuals.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench.graphs import Facts, Table

# Terms below are the vocabulary: RDF's own, the ontology's classes and properties. Individuals come after.
FIRST_INDIVIDUAL = 199


class Missing(Exception):
    """A file of the data is not there."""


def numbers(path: Path) -> Table:
    if not path.exists():
        raise Missing(f"{path} is missing; name the folder that holds {path.parent.name}/ with --data")
    return np.loadtxt(path, dtype=np.int64, ndmin=2)


def trace(data: Path, insertions: int) -> Facts:
    """The first `insertions` of the editing trace, and the removals of what they insert."""
    inserted = numbers(data / "crdt" / "insert.txt")[:insertions]
    removed = numbers(data / "crdt" / "remove.txt")
    known = np.isin(identity(removed), identity(inserted))
    return {"insert": inserted, "remove": removed[known]}


def identity(table: Table) -> Table:
    """A pair (counter, node) as one number."""
    return table[:, 0] << 20 | table[:, 1]


def universities(data: Path, copies: int) -> Facts:
    """The ontology, and the individuals of one university `copies` times over."""
    individuals = numbers(data / "lubm" / "lubm1abox.ntenc")
    ontology = numbers(data / "lubm" / "lubm1tbox.ntenc")
    step = int(individuals.max())
    moved = [np.where(individuals < FIRST_INDIVIDUAL, individuals, individuals + i * step) for i in range(copies)]
    return {"given": np.unique(np.concatenate([ontology, *moved]), axis=0)}
