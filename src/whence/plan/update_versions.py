"""The versions of a stratum's rules that Update evaluates (002 Alg. 8 with 5.4.3, 5.5.2).

Changes are propagated in batches, the first with all that came into the stratum (changed tuples of lower strata,
changed input), each later one with the tuples of the stratum that changed in one iteration. For a batch,

- `lost` versions meet every instantiation that held before it and has a changed part (the deletion term),
- `gained` versions meet every one that holds after it and has a changed part (the insertion term),
- `searches` meet every instantiation that derives a tuple which the batch deleted (the re-discovery term). With dense
  counting, `recalls` read their number instead.

An instantiation with several changed parts is met once: the version of its first changed part reads `kept` in all parts
before. The parts of a body are its positive atoms, then its negations, then its aggregates. A negation changes for the
keys, an aggregate for the values of its outer variables, that a `Cause` collects beforehand.

Atoms over the stratum's own relations have one column more, the tuple's iteration; so do heads: one more than the
latest iteration in the body, which is the iteration that the instantiation belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from whence.lang.program import Aggregate, Atom, Call, Comparison, Const, Literal, Negation, Rule, Stratum, Term, Var
from whence.plan.literals import dear, names_of
from whence.plan.steps import RuleVersion, View


@dataclass(frozen=True)
class Driven:
    """A version, and the relation and view that it has nothing to do without."""

    version: RuleVersion
    relation: str
    view: View


@dataclass(frozen=True)
class Cause:
    """Keys by which a negation or an aggregate may have changed: what `versions` derive, a set."""

    name: str
    arity: int
    versions: tuple[Driven, ...]


@dataclass(frozen=True)
class Sieve:
    """The deleted tuples of a relation by some of their columns, a set."""

    name: str
    relation: str
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Search:
    """Ways to meet every derivation of the deleted tuples by one rule; each begins with its sieves.

    The first takes the tuples as they are. Others divide them by variable (5.5.2), so that tuples with a value in
    common do not repeat the work that this value means.
    """

    relation: str
    recursive: bool
    ways: tuple[tuple[tuple[Sieve, ...], RuleVersion], ...]


@dataclass(frozen=True)
class UpdateVersions:
    """All that Update evaluates for a stratum."""

    causes: list[Cause] = field(default_factory=list)
    first_lost: list[Driven] = field(default_factory=list)
    first_gained: list[Driven] = field(default_factory=list)
    lost: list[Driven] = field(default_factory=list)
    gained: list[Driven] = field(default_factory=list)
    searches: list[Search] = field(default_factory=list)
    recalls: list[Search] = field(default_factory=list)
    removed: list[RuleVersion] = field(default_factory=list)
    added: list[RuleVersion] = field(default_factory=list)


def update_versions(stratum: Stratum, added: Sequence[Rule] = (), removed: Sequence[Rule] = ()) -> UpdateVersions:
    """`added` are those of the stratum's rules that come with the epoch, `removed` are rules that it has no more."""
    made = UpdateVersions()
    fresh = count(1)
    own = frozenset(stratum.relations)
    made.removed.extend(Parts(rule, own, fresh).whole(View.LOST) for rule in removed)
    coming = set(map(id, added))
    for rule in stratum.rules:
        parts = Parts(rule, own, fresh)
        if id(rule) in coming:
            made.added.append(parts.whole(View.GAINED))
        else:
            made.causes.extend(parts.causes())
            made.first_lost.extend(parts.first(View.LOST))
            made.first_gained.extend(parts.first(View.GAINED))
        made.lost.extend(parts.later(View.LOST))
        made.gained.extend(parts.later(View.GAINED))
        made.searches.append(parts.search())
    made.recalls.extend(_recall(name, rules[0], fresh) for name, rules in _by_head(stratum).items())
    return made


def _by_head(stratum: Stratum) -> dict[str, list[Rule]]:
    found: dict[str, list[Rule]] = {}
    for rule in stratum.rules:
        found.setdefault(rule.head.relation, []).append(rule)
    return found


def _recall(relation: str, rule: Rule, fresh: Iterator[int]) -> Search:
    """Reads the iterations in which deleted tuples have derivations, where all of them are kept."""
    variables = tuple(Var(f"column {i}", term.kind) for i, term in enumerate(rule.head.args))
    level = Var("level", "number")
    sieve = Sieve(f"sieve {next(fresh)}", relation, tuple(range(len(variables))))
    tuples = Atom(relation, (*variables, level))
    body = (Atom(sieve.name, variables), tuples)
    version = RuleVersion(replace(rule, head=tuples, body=body, plan={}), (View.MISSING, View.VECTOR))
    return Search(relation, True, (((sieve,), version),))


class Parts:
    """A rule's body as positive atoms, negations, aggregates and the rest, made ready for versions."""

    def __init__(self, rule: Rule, own: frozenset[str], fresh: Iterator[int]) -> None:
        self.rule = rule
        self.own = own
        self.atoms: list[Atom] = []
        levels: list[Term] = []
        for atom in (literal for literal in rule.body if isinstance(literal, Atom)):
            if atom.relation in own:
                level = Var(f"level {len(levels)}", "number")
                levels.append(level)
                self.atoms.append(Atom(atom.relation, (*atom.args, level)))
            else:
                self.atoms.append(atom)
        # An object for each, as views go by object.
        self.negations = [replace(literal) for literal in rule.body if isinstance(literal, Negation)]
        self.aggregates = [literal for literal in rule.body if isinstance(literal, Aggregate)]
        self.comparisons = [literal for literal in rule.body if isinstance(literal, Comparison)]
        self.recursive = bool(levels)
        one = Const(1, "number")
        latest = Call("max", tuple(levels), "number") if len(levels) > 1 else next(iter(levels), None)
        level_of_head = one if latest is None else Call("add", (latest, one), "number")
        self.head = Atom(rule.head.relation, (*rule.head.args, level_of_head))
        # A negation changes by other keys for each sign; an aggregate by the same.
        self.negation_causes = [
            {sign: Atom(f"cause {next(fresh)}", _variables(n.atom)) for sign in (View.LOST, View.GAINED)}
            for n in self.negations
        ]
        self.aggregate_causes = [Atom(f"cause {next(fresh)}", _shared(a)) for a in self.aggregates]
        self._sieves = fresh

    # What has changed

    def causes(self) -> Iterator[Cause]:
        for negation, atoms in zip(self.negations, self.negation_causes, strict=True):
            for sign, came, then in ((View.LOST, View.GAINED, View.BEFORE), (View.GAINED, View.LOST, View.ALL)):
                rule = replace(self.rule, head=atoms[sign], body=(negation.atom, replace(negation)))
                version = RuleVersion(rule, (came,), absent=(then,))
                driven = Driven(version, negation.atom.relation, came)
                yield Cause(atoms[sign].relation, len(atoms[sign].args), (driven,))
        for aggregate, atom in zip(self.aggregates, self.aggregate_causes, strict=True):
            yield Cause(atom.relation, len(atom.args), tuple(self._reaches(aggregate, atom)))

    def _reaches(self, aggregate: Aggregate, head: Atom) -> Iterator[Driven]:
        """From each changed tuple in an aggregate's body to the values of the outer variables that it may concern.

        It may be more than those: what is not positive, or not bound by it, is left out.
        """
        inner = [literal for literal in aggregate.body if isinstance(literal, Atom)]
        bound = names_of(inner)
        kept = [c for c in aggregate.body if isinstance(c, Comparison) and names_of([c]) <= bound and _is_plain(c)]
        for changed in _read_in(aggregate.body):
            others = [atom for atom in inner if atom is not changed]
            body: list[Literal] = [changed, *others, *kept]
            rule = replace(self.rule, head=head, body=tuple(body))
            for view in (View.LOST, View.GAINED):
                version = RuleVersion(rule, (view, *[View.EITHER] * len(others)))
                yield Driven(version, changed.relation, view)

    # Versions

    def whole(self, sign: View) -> RuleVersion:
        """All instantiations of a rule that goes or comes: what changes in them first is a guard that the rule has."""
        state = View.BEFORE if sign is View.LOST else View.ALL
        views = tuple(View.ALL if atom.relation in self.own else state for atom in self.atoms)
        rule = self._rule(self.atoms, self.negations)
        return RuleVersion(rule, views, absent=(state,) * len(self.negations), inside=state)

    def first(self, sign: View) -> Iterator[Driven]:
        state = View.BEFORE if sign is View.LOST else View.ALL
        for i in range(len(self.atoms)):
            yield self._driven_by_atom(i, sign, state, View.KEPT)
        kept = [View.KEPT] * len(self.atoms)
        for m, atoms in enumerate(self.negation_causes):
            negations = [n for i, n in enumerate(self.negations) if i != m]
            absent = [View.EITHER] * m + [state] * (len(negations) - m)
            yield self._driven_by_cause(atoms[sign], [], kept, negations, absent, state)
        for m, atom in enumerate(self.aggregate_causes):
            unchanged = [Negation(earlier) for earlier in self.aggregate_causes[:m]]
            absent = [View.EITHER] * len(self.negations) + [View.CAUSE] * m
            yield self._driven_by_cause(atom, unchanged, kept, self.negations, absent, state)

    def later(self, sign: View) -> Iterator[Driven]:
        for i, atom in enumerate(self.atoms):
            if atom.relation in self.own:
                yield self._driven_by_atom(i, sign, View.ALL, View.ALL)

    def _driven_by_atom(self, changed: int, sign: View, state: View, kept: View) -> Driven:
        """`state` and `kept` are what atoms over lower relations read after and before the changed one."""
        views = []
        for i, atom in enumerate(self.atoms):
            own = atom.relation in self.own
            if i == changed:
                views.append(sign)
            elif i < changed:
                views.append(View.KEPT if own else kept)
            else:
                views.append(View.ALL if own else state)
        rule = self._rule([*self.atoms], self.negations)
        version = RuleVersion(rule, tuple(views), absent=(state,) * len(self.negations), inside=state)
        return Driven(version, self.atoms[changed].relation, sign)

    def _driven_by_cause(
        self,
        cause: Atom,
        unchanged: Sequence[Negation],
        views: Sequence[View],
        negations: Sequence[Negation],
        absent: Sequence[View],
        state: View,
    ) -> Driven:
        rule = self._rule([cause, *self.atoms], [*negations, *unchanged])
        version = RuleVersion(rule, (View.CAUSE, *views), absent=tuple(absent), inside=state)
        return Driven(version, cause.relation, View.CAUSE)

    def _rule(self, atoms: Sequence[Atom], negations: Sequence[Negation], equations: Sequence[Comparison] = ()) -> Rule:
        body: list[Literal] = [*atoms, *negations, *self.aggregates, *self.comparisons, *equations]
        return replace(self.rule, head=self.head, body=tuple(body), plan={})

    # Re-discovery

    def search(self) -> Search:
        relation = self.rule.head.relation
        usable: list[tuple[int, Term]] = []
        equations: list[Comparison] = []
        for column, term in enumerate(self.rule.head.args):
            if isinstance(term, Var | Const):
                usable.append((column, term))
            elif not dear(term):  # what can fail is computed where the rule computes it, and compared in the end
                value = Var(f"value {column}", term.kind)
                usable.append((column, value))
                equations.append(Comparison("=", value, term))
        whole = self._way([usable], equations)
        variables = {term for _, term in usable if isinstance(term, Var)}
        ways = [whole]
        if len(variables) > 1:
            constants: list[tuple[int, Term]] = [(c, term) for c, term in usable if isinstance(term, Const)]
            by_variable = [[*constants, (column, term)] for column, term in usable if isinstance(term, Var)]
            ways.append(self._way(by_variable, equations))
        return Search(relation, self.recursive, tuple(ways))

    def _way(
        self, groups: Sequence[Sequence[tuple[int, Term]]], equations: Sequence[Comparison]
    ) -> tuple[tuple[Sieve, ...], RuleVersion]:
        sieves, atoms = [], []
        for group in groups:
            sieve = Sieve(f"sieve {next(self._sieves)}", self.rule.head.relation, tuple(column for column, _ in group))
            sieves.append(sieve)
            atoms.append(Atom(sieve.name, tuple(term for _, term in group)))
        rule = self._rule([*atoms, *self.atoms], self.negations, equations)
        views = (View.MISSING,) * len(atoms) + (View.ALL,) * len(self.atoms)
        return tuple(sieves), RuleVersion(rule, views)


def _variables(atom: Atom) -> tuple[Var, ...]:
    """The variables by which a negated atom is looked up, each once."""
    return tuple(dict.fromkeys(arg for arg in atom.args if isinstance(arg, Var) and not arg.anonymous))


def _shared(aggregate: Aggregate) -> tuple[Var, ...]:
    """The outer variables that positive atoms of the body bind."""
    bound = names_of(literal for literal in aggregate.body if isinstance(literal, Atom))
    if any(isinstance(literal, Aggregate) for literal in aggregate.body):
        return ()
    return tuple(variable for variable in dict.fromkeys(aggregate.outer) if variable.name in bound)


def _read_in(body: Sequence[Literal]) -> Iterator[Atom]:
    """Every atom of an aggregate's body, negated ones and those of aggregates in it included."""
    for literal in body:
        match literal:
            case Atom():
                yield literal
            case Negation(atom):
                yield atom
            case Aggregate(body=inner):
                yield from _read_in(inner)


def _is_plain(comparison: Comparison) -> bool:
    return not dear(comparison.left) and not dear(comparison.right)
