"""From one program to another: which strata the rules that come and go concern, and how.

A rule is an input like a fact (002, 6.4.4): one that comes is a rule whose guard appears, so that all its
instantiations are gained; one that goes loses its guard and all of them. That is enough where a stratum keeps its
relations. Where relations come into other strata, because strata merge or split, the iterations of all their tuples
count from another beginning, and the stratum is evaluated anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from whence.errors import WhenceError
from whence.lang.difference import difference, directives_without
from whence.lang.program import Program, Relation, Rule, Stratum, Type, read_by


@dataclass(frozen=True)
class Rules:
    """What comes and goes in a stratum. `anew` says why it has to be evaluated anew, if it has to."""

    added: tuple[Rule, ...] = ()
    removed: tuple[Rule, ...] = ()
    anew: str = ""

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.anew)

    def __str__(self) -> str:
        told = [(len(self.added), "added"), (len(self.removed), "removed")]
        return ", ".join(f"{count} {'rule' if count == 1 else 'rules'} {what}" for count, what in told if count)


@dataclass(frozen=True)
class Transition:
    """`program` is the one after, and of the one before the relations that go, each a stratum that becomes empty.

    `rules` has the strata, by their relations, that the change of rules itself concerns.
    """

    before: Program
    after: Program
    program: Program
    rules: Mapping[tuple[str, ...], Rules]
    going: tuple[Relation, ...]

    def read_elsewhere(self) -> frozenset[str]:
        """The relations that a rule before or after reads in another stratum than their own."""
        own = {name: stratum.relations for stratum in self.program.strata for name in stratum.relations}
        found: set[str] = set()
        for program in (self.before, self.after):
            for stratum in program.strata:
                for head in {rule.head.relation for rule in stratum.rules}:
                    found.update(name for name in read_by(stratum) if name not in own[head])
        return frozenset(found)


def transition(before: Program, after: Program) -> Transition:
    for name, relation in after.relations.items():
        if name in before.relations and not _fits(before.relations[name], before, relation, after):
            raise WhenceError(f"`{name}` has other columns than before: give it another name, or evaluate anew")
    changed = difference(before, after)
    going = changed.relations_removed
    program = after
    if going:
        program = replace(
            after,
            types={**before.types, **after.types},
            relations={**after.relations, **{relation.name: relation for relation in going}},
            strata=(*after.strata, *(Stratum((relation.name,), (), False) for relation in going)),
        )
    grouped = {frozenset(stratum.relations) for stratum in before.strata}
    directives = (*directives_without(before, after), *directives_without(after, before))
    limits = {directive.relation for directive in directives if directive.kind == "limitsize"}
    rules = {}
    for stratum in program.strata:
        own = frozenset(stratum.relations)
        anew = ""
        if own not in grouped and any(name in before.relations for name in own):
            anew = "its relations were not a stratum before"
        elif own & limits:
            anew = "another .limitsize"
        of_stratum = Rules(
            tuple(rule for rule in changed.added if rule.head.relation in own),
            tuple(rule for rule in changed.removed if rule.head.relation in own),
            anew,
        )
        if of_stratum:
            rules[stratum.relations] = of_stratum
    return Transition(before, after, program, rules, going)


def _fits(old: Relation, before: Program, new: Relation, after: Program) -> bool:
    """Whether the tuples of one relation can be those of the other: their values are the same, whatever their types."""
    if [column.kind for column in old.columns] != [column.kind for column in new.columns]:
        return False
    return all(
        _same_record(one.type, other.type, before.types, after.types, set())
        for one, other in zip(old.columns, new.columns, strict=True)
        if one.kind == "record"
    )


def _same_record(
    one: str, other: str, before: Mapping[str, Type], after: Mapping[str, Type], seen: set[tuple[str, str]]
) -> bool:
    if (one, other) in seen:
        return True
    seen.add((one, other))
    fields = [[name for _, name in types[t].fields or ()] for types, t in ((before, one), (after, other))]
    if [before[name].kind for name in fields[0]] != [after[name].kind for name in fields[1]]:
        return False
    pairs = zip(*fields, strict=True)
    return all(_same_record(a, b, before, after, seen) for a, b in pairs if before[a].kind == "record")
