"""The examples of "Incremental evaluation of dynamic Datalog programs as a higher-order DBSP program" (003), sections
3 and 4, stream by stream. Where the text is in error, the test says so and shows what is meant."""

from __future__ import annotations

from collections.abc import Callable

from circuit.speaking import Facts, Speaker
from whence.circuit import LEFT, RIGHT, Circuit, Stream, ZSet
from whence.circuit.interpreter.prefixes import EMPTY
from whence.circuit.interpreter.terms import Then
from whence.lang.program import Var

P_AND_R = ".decl P(x: symbol, y: symbol)\n.decl R(x: symbol, y: symbol)"
R_FROM_P = "R(x, y) :- P(x, y)."
R_FROM_R = "R(x, z) :- R(x, y), P(y, z)."
A, B, C, D = range(4)  # the constants, where there are no symbols
P, R = 0, 1  # the predicates, as first column of a ground atom


def one(*rows: tuple[str, ...]) -> dict[tuple[str, ...], int]:
    return dict.fromkeys(rows, 1)


def streamed(
    build: Callable[[Stream], Stream], *values: dict[tuple[int, ...], int]
) -> list[dict[tuple[int, ...], int]]:
    """A stream of ground atoms through a circuit."""
    circuit = Circuit()
    circuit.output("out", build(circuit.input("in", 3)))
    return [dict(circuit.step(**{"in": value})["out"]) for value in values]


# Section 3


def test_example_3_1_a_rewrite_grounds_an_atom() -> None:
    """{x ↦ "a", y ↦ "b", z ↦ "c"} on P(x, y). The text has P("a", "c"); y ↦ "b", so that it is P("a", "b")."""
    speaker = Speaker(P_AND_R)
    x, y, z = (Var(name, "symbol") for name in "xyz")
    rewrites = ZSet.of([speaker.code("a", "b", "c")])
    grounded, _ = Then((x, y, z), (), (x, y), speaker.encoding)(rewrites.rows)
    assert [speaker.words(tuple(row)) for row in grounded.tolist()] == [("a", "b")]


def test_definition_3_1_a_product_extends_a_rewrite_and_changes_no_value() -> None:
    """Σₐ ⊕ Σ_b has the variables of both, and where both have one, the value of Σₐ; {} is the identity."""
    speaker = Speaker(".decl S(x: symbol)\n.decl P(x: symbol, y: symbol)\n.decl Q(x: symbol, y: symbol)")
    found = speaker.step({"S": one(("a",)), "P": one(("a", "b"), ("b", "c"))}, {"Q(x, y) :- S(x), P(x, y).": 1})
    assert found["Q"] == one(("a", "b"))


def test_example_3_2_rewrite_product() -> None:
    """{x ↦ "a"}, {x ↦ "b"} with P(x, y) become {x ↦ "a", y ↦ "b"}, {x ↦ "b", y ↦ "c"}."""
    speaker = Speaker(".decl S(x: symbol)\n.decl P(x: symbol, y: symbol)\n.decl Q(x: symbol, y: symbol)")
    rule = "Q(x, y) :- S(x), P(x, y)."
    loop = speaker.interpreter.circuit.loops[0]
    known = next(node for node in loop.nodes if node.name == "rewrites")
    loop.outputs["rewrites"] = known
    facts = {"S": one(("a",), ("b",)), "P": one(("a", "b"), ("b", "c"), ("c", "d"))}
    speaker.step(facts, {rule: 1})
    recorded = speaker.interpreter.circuit.plan.loops[loop].recorded["rewrites"]  # type: ignore[union-attr]
    first, second = (prefix.provenance for prefix in speaker.interpreter.kit.prefixes.of(speaker.rule(rule))[0])
    spoken = {
        (tick, provenance): speaker.spoken(part) for tick, parts in recorded.items() for provenance, part in parts
    }
    assert spoken == {(1, first): one(("a",), ("b",)), (2, second): one(("a", "b"), ("b", "c"))}


# Section 4


def test_example_4_1_delay_toset_and_todiff() -> None:
    stream = ({(P, A, B): 1}, {(P, B, C): 2}, {(P, C, D): 1})
    assert streamed(lambda s: s.lift(ZSet.to_set), *stream) == [{(P, A, B): 1}, {(P, B, C): 1}, {(P, C, D): 1}]
    signed = ({(P, A, B): -1}, {(P, B, C): 2}, {(P, C, D): -1})
    assert streamed(lambda s: s.lift(ZSet.to_diff), *signed) == [{(P, A, B): -1}, {(P, B, C): 1}, {(P, C, D): -1}]
    assert streamed(Stream.delay, {(P, A, B): 1}, {(P, B, C): 2}, {}) == [{}, {(P, A, B): 1}, {(P, B, C): 2}]


def test_the_stateful_distinct() -> None:
    """4.1 defines it as todiff(S[t] − z⁻¹(I(S))[t]). With S = [{a}, {b}] that takes `a` back at t = 1, though nothing
    says so; toset(I(S)[t]) − toset(z⁻¹(I(S))[t]) is meant."""

    def as_written(s: Stream) -> Stream:
        return (s - s.integrate().delay()).lift(ZSet.to_diff)

    def as_meant(s: Stream) -> Stream:
        return s.integrate().lift(ZSet.to_set) - s.integrate().delay().lift(ZSet.to_set)

    stream = ({(P, A, B): 1}, {(P, B, C): 1}, {(P, A, B): 1}, {(P, A, B): -1}, {(P, B, C): -1})
    assert streamed(as_written, *stream)[1] == {(P, A, B): -1, (P, B, C): 1}
    assert streamed(as_meant, *stream) == [{(P, A, B): 1}, {(P, B, C): 1}, {}, {}, {(P, B, C): -1}]
    assert streamed(Stream.distinct, *stream) == streamed(as_meant, *stream)


def consequence(program: ZSet, facts: ZSet) -> ZSet:
    """𝒯 for the two rules of the examples, numbers 0 and 1."""
    p = facts.select(lambda rows: rows[:, 0] == P).project([1, 2])
    r = facts.select(lambda rows: rows[:, 0] == R).project([1, 2])
    found = ZSet(2)
    if program[0,]:
        found = found + p
    if program[1,]:
        found = found + r.join(p, on=[(1, 0)], keep=[(LEFT, 0), (RIGHT, 1)])
    named = ZSet.of([(R,)]).join(found.to_set(), on=[])
    return named


def naive() -> Circuit:
    """Figure 1."""
    circuit = Circuit()
    program, facts = circuit.input("program", 1), circuit.input("facts", 3)
    derived = circuit.variable("derived", 3)
    arrived = facts + derived.delay()
    derived.define(program.integrate().lift(consequence, arrived.integrate(), zero=ZSet(3)).lift(changes()))
    circuit.output("fed back", derived)
    circuit.output("materialisation", (facts + derived).integrate())
    return circuit


def changes() -> Callable[[ZSet], ZSet]:
    """(↑distinct)^Δ of a stream whose values are sums already."""
    last = ZSet(3)

    def changed(value: ZSet) -> ZSet:
        nonlocal last
        change, last = value.to_set() - last, value.to_set()
        return change

    changed.__name__ = "distinct"
    return changed


def test_example_4_2_integration_and_naive_interpretation() -> None:
    """ℐ(S)[1] has P("b", "c") ↦ 2 in the text; with the ΔS that is given it is 1."""
    facts = ({(P, A, B): 1}, {(P, B, C): 1}, {(P, C, D): 1})
    assert streamed(Stream.integrate, *facts) == [
        {(P, A, B): 1},
        {(P, A, B): 1, (P, B, C): 1},
        {(P, A, B): 1, (P, B, C): 1, (P, C, D): 1},
    ]
    circuit = naive()
    rests = []
    for fact, rules in zip(facts, ({(0,): 1}, {(1,): 1}, {(0,): -1}), strict=True):
        given = circuit.step(facts=fact, program=rules)
        while len(given["fed back"]):
            given = circuit.step()
        rests.append(dict(given["materialisation"]))
    first = {(P, A, B): 1, (R, A, B): 1}
    second = first | {(P, B, C): 1, (R, B, C): 1, (R, A, C): 1}
    assert rests == [first, second, {(P, A, B): 1, (P, B, C): 1, (P, C, D): 1}]


def test_example_4_2_in_the_dynamic_interpreter() -> None:
    """The same streams in the circuit of figure 3, whose output is how the materialisation changes."""
    speaker = Speaker(P_AND_R)
    assert speaker.step({"P": one(("a", "b"))}, {R_FROM_P: 1}) == {"P": one(("a", "b")), "R": one(("a", "b"))}
    assert speaker.step({"P": one(("b", "c"))}, {R_FROM_R: 1}) == {
        "P": one(("b", "c")),
        "R": one(("b", "c"), ("a", "c")),
    }
    assert speaker.step({"P": one(("c", "d"))}, {R_FROM_P: -1}) == {
        "P": one(("c", "d")),
        "R": {("a", "b"): -1, ("b", "c"): -1, ("a", "c"): -1},
    }


def materialised(facts: Facts, rules: list[str]) -> dict[tuple[str, ...], int]:
    return Speaker(P_AND_R).step(facts, dict.fromkeys(rules, 1)).get("R", {})


def test_example_4_3_the_consequence_is_not_bilinear() -> None:
    """The expansion of a bilinear operator misses R("a", "c"), whose parts come from both sides' past."""
    now, before = {"P": one(("b", "c"))}, {"P": one(("a", "b"))}
    assert materialised(before, [R_FROM_P]) == one(("a", "b"))
    terms = [materialised(now, [R_FROM_R]), materialised(now, [R_FROM_P]), materialised(before, [R_FROM_R])]
    assert terms == [{}, one(("b", "c")), {}]
    whole = materialised({"P": one(("a", "b"), ("b", "c"))}, [R_FROM_P, R_FROM_R])
    assert whole == one(("a", "b"), ("b", "c"), ("a", "c"))
    assert whole != one(("a", "b")) | terms[1]


def test_example_4_4_the_grounding_kit() -> None:
    """The two rules begin alike, so the first direction has weight 2."""
    speaker = Speaker(P_AND_R)
    kit = speaker.interpreter.kit
    first, second = speaker.rule("R(x, y) :- P(x, y)."), speaker.rule("R(x, z) :- P(x, y), R(y, z).")
    program = kit.program({(first, 0): 1, (second, 0): 1})
    (p_first,), _ = kit.prefixes.of(first)
    p_second, r_second = kit.prefixes.of(second)[0]
    assert p_first.provenance == p_second.provenance  # 𝒫(π, P(x, y)) = 𝒫(π′, P(x, y)) = ℋ(P(x, y))
    assert r_second.provenance != p_second.provenance
    begin = 0
    assert dict(kit.directions(program)) == {
        (EMPTY, p_first.provenance, begin): 2,
        (p_second.provenance, r_second.provenance, begin): 1,
    }
    heads = [kit.heads.of(kit.prefixes.of(rule)[1]) for rule in (first, second)]
    assert dict(kit.signals(program)) == {
        (p_first.provenance, heads[0], begin): 1,
        (r_second.provenance, heads[1], begin): 1,
    }
    # Linear: the kit of a change is the change of the kit.
    removed = kit.program({(first, 0): -1})
    assert kit.directions(program + removed) == kit.directions(program) + kit.directions(removed)
    assert dict(kit.directions(program + removed))[EMPTY, p_first.provenance, begin] == 1


def test_example_4_4_names_of_variables_do_not_matter_to_provenance() -> None:
    speaker = Speaker(P_AND_R)
    kit = speaker.interpreter.kit
    numbers = [
        [prefix.provenance for prefix in kit.prefixes.of(speaker.rule(text))[0]]
        for text in ("R(x, z) :- P(x, y), R(y, z).", "R(u, w) :- P(u, v), R(v, w).", "R(x, z) :- P(y, x), R(y, z).")
    ]
    assert numbers[0] == numbers[1]
    assert numbers[0][1] != numbers[2][1]


def test_example_4_5_nested_streams() -> None:
    circuit = Circuit()
    facts = circuit.input("facts", 3)
    with circuit.loop() as loop:
        introduced = facts.enter(loop)
        loop.output("introduced", introduced)
    circuit.output("eliminated", introduced.leave())
    circuit.output("sum", facts.integrate())
    first, second = circuit.step(facts={(P, A, B): 1}), circuit.step(facts={(P, B, C): 1})
    # ↑δ₀: the value at the inner tick 0, nothing after it
    assert [{t: dict(z) for t, z in given["introduced"].items()} for given in (first, second)] == [
        {0: {(P, A, B): 1}},
        {0: {(P, B, C): 1}},
    ]
    # ↑∫ ∘ ↑δ₀ is the identity
    assert [dict(given["eliminated"]) for given in (first, second)] == [{(P, A, B): 1}, {(P, B, C): 1}]
    # ∫ of the stream itself is the sum of all its values
    assert dict(second["sum"]) == {(P, A, B): 1, (P, B, C): 1}


def test_example_4_6_a_parallel_with_semi_naive_evaluation() -> None:
    """↑ℐ sums over iterations of this epoch, ℐ over epochs at this iteration."""
    circuit = Circuit()
    loop = circuit.loop()
    stream = loop.input("stream", 1)
    loop.output("lifted", stream.integrate())
    loop.output("not lifted", stream.integrate(circuit))
    epochs = [[{(1,): 1}, {(2,): 1}], [{(3,): 1}, {(4,): 1}, {(5,): 1}]]
    given = [circuit.step(stream=epoch) for epoch in epochs]
    lifted = [{t: dict(z) for t, z in one["lifted"].items()} for one in given]
    assert lifted[1] == {0: {(3,): 1}, 1: {(3,): 1, (4,): 1}, 2: {(3,): 1, (4,): 1, (5,): 1}}
    by_epoch = [{t: dict(z) for t, z in one["not lifted"].items()} for one in given]
    assert by_epoch[1] == {0: {(1,): 1, (3,): 1}, 1: {(2,): 1, (4,): 1}, 2: {(5,): 1}}


def test_example_4_7_the_join_order() -> None:
    """jorder(T(x, y) ← E(x, y), T(y, z)) = {⟨E, ()⟩ ↦ 1, ⟨T, 0⟩ ↦ 1}"""
    speaker = Speaker(".decl E(x: symbol, y: symbol)\n.decl T(x: symbol, y: symbol)")
    kit = speaker.interpreter.kit
    rule = speaker.rule("T(x, y) :- E(x, y), T(y, z).")
    found = kit.join_orders(kit.program({(rule, 0): 1}))
    named = {kit.orders[number]: weight for (number,), weight in found}
    assert {(order.relation, order.columns): weight for order, weight in named.items()} == {
        ("E", ()): 1,
        ("T", (0,)): 1,
    }
    # Definition 4.7: those of a program are the sum
    both = kit.join_orders(kit.program({(rule, 0): 1, (speaker.rule("T(x, x) :- E(x, _), T(x, z)."), 0): 1}))
    assert {kit.orders[n].relation: weight for (n,), weight in both} == {"E": 2, "T": 2}


def test_equation_7_closure_as_it_is_meant() -> None:
    """The text has T(x, y) ← E(x, y), T(y, z), which adds nothing; T(x, z) is meant."""
    declared = ".decl E(x: symbol, y: symbol)\n.decl T(x: symbol, y: symbol)"
    edges = {"E": one(("a", "b"), ("b", "c"), ("c", "d"))}
    written = Speaker(declared).step(edges, {"T(x, y) :- E(x, y).": 1, "T(x, y) :- E(x, y), T(y, z).": 1})
    assert written["T"] == edges["E"]
    meant = Speaker(declared).step(edges, {"T(x, y) :- E(x, y).": 1, "T(x, z) :- E(x, y), T(y, z).": 1})
    assert meant["T"] == one(("a", "b"), ("b", "c"), ("c", "d"), ("a", "c"), ("b", "d"), ("a", "d"))


def test_figure_3_stream_by_stream() -> None:
    """Transitive closure of a chain: what passes `distinct` behind product, and behind ground, at each tick."""
    speaker = Speaker(P_AND_R)
    circuit = speaker.interpreter.circuit
    loop = circuit.loops[0]
    for name in ("rewrites", "facts"):
        loop.outputs[name] = next(node for node in loop.nodes if node.name == name)
    rules = {"R(x, y) :- P(x, y).": 1, "R(x, z) :- P(x, y), R(y, z).": 1}
    speaker.step({"P": one(("a", "b"), ("b", "c"))}, rules)

    def recorded(name: str, naming: Callable[[int], str]) -> dict[int, dict[str, dict[tuple[str, ...], int]]]:
        assert circuit.plan is not None
        streams = circuit.plan.loops[loop].recorded[name]
        return {t: {naming(tag): speaker.spoken(z) for tag, z in bundle if len(z)} for t, bundle in streams.items()}

    names = {1: "P", 2: "P R"}
    assert recorded("rewrites", names.__getitem__) == {
        1: {"P": one(("a", "b"), ("b", "c"))},
        2: {"P R": one(("a", "c"))},
    }
    assert recorded("facts", speaker.interpreter.relations.__getitem__) == {
        0: {"P": one(("a", "b"), ("b", "c"))},
        1: {"R": one(("a", "b"), ("b", "c"))},
        2: {"R": one(("a", "c"))},
    }
    # An update touches only what it changes: c → d extends three paths.
    speaker.step({"P": one(("c", "d"))}, {})
    assert recorded("rewrites", names.__getitem__) == {
        1: {"P": one(("c", "d"))},
        2: {"P R": one(("b", "d"))},
        3: {"P R": one(("a", "d"))},
    }
    # A rule that goes takes everything with it at the tick at which it came.
    speaker.step({}, {"R(x, y) :- P(x, y).": -1})
    assert recorded("facts", speaker.interpreter.relations.__getitem__)[1] == {
        "R": {("a", "b"): -1, ("b", "c"): -1, ("c", "d"): -1}
    }
