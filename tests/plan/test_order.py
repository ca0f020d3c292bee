"""Versions and their order of atoms: what reads which view, what comes first, what is pushed where."""

from __future__ import annotations

import pytest

from whence.lang import compile_text
from whence.lang.program import Program
from whence.plan import Assumed, View, describe, first_versions, later_versions, planned

DECLARATIONS = """
.decl a(x: number, y: number)
.decl b(x: number, y: number)
.decl c(x: number, y: number)
.decl s(x: symbol)
.input a, b, c, s
"""


class Sizes(Assumed):
    def __init__(self, **sizes: int) -> None:
        self.sizes = sizes

    def size(self, relation: str, view: View) -> float:
        return 1.0 if view is View.NEW else self.sizes.get(relation, 1000)

    def distinct(self, relation: str, columns: tuple[int, ...]) -> float:
        return self.sizes.get(relation, 1000) ** (len(columns) / 2)


def compiled(rules: str, head: str = "r(x: number, y: number)") -> Program:
    return compile_text(f"{DECLARATIONS}.decl {head}\n.output r\n{rules}")


def plan(rules: str, statistics: Assumed | None = None, head: str = "r(x: number, y: number)") -> list[str]:
    """The steps of the first version of the last rule."""
    stratum = next(s for s in compiled(rules, head).strata if s.rules)
    return steps(planned(list(first_versions(stratum))[-1], statistics or Assumed()))


def later(rules: str, statistics: Assumed | None = None) -> list[list[str]]:
    stratum = next(s for s in compiled(rules).strata if s.rules)
    return [steps(planned(version, statistics or Assumed())) for version in later_versions(stratum)]


def steps(version: object) -> list[str]:
    lines = describe(version).splitlines()  # type: ignore[arg-type]
    return [" ".join(line.split()[1:]) for line in lines if line.lstrip()[:1].isdigit()]


def test_the_smallest_relation_comes_first() -> None:
    rule = "r(x, z) :- a(x, y), b(y, z)."
    assert plan(rule, Sizes(a=10, b=10_000))[0] == "scan all a(x, y)"
    assert plan(rule, Sizes(a=10_000, b=10))[0] == "scan all b(y, z)"


def test_constants_and_bound_variables_are_keys() -> None:
    assert plan("r(x, z) :- a(1, x), b(x, z).", Sizes(a=10_000, b=10_000)) == [
        "probe all a(1, x) by column 1 = 1",
        "probe all b(x, z) by column 1 = x",
        "emit r(x, z)",
    ]


def test_a_repeated_variable_is_part_of_the_probe() -> None:
    assert (
        plan("r(x, y) :- a(x, y), b(y, y).", Sizes(b=100_000))[1] == "exists all b(y, y) by column 1 = y, column 2 = y"
    )


def test_filters_stand_where_their_variables_are_bound() -> None:
    steps = plan("r(x, z) :- a(x, y), b(y, z), x < 3, z > 4.", Sizes(a=10))
    assert steps == [
        "scan all a(x, y)",
        "filter x < 3",
        "probe all b(y, z) by column 1 = y",
        "filter z > 4",
        "emit r(x, z)",
    ]


def test_an_atom_that_binds_nothing_needed_is_a_test() -> None:
    assert plan("r(x, y) :- a(x, y), b(y, _), c(_, _).", Sizes(a=10)) == [
        "exists all c(_, _)",
        "scan all a(x, y)",
        "exists all b(y, _) by column 1 = y",
        "emit r(x, y)",
    ]


def test_what_may_fail_comes_after_what_guards_it() -> None:
    steps = plan("r(x, z) :- a(x, y), z = x / y, y != 0, !b(x, y).")
    assert steps.index("filter y != 0") < steps.index("bind z = x / y")
    assert steps.index("absent all b(x, y) by column 1 = x, column 2 = y") < steps.index("bind z = x / y")


def test_negation_with_anonymous_variables_looks_at_the_others() -> None:
    assert "absent all b(y, _) by column 1 = y" in plan("r(x, y) :- a(x, y), !b(y, _).")


def test_equations_bind_either_way_round() -> None:
    for equation in ("z = x + 1", "x + 1 = z"):
        assert "bind z = x + 1" in plan(f"r(x, z) :- a(x, _), {equation}.")


def test_an_equation_compares_the_result_of_an_aggregate() -> None:
    assert plan("r(x, y) :- a(x, y), y = count : { b(x, _) }.") == [
        "scan all a(x, y)",
        "fold count : { b(x, _) } for each x",
        "exists all b(x, _) by column 1 = x",
        "gather",
        "filter y = count : { b(x, _) }",
        "emit r(x, y)",
    ]


RECURSIVE = "r(x, y) :- a(x, y). r(x, z) :- r(x, y), r(y, z), a(z, _)."


def test_each_version_reads_new_once_old_before_all_after() -> None:
    stratum = next(s for s in compiled(RECURSIVE).strata if s.rules)
    assert [version.views for version in later_versions(stratum)] == [
        (View.NEW, View.ALL, View.ALL),
        (View.OLD, View.NEW, View.ALL),
    ]
    assert [version.views for version in first_versions(stratum)] == [(View.ALL,), (View.ALL, View.ALL, View.ALL)]


def test_the_delta_comes_first() -> None:
    assert [version[0] for version in later(RECURSIVE)] == ["scan new r(x, y)", "scan new r(y, z)"]


def test_the_delta_waits_where_it_would_make_a_cross_product() -> None:
    """r and a share no variable; starting from b, which joins both, avoids their product."""
    rule = "r(x, y) :- a(x, y). r(x, w) :- r(x, y), a(z, w), b(y, z)."
    assert later(rule)[0][1].startswith("probe all b")


def test_a_plan_wins() -> None:
    rule = "r(x, z) :- a(x, y), b(y, z), c(z, _)."
    assert plan(rule, Sizes(a=1))[0].endswith("a(x, y)")
    assert plan(rule + " .plan 0:(3, 2, 1)", Sizes(a=1))[:2] == [
        "scan all c(z, _)",
        "probe all b(y, z) by column 2 = z",
    ]


@pytest.mark.parametrize("atoms", [9, 14])
def test_many_atoms(atoms: int) -> None:
    body = ", ".join(f"a(x{i}, x{i + 1})" for i in range(atoms))
    steps = plan(f"r(x0, x{atoms}) :- {body}.")
    assert len(steps) == atoms + 1
    assert sum(step.startswith("scan") for step in steps) == 1, "the atoms make a chain, so none needs a cross product"


def test_generated_names_are_not_shown() -> None:
    program = compile_text(
        ".type L = [h: number, t: L]\n.decl l(l: L)\n.input l\n.decl r(n: number)\n.output r\n"
        'r(h + 1) :- l([h, [h + 1, _]]), l([strlen("ab"), nil]), h = sum x : { l([x, nil]), x > h }.\n'
    )
    stratum = next(s for s in program.strata if s.rules)
    text = "\n".join(describe(planned(version, Assumed())) for version in first_versions(stratum))
    assert not any(f"{letter} {digit}" in text for letter in "vf_gt" for digit in "123456789"), text
