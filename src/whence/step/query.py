"""What is asked of the debugger: an atom, or any body, which then is the one rule of a relation of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from whence.lang.program import Atom, Program, Stratum, Var
from whence.lang.query import ANSWER, compile_query


@dataclass(frozen=True)
class Asked:
    """`program` has the relation that `atom` calls; `names` are those of the answer's columns."""

    text: str
    program: Program
    atom: Atom
    names: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether the query is a call of one of the program's own relations."""
        return self.atom.relation != ANSWER


def asked(text: str, program: Program) -> Asked:
    query = compile_query(text, program)
    text = " ".join(text.split()).removesuffix(".")
    if query.pattern is not None and any(rule.head.relation == query.pattern.relation for rule in program.rules):
        columns = program.relations[query.pattern.relation].columns
        names = {
            term.name: column.name if " " in term.name else term.name
            for term, column in zip(query.pattern.args, columns, strict=True)
            if isinstance(term, Var)
        }
        return Asked(text, program, query.pattern, tuple(names.values()))
    relations = {**program.relations, ANSWER: query.answer}
    stratum = Stratum((ANSWER,), query.rules, False)
    extended = replace(
        program, relations=relations, rules=(*program.rules, *query.rules), strata=(*program.strata, stratum)
    )
    columns = query.answer.columns
    atom = Atom(ANSWER, tuple(Var(f"q {i}", column.kind) for i, column in enumerate(columns)))
    return Asked(text, extended, atom, tuple(column.name for column in columns))
