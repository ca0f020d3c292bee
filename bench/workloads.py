"""What is measured: a program, its input by size, and the results that must agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.graphs import Facts, chain, dense, family, sparse
from bench.recorded import trace, universities
from bench.source_programs import source_program

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Workload:
    """One program on inputs of growing size; each of `sizes` is twice the one before."""

    name: str
    program: str
    about: str
    unit: str
    sizes: tuple[int, ...]
    quick: tuple[int, ...]
    outputs: tuple[str, ...]
    make: Callable[[int, Path], Facts]
    # Another workload whose results must be these, size by size.
    same_as: str | None = None

    @property
    def path(self) -> Path:
        return PROGRAMS / f"{self.program}.dl"


def generated(make: Callable[[int], Facts]) -> Callable[[int, Path], Facts]:
    return lambda size, data: make(size)


def read(make: Callable[[Path, int], Facts]) -> Callable[[int, Path], Facts]:
    return lambda size, data: make(data, size)


WORKLOADS = {
    workload.name: workload
    for workload in [
        Workload(
            name="dense",
            program="closure",
            about="transitive closure, ten edges a node",
            unit="nodes",
            sizes=(500, 1_000, 2_000),
            quick=(50, 100),
            outputs=("path",),
            make=generated(dense),
        ),
        Workload(
            name="sparse",
            program="closure",
            about="transitive closure, 1.1 edges a node",
            unit="nodes",
            sizes=(5_000, 10_000, 20_000),
            quick=(200, 400),
            outputs=("path",),
            make=generated(sparse),
        ),
        Workload(
            name="chain",
            program="closure",
            about="transitive closure of one path",
            unit="nodes",
            sizes=(1_000, 2_000, 4_000),
            quick=(50, 100),
            outputs=("path",),
            make=generated(chain),
        ),
        Workload(
            name="long",
            program="reach",
            about="one tuple an iteration, as many iterations as nodes",
            unit="nodes",
            sizes=(25_000, 50_000, 100_000),
            quick=(100, 200),
            outputs=("reach",),
            make=generated(chain),
        ),
        Workload(
            name="pointsto",
            program="pointsto",
            about="points-to analysis of generated programs, five rules",
            unit="methods",
            sizes=(4_000, 8_000, 16_000),
            quick=(100, 200),
            outputs=("vpt", "alias", "safevar"),
            make=generated(source_program),
        ),
        Workload(
            name="generation",
            program="generation",
            about="same generation in families with second parents",
            unit="people",
            sizes=(16_000, 32_000, 64_000),
            quick=(400, 800),
            outputs=("same",),
            make=generated(family),
        ),
        Workload(
            name="crdt-negation",
            program="crdt_negation",
            about="order of a replicated text, largest sibling by negation",
            unit="insertions",
            sizes=(45_578, 91_157, 182_315),
            quick=(1_000, 2_000),
            outputs=("next_visible",),
            make=read(trace),
        ),
        Workload(
            name="crdt-aggregates",
            program="crdt_aggregates",
            about="order of a replicated text, largest sibling by max",
            unit="insertions",
            sizes=(45_578, 91_157, 182_315),
            quick=(1_000, 2_000),
            outputs=("next_visible",),
            make=read(trace),
            same_as="crdt-negation",
        ),
        Workload(
            name="rdfs",
            program="rdfs",
            about="RDFS entailment over copies of LUBM(1)",
            unit="universities",
            sizes=(1, 2, 4),
            quick=(1,),
            outputs=("triple",),
            make=read(universities),
        ),
    ]
}
