"""What `.input` and `.output` say of the form of their data, whatever engine reads or writes it."""

from __future__ import annotations

from collections.abc import Sequence

from whence.lang.program import Directive, Relation

from .reading import FactsError

IMPLIED = {".parquet": "parquet", ".jsonl": "jsonlines", ".ndjson": "jsonlines"}
ENDINGS = {"parquet": ".parquet", "jsonlines": ".jsonl"}
ONLY_SPARK = ("jdbc", "table")


class RowError(FactsError):
    """What is wrong with a row of something that has no lines; rows count from 1."""

    def __init__(self, source: str, row: int, message: str, hint: str = "") -> None:
        super().__init__(source, row, 0, message, hint)

    def __str__(self) -> str:
        return f"{self.file}: row {self.line}: {self.message}"


def form_of(directive: Directive) -> str:
    """The IO that is given, or that the ending of the file's name implies."""
    given = directive.parameters
    if "IO" in given:
        return given["IO"]
    name = given.get("filename", "")
    return next((form for ending, form in IMPLIED.items() if name.endswith(ending)), "file")


def is_text(directive: Directive) -> bool:
    """Whether it is about Soufflé's lines, in a file or on a standard stream."""
    return form_of(directive) in ("file", "stdin", "stdout", "stdoutprintsize")


def filename_of(directive: Directive) -> str:
    usual = ".facts" if directive.kind == "input" else ".csv"
    ending = ENDINGS.get(form_of(directive), usual)
    return directive.parameters.get("filename", directive.relation + ending)


def matched(names: Sequence[str], relation: Relation, source: str) -> list[int]:
    """For each column of the relation, which of the source it is: by name, or by order if it has none of them."""
    for known in (list(names), [name.casefold() for name in names]):
        wanted = [column.name if known == names else column.name.casefold() for column in relation.columns]
        if set(wanted) <= set(known) and len(set(wanted)) == len(wanted):
            return [known.index(name) for name in wanted]
    missing = [column.name for column in relation.columns if column.name not in names]
    if len(missing) == relation.arity == len(names):
        return list(range(relation.arity))
    shown = ", ".join(names) or "none"
    which = f"the column {missing[0]}" if len(missing) == 1 else f"the columns {', '.join(missing)}"
    hint = "name them as the relation does, or give exactly as many, in its order, under other names"
    raise FactsError(source, 0, 0, f"{relation.name} needs {which}, but the columns there are {shown}", hint)
