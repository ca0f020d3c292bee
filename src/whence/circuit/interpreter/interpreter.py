"""The dynamic interpreter: Datalog evaluation as one circuit over streams of facts and of rules (paper, fig. 3).

    ΔΠ ─ jorder ─ δ ─────────────────────────── index ─┐      ΔE ─ δ₀ ─ + ─ distinct ─┬─ ∫ ─ ΔE′
       ├ dir ─── δ ─ gatekeep ── product ─ distinct ─┬─┼── ground ──────┘             │
       └ sig ─── δ ─────┼──────────┼─────────────────┼─┘                              │
    ΔΣ ─────── δ₀ ─ + ──┘          └───── index ─────┼───────── z⁻¹ ──────────────────┘
                    └──────────────────── z⁻¹ ───────┘

A rule of a higher stratum begins to hold at a later tick of the loop: its directions and its signal are introduced
there. By then what lower strata derive does not change any more, so a negated atom finds its relation complete. Folds,
which are not drawn above, read what index gives, like product, and add to the facts, like ground.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from whence.circuit.circuit import Circuit, Stream
from whence.circuit.zset import Flags, ZSet
from whence.engines.local.table import Rows

from .bundle import Bundle
from .folding import Folding
from .index import Index
from .kit import Kit, Numbers
from .lowering import Fold, Part
from .parts import DistinctParts, Introduce
from .prefixes import EMPTY
from .product import Product
from .rewriting import Gatekeep, Ground
from .terms import Encoding


class Interpreter:
    """`step` takes changes of the program and of the facts, and gives how all relations change.

    `indexed=False` leaves the index operator's orders out: each rewrite is tried with every fact of the relation.
    """

    def __init__(self, encoding: Encoding, indexed: bool = True) -> None:
        self.kit = Kit()
        self.relations: Numbers[str] = Numbers()
        self.folds: Numbers[tuple[Fold, int]] = Numbers()
        self.circuit = self._circuit(encoding, indexed)

    def step(self, program: Mapping[tuple[Part, int], int], facts: Mapping[str, ZSet]) -> dict[str, ZSet]:
        """`program` has the weights of rules and folds, each with its stratum; `facts` are changes by relation."""
        rules = {(part, begin): weight for (part, begin), weight in program.items() if not isinstance(part, Fold)}
        folds = {
            (self.folds.of((part, begin)),): weight
            for (part, begin), weight in program.items()
            if isinstance(part, Fold)
        }
        given = Bundle({self.relations.of(name): part for name, part in facts.items()})
        first = Bundle({EMPTY: ZSet.of([()], arity=0)}) if self.circuit.now < 0 else Bundle()
        outputs = self.circuit.step(ΔΠ=self.kit.program(rules), ΔF=ZSet.of(folds, arity=1), ΔE=given, ΔΣ=first)
        return {self.relations[number]: part for number, part in outputs["ΔE′"]}

    def present(self, relation: str, arity: int) -> Rows:
        """The tuples of a relation that there are now."""
        distinct = self.facts.parts.get(self.relations.of(relation))
        return distinct.present() if distinct is not None else np.empty((0, arity), np.int64)

    def has(self, relation: str, rows: Rows) -> Flags:
        """Which rows are tuples of a relation now."""
        distinct = self.facts.parts.get(self.relations.of(relation))
        return distinct.has(rows) if distinct is not None else np.zeros(len(rows), np.bool_)

    def forget(self, relation: str) -> None:
        """Gives up a relation that no rule and no fact has any more; it may come again with other columns."""
        self.facts.parts.pop(self.relations.of(relation), None)
        self.index.facts.pop(relation, None)

    def nbytes(self, relation: str) -> int:
        """What the facts of a relation take, with their indexes."""
        distinct, trace = self.facts.parts.get(self.relations.of(relation)), self.index.facts.get(relation)
        return (distinct.nbytes if distinct else 0) + (trace.nbytes if trace else 0)

    def on_tick(self, watch: Callable[[], None]) -> None:
        """Calls `watch` at every tick of the loop; it may raise."""
        self.circuit.loops[0].watch = watch

    def _circuit(self, encoding: Encoding, indexed: bool) -> Circuit:
        circuit, kit, number = Circuit("interpreter"), self.kit, self.relations.of
        program, folds = circuit.input("ΔΠ", arity=1), circuit.input("ΔF", arity=1)
        facts, rewrites = circuit.input("ΔE", zero=Bundle()), circuit.input("ΔΣ", zero=Bundle())
        loop = circuit.loop("materialisation", most_ticks=None)

        def introduced(function: Callable[[ZSet], ZSet], label: str, arity: int) -> Stream:
            stream = program.lift(function, zero=ZSet(arity + 1), label=f"↑{label}")
            return loop.entering("δ", stream, Introduce(arity), ZSet(arity))

        directions = introduced(kit.directions, "dir", 2)
        signals = introduced(kit.signals, "sig", 2)
        orders = program.lift(kit.join_orders, zero=ZSet(1), label="↑jorder").enter(loop)

        known = loop.variable("rewrites", zero=Bundle())
        derived = loop.variable("facts", zero=Bundle())
        distinct = DistinctParts()
        gatekeep = Gatekeep(kit, distinct)
        self.index = index = Index(kit, self.relations.__getitem__)
        self.product = product = Product(kit, gatekeep, index, number, encoding, indexed)
        ground = Ground(kit, distinct, number, encoding)

        begun = rewrites.enter(loop) + known.delay()
        waiting = loop.apply("gatekeep", gatekeep, (begun, directions), Bundle())
        indexed_facts = loop.apply("index", index, (derived.delay(), orders), (Bundle(), Bundle()))
        extended = loop.apply("product", product, (waiting, indexed_facts), Bundle())
        known.define(loop.apply("distinct", distinct, (extended,), Bundle()))
        grounded = loop.apply("ground", ground, (known, signals), Bundle())
        folding = Folding(self.folds, index, number)
        folded = loop.apply("fold", folding, (indexed_facts, folds.enter(loop)), Bundle())
        self.facts = DistinctParts()
        derived.define(loop.apply("distinct", self.facts, (facts.enter(loop) + grounded + folded,), Bundle()))
        circuit.output("ΔE′", derived.leave())
        return circuit
