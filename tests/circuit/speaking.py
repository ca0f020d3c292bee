"""Programs and facts for the interpreter, and what it gives, in the words of the paper: `R("a", "b")`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from whence.circuit import ZSet
from whence.circuit.interpreter import Encoding, Interpreter
from whence.circuit.interpreter.lowering import Lowering
from whence.engines.local.tables import LocalTables
from whence.lang import compile_text
from whence.lang.program import Program, Rule

Facts = dict[str, dict[tuple[str, ...], int]]


class Speaker:
    """An interpreter over symbols, whose relations all have declarations in `declared`."""

    def __init__(self, declared: str, **options: Any) -> None:
        self.declared = declared
        self.tables = LocalTables(self.program(""))
        self.encoding = Encoding(self.tables.constant, self.tables.symbols, self.tables.records)
        self.interpreter = Interpreter(self.encoding, **options)
        self.lowering = Lowering()
        self.rules: dict[str, int] = {}

    def program(self, rules: str) -> Program:
        return compile_text(f"{self.declared}\n{rules}\n", warn=lambda message: None)

    def rule(self, text: str) -> Rule:
        return self.program(text).rules[0]

    def code(self, *values: str) -> tuple[int, ...]:
        return tuple(self.tables.symbols.encode(values).tolist())

    def words(self, row: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(self.tables.symbols.decode(np.array(row, np.int64)))

    def spoken(self, z: ZSet) -> dict[tuple[str, ...], int]:
        return {self.words(row): weight for row, weight in z}

    def step(self, facts: Mapping[str, Mapping[tuple[str, ...], int]], rules: Mapping[str, int]) -> Facts:
        """Changes of facts and of rules, and how the relations change."""
        before = self.lowering.parts(self.program("\n".join(self.rules)))
        for text, weight in rules.items():
            self.rules[text] = self.rules.get(text, 0) + weight
        self.rules = {text: weight for text, weight in self.rules.items() if weight}
        after = self.lowering.parts(self.program("\n".join(self.rules)))
        changed = {part: after.get(part, 0) - before.get(part, 0) for part in {**before, **after}}
        given = {
            name: ZSet.of({self.code(*row): weight for row, weight in rows.items()}, arity=len(next(iter(rows))))
            for name, rows in facts.items()
        }
        derived = self.interpreter.step({part: weight for part, weight in changed.items() if weight}, given)
        return {name: self.spoken(change) for name, change in derived.items() if len(change)}
