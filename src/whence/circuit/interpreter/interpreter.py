"""The dynamic interpreter: Datalog evaluation as one circuit over streams of facts and of rules (paper, fig. 3).

    ΔΠ ─ jorder ─ δ ─────────────────────────── index ─┐      ΔE ─ δ₀ ─ + ─ distinct ─┬─ ∫ ─ ΔE′
       ├ dir ─── δ ─ gatekeep ── product ─ distinct ─┬─┼── ground ──────┘             │
       └ sig ─── δ ─────┼──────────┼─────────────────┼─┘                              │
    ΔΣ ─────── δ₀ ─ + ──┘          └───── index ─────┼───────── z⁻¹ ──────────────────┘
                    └──────────────────── z⁻¹ ───────┘

A rule of a higher stratum begins to hold at a later tick of the loop: its directions and its signal are introduced
there. By then what lower strata derive does not change any more, so a negated atom finds its relation complete.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from whence.circuit.circuit import Circuit, Stream
from whence.circuit.zset import ZSet
from whence.lang.program import Rule

from .bundle import Bundle
from .kit import Kit, Numbers
from .prefixes import EMPTY
from .rewriting import DistinctParts, Gatekeep, Ground, Index, Introduce, Product
from .terms import Encoding


class Interpreter:
    """`step` takes changes of the program and of the facts, and gives how all relations change.

    `indexed=False` leaves the index operator's orders out: each rewrite is tried with every fact of the relation.
    """

    def __init__(self, encoding: Encoding, indexed: bool = True) -> None:
        self.kit = Kit()
        self.relations: Numbers[str] = Numbers()
        self.circuit = self._circuit(encoding, indexed)

    def step(self, rules: Mapping[tuple[Rule, int], int], facts: Mapping[str, ZSet]) -> dict[str, ZSet]:
        """`rules` are weighted rules with their strata, `facts` changes by relation."""
        given = Bundle({self.relations.of(name): part for name, part in facts.items()})
        first = Bundle({EMPTY: ZSet.of([()], arity=0)}) if self.circuit.now < 0 else Bundle()
        outputs = self.circuit.step(ΔΠ=self.kit.program(dict(rules)), ΔE=given, ΔΣ=first)
        return {self.relations[number]: part for number, part in outputs["ΔE′"]}

    def _circuit(self, encoding: Encoding, indexed: bool) -> Circuit:
        circuit, kit, number = Circuit("interpreter"), self.kit, self.relations.of
        program = circuit.input("ΔΠ", arity=1)
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
        index = Index(kit, self.relations.__getitem__)
        product = Product(kit, index, number, encoding, indexed)
        ground = Ground(kit, distinct, number, encoding)

        begun = rewrites.enter(loop) + known.delay()
        waiting = loop.apply("gatekeep", gatekeep, (begun, directions), Bundle())
        indexed_facts = loop.apply("index", index, (derived.delay(), orders), (Bundle(), Bundle()))
        extended = loop.apply("product", product, (waiting, indexed_facts), Bundle())
        known.define(loop.apply("distinct", distinct, (extended,), Bundle()))
        grounded = loop.apply("ground", ground, (known, signals), Bundle())
        self.facts = DistinctParts()
        derived.define(loop.apply("distinct", self.facts, (facts.enter(loop) + grounded,), Bundle()))
        circuit.output("ΔE′", derived.leave())
        return circuit
