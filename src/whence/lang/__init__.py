"""The language: a text in the Soufflé dialect goes in, a checked `Program` of core rules comes out.

    program = load("pointsto.dl")
    program = compile_text(".decl edge(x: number, y: number) …")

Both raise `ProgramError`, which holds every error that was found; warnings go to `warn`, one by one.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from whence.lang.compiler import compile_atom, compile_source
from whence.lang.diagnostics import Diagnostic, Note, ProgramError, Source, render
from whence.lang.program import Atom, Program, Span

__all__ = [
    "Diagnostic",
    "Note",
    "Program",
    "ProgramError",
    "compile_text",
    "load",
    "parse_atom",
    "render",
]


def compile_text(text: str, file: str = "<program>", *, warn: Callable[[Diagnostic], None] | None = None) -> Program:
    """Compiles a text; `file` is the name that diagnostics and origins give it."""
    return compile_source(Source(text, file), warn)


def load(path: str | os.PathLike[str], *, warn: Callable[[Diagnostic], None] | None = None) -> Program:
    """Compiles a file."""
    file = os.fspath(path)
    try:
        with open(file, "rb") as stream:
            content = stream.read()
    except OSError as error:
        raise _unreadable(file, f"cannot read the program: {error.strerror or error}", "check the path") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8", "replace")
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        message = f"the program is not UTF-8: byte 0x{content[error.start]:02x}"
        raise _unreadable(file, message, "save the file as UTF-8", line, column) from None
    return compile_text(text, file, warn=warn)


def parse_atom(text: str, program: Program) -> Atom:
    """The core atom of a pattern such as `path(1, X)`, checked against a program."""
    return compile_atom(text, program)


def _unreadable(file: str, message: str, hint: str, line: int = 1, column: int = 1) -> ProgramError:
    return ProgramError([Diagnostic("error", Span(file, line, column, line, column), message, hint)])
