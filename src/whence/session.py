"""A session: a program, its input, and after `run` its results."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from whence.errors import WhenceError
from whence.lang import Diagnostic, Program, compile_text, load
from whence.maintain import Progress, bootstrap
from whence.plan import Statistics
from whence.results import Result

ENGINES = ("local",)


def open(
    program: str | os.PathLike[str] | Program | None = None,
    *,
    text: str | None = None,
    engine: str = "local",
    counts: bool = True,
    warn: Callable[[Diagnostic | str], None] | None = None,
    announce: Callable[[str], None] | None = None,
) -> Session:
    """Opens a session on a program: the path of a `.dl` file, a `Program`, or `text`.

    `counts=False` leaves out the number of derivations of each tuple, which results do not need but maintaining and
    explaining them do. `warn` hears warnings about the program and its evaluation, `announce` what takes a while.
    """
    if (program is None) == (text is None):
        raise WhenceError("give the path of a program, or its text: whence.open('a.dl') or whence.open(text='…')")
    if engine not in ENGINES:
        raise WhenceError(f"there is no engine {engine!r}; the engines are: {', '.join(ENGINES)}")
    if text is not None:
        program = compile_text(text, warn=warn)
    elif not isinstance(program, Program):
        assert program is not None
        program = load(program, warn=warn)
    return Session(program, counts, warn, announce)


class Session:
    """`s["path"]` is a relation: the tuples that were put in and, after `run`, those that follow from them."""

    def __init__(
        self,
        program: Program,
        counts: bool = True,
        warn: Callable[[Diagnostic | str], None] | None = None,
        announce: Callable[[str], None] | None = None,
    ) -> None:
        from whence.engines.local.tables import LocalTables

        self.program = program
        self._tables = LocalTables(program, counts, warn or (lambda message: None), announce)
        self._evaluated = False

    def __repr__(self) -> str:
        state = "evaluated" if self._evaluated else "not run yet"
        return f"<whence session: {len(self.program.relations)} relations, {len(self.program.rules)} rules, {state}>"

    def __getitem__(self, relation: str) -> Result:
        self._check(relation)
        return Result(self.program.relations[relation], self._tables)

    def __iter__(self) -> Iterator[str]:
        """The names of the relations."""
        return iter(self.program.relations)

    def load(self, **relations: Any) -> None:
        """Adds input tuples, by relation: a list of tuples, a `.facts` file, a NumPy array, an Arrow, pandas or
        Polars table."""
        for relation in relations:
            self._check(relation)
        self._reopen()
        for relation, source in relations.items():
            self._load(relation, source)

    def read_inputs(self, folder: str | os.PathLike[str] = ".") -> None:
        """Reads what the `.input` directives name; relative file names are in `folder`."""
        from whence.engines.local.directives import read_input

        self._reopen()
        for directive in self.program.directives_of("input"):
            read_input(directive, Path(folder), self._tables)

    def run(self, progress: Progress | None = None) -> None:
        """Evaluates the rules. If it is interrupted, the session has its input only."""
        self._reopen()
        self._evaluated = True
        try:
            bootstrap(self.program, self._tables, progress)
        except BaseException:
            self._reopen()
            raise

    @property
    def statistics(self) -> Statistics:
        """What the planner knows of the relations."""
        return self._tables

    def on_tick(self, tick: Callable[[], None]) -> None:
        """Calls `tick` every now and then while the rules are evaluated."""
        self._tables.tick = tick

    def write_outputs(self, folder: str | os.PathLike[str] = ".") -> None:
        """Writes what the `.output` and `.printsize` directives name; relative file names are in `folder`."""
        from whence.engines.local.directives import write_outputs

        write_outputs(self.program, Path(folder), self._tables)

    def _check(self, relation: str) -> None:
        if relation not in self.program.relations:
            near = difflib.get_close_matches(relation, self.program.relations, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(self.program.relations)}"
            raise WhenceError(f"the program has no relation {relation!r}; {hint}")

    def _reopen(self) -> None:
        if self._evaluated:
            self._tables.drop_derived()
            self._evaluated = False

    def _load(self, name: str, source: Any) -> None:
        from whence.engines.local import loading

        relation = self.program.relations[name]
        if isinstance(source, str | os.PathLike):
            loading.from_file(relation, source, self._tables)
        elif hasattr(source, "__arrow_c_stream__"):
            loading.from_arrow(relation, source, self._tables)
        elif hasattr(source, "dtype") and hasattr(source, "shape"):
            loading.from_array(relation, source, self._tables)
        else:
            loading.from_tuples(relation, source, self._tables)
