"""How much the random programs do: `python tests/oracle/measure.py [COUNT]` prints shares of all programs drawn."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

from hypothesis import Phase, given, settings

sys.path.insert(0, str(Path(__file__).parents[1]))

from oracle.evaluate import TooLarge, evaluate
from oracle.generate import programs
from oracle.render import rule
from oracle.rules import Program

STEPS = 100_000


def features(program: Program) -> set[str]:
    """What a program's text has and what its evaluation does."""
    try:
        model = evaluate(program, limit=STEPS)
    except TooLarge:
        return {"too large"}
    text = "".join(map(rule, program.rules))
    derived = [state for tuples in model.values() for state in tuples.values() if state[0] > 0]
    iterations = max((iteration for iteration, _ in derived), default=0)
    found = {word for word in (" = count", " = sum", " = min", " = max", " = mean", "; ", "!", "[") if word in text}
    found |= {f"iterations > {bound}" for bound in (0, 1, 2, 4) if iterations > bound}
    found |= {f"derived > {bound}" for bound in (5, 20, 100) if len(derived) > bound}
    if any(times > 1 for _, times in derived):
        found.add("count > 1")
    heads = {head.relation for rule in program.rules for head in rule.heads}
    if all(any(state[0] for state in model[name].values()) for name in heads):
        found.add("every rule relation derives")
    return found


def main(count: int) -> None:
    shares: Counter[str] = Counter()

    @settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate])
    @given(programs())
    def draw(program: Program) -> None:
        shares.update(features(program) | {"all"})

    start = time.perf_counter()
    draw()
    for name, number in shares.most_common():
        print(f"{name:30}{number / shares['all']:7.0%}")
    print(f"{shares['all']} programs in {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
