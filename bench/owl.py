"""LUBM's ontology as an OWL 2 RL program: a relation for each class and property, a rule for each axiom.

As in the paper (003, eq. 6): `c57(x) :- c133(x)`, `c75(x) :- p158(x, _)`, `c54(x) :- c68(x), c99(x)`. Terms are
numbers, so relations are called by them. Rules are those of OWL 2 RL (cax-sco, prp-spo1, prp-dom, prp-rng, prp-inv,
prp-trp, cls-svf1, cls-int) for the axioms that the ontology has.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.graphs import Facts, Table
from bench.recorded import numbers

SUBCLASS, SUBPROPERTY, DOMAIN, RANGE, TYPE = range(5)
REST, FIRST, NIL, INVERSE, SOME, INTERSECTION, ON = 6, 7, 9, 12, 15, 17, 20
TRANSITIVE, CLASS, RESTRICTION = 11, 33, 35
PROPERTIES = (32, 36, TRANSITIVE)


def owl(data: Path) -> tuple[str, Facts]:
    """The program, and the individuals as facts of its relations."""
    ontology = numbers(data / "lubm" / "lubm1tbox.ntenc")
    individuals = np.unique(numbers(data / "lubm" / "lubm1abox.ntenc"), axis=0)
    typed = individuals[:, 1] == TYPE
    kinds = {term: kind for term, predicate, kind in ontology.tolist() if predicate == TYPE}
    classes = {term for term, kind in kinds.items() if kind in (CLASS, RESTRICTION)}
    classes |= set(individuals[typed, 2].tolist()) | set(
        ontology[ontology[:, 1] == SUBCLASS][:, [0, 2]].ravel().tolist()
    )
    properties = {term for term, kind in kinds.items() if kind in PROPERTIES}
    properties |= set(individuals[~typed, 1].tolist())
    lines = [f".decl c{term}(x: number)\n.input c{term}" for term in sorted(classes)]
    lines += [f".decl p{term}(x: number, y: number)\n.input p{term}" for term in sorted(properties)]
    lines += dict.fromkeys(rules(ontology, classes, properties))
    facts: Facts = {f"c{term}": individuals[typed & (individuals[:, 2] == term)][:, :1] for term in sorted(classes)}
    for term in sorted(properties):
        facts[f"p{term}"] = individuals[~typed & (individuals[:, 1] == term)][:, [0, 2]]
    return "\n".join(lines) + "\n", {name: rows for name, rows in facts.items() if len(rows)}


def rules(ontology: Table, classes: set[int], properties: set[int]) -> Iterator[str]:
    triples = ontology.tolist()

    def value(subject: int, predicate: int) -> int:
        return next(o for s, p, o in triples if s == subject and p == predicate)

    def members(node: int) -> Iterator[int]:
        while node != NIL:
            yield value(node, FIRST)
            node = value(node, REST)

    for s, p, o in triples:
        if p == SUBCLASS:
            yield f"c{o}(x) :- c{s}(x)."
        elif p == SUBPROPERTY:
            yield f"p{o}(x, y) :- p{s}(x, y)."
        elif p == DOMAIN and o in classes and s in properties:
            yield f"c{o}(x) :- p{s}(x, _)."
        elif p == RANGE and o in classes and s in properties:
            yield f"c{o}(y) :- p{s}(_, y)."
        elif p == INVERSE:
            yield f"p{o}(y, x) :- p{s}(x, y)."
            yield f"p{s}(y, x) :- p{o}(x, y)."
        elif p == TYPE and o == TRANSITIVE:
            yield f"p{s}(x, z) :- p{s}(x, y), p{s}(y, z)."
        elif p == SOME:
            yield f"c{s}(x) :- p{value(s, ON)}(x, y), c{o}(y)."
        elif p == INTERSECTION:
            parts = list(members(o))
            body = ", ".join(f"c{part}(x)" for part in parts)
            yield f"c{s}(x) :- {body}."
            yield from (f"c{part}(x) :- c{s}(x)." for part in parts)
