"""`whence explain`: why a tuple of a state is there, or why it is not."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.errors import WhenceError

if TYPE_CHECKING:
    from whence.explain.answers import Answer

FORMATS = ("text", "json", "dot", "svg", "html")
WIDTH = 100  # where there is no terminal


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "explain",
        help="say why a tuple is there, or why it is not",
        description="Shows a proof of a tuple such as 'path(1, 4)', or of one of the matches of 'path(1, X)'. With "
        "--not, shows what each rule that could have made it lacks. Without a query, asks for questions.",
    )
    parser.add_argument("state", metavar="STATE", help="a folder that `whence run --state` wrote")
    parser.add_argument("query", metavar="QUERY", nargs="?", help="a tuple or a pattern; without it, a prompt")
    parser.add_argument("--not", dest="absent", action="store_true", help="why it is not there")
    parser.add_argument("--depth", type=_count, metavar="N", help="levels of the proof (default: as many as fit)")
    parser.add_argument("--format", choices=FORMATS, default="text", help="the form of the answer (default: text)")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="the same as --format json")
    parser.add_argument(
        "--metric",
        choices=["iteration", "height", "size"],
        default="iteration",
        help="which proof is the smallest: by iterations of its stratum (default), height, or number of tuples",
    )
    parser.add_argument("--choose", type=_count, default=1, metavar="N", help="explain the N-th match of a pattern")
    parser.add_argument("--proofs", type=_count, metavar="N", help="show up to N different proofs")
    parser.add_argument("--steps", action="store_true", help="show all derivations of the tuple, one step of each")
    parser.add_argument("--rule", type=_count, metavar="N", help="with --not: look at this rule only")
    parser.add_argument(
        "--set", action="append", default=[], metavar="VAR=VALUE", help="with --not: a value for a variable; repeatable"
    )
    parser.add_argument("--epoch", type=_count, metavar="N", help="explain that epoch (default: the last)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of standard output")
    parser.add_argument("--width", type=_count, metavar="N", help="columns of text (default: those of the terminal)")
    parser.add_argument("--colour", choices=["auto", "always", "never"], default="auto", help="colours in text")
    parser.set_defaults(command=explain)
    _take_options_between(parser)


def _take_options_between(parser: argparse.ArgumentParser) -> None:
    """`STATE --not QUERY` too: by itself, argparse would end the positional arguments with the first option."""
    plain = parser.parse_known_args
    inside = False

    def parse(args: Any = None, namespace: Any = None) -> Any:
        nonlocal inside
        if inside:
            return plain(args, namespace)
        inside = True
        try:
            return parser.parse_known_intermixed_args(args, namespace)
        finally:
            inside = False

    parser.parse_known_args = parse  # type: ignore[method-assign]


def explain(options: argparse.Namespace) -> int:
    from whence.cli.console import Console
    from whence.explain import in_store
    from whence.store import Store

    state = in_store(Store.open(options.state), options.epoch, Console(quiet=False).announce)
    if options.query is None:
        from whence.cli.prompt import Prompt

        return Prompt(state, options.metric, options.depth, options.format, width_of(options), coloured(options)).run()
    shown = [_shown(answer, options) for answer in _answers(state, options)]
    text = f"[{', '.join(shown)}]" if options.format == "json" and options.proofs else "\n\n".join(shown)
    if options.output is not None:
        try:
            Path(options.output).write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise WhenceError(f"cannot write {options.output}: {error.strerror or error}") from None
    else:
        print(text)
    return 0


def _answers(state: Any, options: argparse.Namespace) -> Sequence[Answer]:
    from whence.explain import Explainer
    from whence.explain import explain as explained
    from whence.explain import why_not as absent

    explainer = Explainer(state, options.metric)
    if options.absent:
        return [absent(explainer, options.query, options.rule, values_of(options.set))]
    if options.rule is not None or options.set:
        raise WhenceError("--rule and --set are for --not")
    explanation = explained(explainer, options.query, options.depth, options.choose)
    if options.steps:
        return [explanation.derivations()]
    return explanation.proofs(options.proofs) if options.proofs else [explanation]


def _shown(answer: Answer, options: argparse.Namespace) -> str:
    from whence.explain import rendered

    return rendered(answer, options.format, width_of(options), coloured(options))


def width_of(options: argparse.Namespace) -> int:
    if options.width:
        return int(options.width)
    return shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else WIDTH


def coloured(options: argparse.Namespace) -> bool:
    if options.colour != "auto":
        return bool(options.colour == "always")
    return sys.stdout.isatty() and options.output is None and not os.environ.get("NO_COLOR")


def values_of(settings: Sequence[str]) -> dict[str, object]:
    """`Var2="ins"` and `n=3` as values; what is neither in quotes nor a number is a symbol."""
    values: dict[str, object] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise WhenceError(f'{text}: a value is written VAR=VALUE, such as Var2="ins"')
        try:
            values[name.strip()] = json.loads(value)
        except ValueError:
            values[name.strip()] = value.strip()
    return values


def _count(text: str) -> int:
    number = int(text.replace("_", ""))
    if number < 0:
        raise ValueError
    return number
