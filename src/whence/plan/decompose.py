"""Whether the fixpoint of a stratum falls apart into independent ones, by the value of a column of each relation.

It does if every rule carries that column unchanged: for each relation r of the stratum there is a column p(r) such
that, in every rule, every body atom over a relation r' of the stratum has at p(r') the variable that the head has at
its own column. All tuples that a derivation takes from the stratum then lie in the partition of the tuple it derives,
so each partition goes through its own iterations and meets every tuple in the iteration, and with the derivations,
that the whole stratum would. (Generalized pivoting: Seib and Lausen, PODS 1991.)

Facts of the stratum and tuples of rules without a recursive atom belong to the partition of their own value. What rules
with a recursive atom read from lower strata, each partition needs whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from whence.lang.program import Aggregate, Atom, Comparison, Literal, Negation, Program, Rule, Span, Stratum, Var

Distinct = Callable[[str, int], float]
Pairs = frozenset[tuple[int, int]]
Domains = Mapping[str, frozenset[int]]  # the columns that may still be chosen for each relation

DEAD_ENDS = 1_000  # that the search goes into before it gives up; few programs have any
LONGEST = 160  # characters of a rule that a reason shows


@dataclass(frozen=True)
class Decomposition:
    """The column by which each relation of the stratum is partitioned, and the lower relations every partition needs.

    A stratum that is not recursive has one too: any column will do, and nothing needs to be broadcast.
    """

    columns: Mapping[str, int]
    broadcast: tuple[str, ...]


@dataclass(frozen=True)
class Refusal:
    """Why there is no such column: one sentence, and the text that stands in the way."""

    reason: str
    origin: Span


@dataclass(frozen=True)
class Carried:
    """One recursive atom of one rule: the pairs (column of the head, column of the atom) that hold one variable."""

    head: str
    reads: str
    pairs: Pairs


def decompose(stratum: Stratum, program: Program, distinct: Distinct | None = None) -> Decomposition | Refusal:
    """The columns to partition a stratum by, or why it cannot be done.

    `distinct(relation, column)` is how many values a column has, as far as is known: of several possible columns
    those with the most values are taken, without it the first ones.
    """
    for name in stratum.relations:
        if not program.relations[name].columns:
            return Refusal(f"`{name}` has no column to partition by", program.relations[name].origin)
    for directive in program.directives_of("limitsize"):
        if directive.relation in stratum.relations and stratum.recursive:
            reason = f"the `.limitsize` of `{directive.relation}` is about the size of all partitions together"
            return Refusal(reason, directive.origin)
    own = frozenset(stratum.relations)
    carried = [tuple(_carried(rule, own, program)) for rule in stratum.rules]
    full = {name: frozenset(range(program.relations[name].arity)) for name in stratum.relations}
    columns = _best(full, Allowed(carried), distinct or (lambda relation, column: 0.0))
    if columns is None:
        return _refusal(stratum.rules, carried, full)
    recursive = [rule for rule, atoms in zip(stratum.rules, carried, strict=True) if atoms]
    read = dict.fromkeys(name for rule in recursive for name in _relations(rule.body))
    return Decomposition(columns, tuple(name for name in read if name not in own))


# What a rule carries


def _carried(rule: Rule, recursive: frozenset[str], program: Program) -> Iterator[Carried]:
    same = _equal_variables(rule.body)
    head = [same.get(arg.name, arg.name) if isinstance(arg, Var) else None for arg in rule.head.args]
    given = program.relations[rule.head.relation].columns
    for atom in rule.body:
        if not isinstance(atom, Atom) or atom.relation not in recursive:
            continue
        taken = program.relations[atom.relation].columns
        pairs = frozenset(
            (there, here)
            for here, arg in enumerate(atom.args)
            if isinstance(arg, Var)
            for there, name in enumerate(head)
            # Under another kind (a cast) the same bits are another value.
            if name == same.get(arg.name, arg.name) and given[there].kind == taken[here].kind
        )
        yield Carried(rule.head.relation, atom.relation, pairs)


def _equal_variables(body: Sequence[Literal]) -> dict[str, str]:
    """For variables that an equation `x = y` makes the same: one name for all of them.

    Not for floats: -0.0 = 0.0 holds, and they are two values.
    """
    same: dict[str, str] = {}
    for literal in body:
        match literal:
            case Comparison(op="=", left=Var() as left, right=Var() as right) if "float" not in (left.kind, right.kind):
                one, other = same.get(left.name, left.name), same.get(right.name, right.name)
                same |= {name: one for name, stands_for in same.items() if stands_for == other}
                same |= {left.name: one, right.name: one}
    return same


def _relations(body: Sequence[Literal]) -> Iterator[str]:
    for literal in body:
        match literal:
            case Atom(relation=relation) | Negation(atom=Atom(relation=relation)):
                yield relation
            case Aggregate(body=inner):
                yield from _relations(inner)


# The search: one column for each relation, such that every recursive atom is carried


class Allowed:
    """For a relation of a head and one that its rules read: the pairs of their columns that all of the rules carry."""

    def __init__(self, carried: Iterable[Sequence[Carried]]) -> None:
        self.pairs: dict[tuple[str, str], Pairs] = {}
        for atom in chain.from_iterable(carried):
            key = (atom.head, atom.reads)
            pairs = atom.pairs & self.pairs.get(key, atom.pairs)
            if atom.head == atom.reads:
                pairs = frozenset((there, here) for there, here in pairs if there == here)
            self.pairs[key] = pairs
        self.of: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for key in self.pairs:
            for relation in set(key):
                self.of[relation].append(key)

    def narrowed(self, domains: Domains, changed: Iterable[str]) -> Domains | None:
        """The domains without the columns that have no counterpart; None if a relation has no column left.

        `changed` are the relations whose domains became smaller since they were last narrowed.
        """
        left = dict(domains)
        waiting = list(dict.fromkeys(changed))
        while waiting:
            for head, reads in self.of[waiting.pop()]:
                pairs = [(a, b) for a, b in self.pairs[head, reads] if a in left[head] and b in left[reads]]
                if not pairs:
                    return None
                for relation, columns in zip((head, reads), map(frozenset, zip(*pairs, strict=True)), strict=True):
                    if columns != left[relation]:
                        left[relation] = columns
                        waiting.append(relation)
        return left


def _best(full: Domains, allowed: Allowed, distinct: Distinct) -> Mapping[str, int] | None:
    """Of the assignments that begin with each column of the first relation, the one with the most values in all.

    The relations of a stratum depend on each other, so the first column mostly decides all others.
    """
    first = next(iter(full))
    found = (_assignment({**full, first: frozenset([column])}, allowed, distinct) for column in sorted(full[first]))
    return max(
        (columns for columns in found if columns is not None),
        key=lambda columns: sum(distinct(relation, column) for relation, column in columns.items()),
        default=None,
    )


def _assignment(domains: Domains, allowed: Allowed, distinct: Distinct) -> Mapping[str, int] | None:
    """One column of each domain, or None. Depth first; what a choice rules out is ruled out before the next one."""
    waiting: list[tuple[Domains, Iterable[str]]] = [(domains, domains)]
    dead_ends = 0
    while waiting and dead_ends < DEAD_ENDS:
        narrowed = allowed.narrowed(*waiting.pop())
        if narrowed is None:
            dead_ends += 1
            continue
        undecided = next((relation for relation, columns in narrowed.items() if len(columns) > 1), None)
        if undecided is None:
            return {relation: column for relation, (column,) in narrowed.items()}
        worst_first = sorted(narrowed[undecided], key=lambda column: (distinct(undecided, column), -column))
        waiting += [({**narrowed, undecided: frozenset([column])}, [undecided]) for column in worst_first]
    return None


# Why not


def _refusal(rules: Sequence[Rule], carried: Sequence[Sequence[Carried]], full: Domains) -> Refusal:
    def fails(*chosen: Sequence[Carried]) -> bool:
        own = {relation: full[relation] for atoms in chosen for atom in atoms for relation in (atom.head, atom.reads)}
        return bool(own) and _best(own, Allowed(chosen), lambda relation, column: 0.0) is None

    for rule, atoms in zip(rules, carried, strict=True):
        if fails(atoms):
            read = " and ".join(f"`{name}`" for name in dict.fromkeys(atom.reads for atom in atoms))
            reason = f"{_text(rule)} does not carry a column of {read} unchanged into `{rule.head.relation}`"
            return Refusal(reason, rule.origin)
    # Each rule alone carries a column. The first rule that does not agree with those before it:
    last = bisect_left(range(len(rules)), True, key=lambda i: fails(*carried[: i + 1]))
    rule = rules[last]
    for other, atoms in zip(rules[:last], carried, strict=False):
        if fails(atoms, carried[last]):
            reason = f"{_text(rule)} carries another column of `{rule.head.relation}` unchanged than {_text(other)}"
            return Refusal(reason, rule.origin)
    reason = f"{_text(rule)} carries another column of `{rule.head.relation}` unchanged than the rules before it"
    return Refusal(reason, rule.origin)


def _text(rule: Rule) -> str:
    text = " ".join(rule.text.split()).removesuffix(".")
    return f"`{text if len(text) <= LONGEST else text[: LONGEST - 1] + '…'}`"
