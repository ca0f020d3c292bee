"""The prompt of `whence explain STATE`: questions one after the other, each answer a place to go on from."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from whence.cli.explain import FORMATS, values_of
from whence.errors import WhenceError
from whence.explain import Absence, Explainer, Explanation, State, explain, rendered, why_not
from whence.explain.answers import Answer

HELP = """\
explain TUPLE     why a tuple is there; a pattern such as path(1, X) lists its matches; `explain` may be left out
choose N          explain another match
next              another proof
steps             all derivations of the tuple, one step of each
why-not TUPLE     why a tuple is not there
rule N [X=1 …]    ask again, of one rule and with values for its variables
ask N             go on to the N-th part that fails
depth N           levels of proofs from now on; `depth all` for as many as fit
format F          text, json, dot, svg or html; `format html page.html` writes the last answer to a file
metric M          iteration, height or size
relations         the relations of the program
help, quit"""


class Prompt:
    def __init__(self, state: State, metric: str, depth: int | None, format: str, width: int, colour: bool) -> None:
        self.state = state
        self.metric = metric
        self.explainer = Explainer(state, metric)
        self.depth = depth
        self.format = format
        self.width = width
        self.colour = colour
        self.answer: Answer | None = None
        self.asked: str = ""  # the last query, of a tuple that is there or is not
        self.commands: dict[str, Callable[[str], str]] = {
            "explain": self._explain,
            "choose": self._choose,
            "next": self._next,
            "steps": self._steps,
            "why-not": self._why_not,
            "rule": self._rule,
            "ask": self._ask,
            "depth": self._depth,
            "format": self._format,
            "metric": self._metric,
            "relations": self._relations,
            "help": lambda rest: HELP,
        }

    def run(self) -> int:
        """Reads questions until there are no more."""
        with suppress(ImportError):
            self._prepare_line_editing()
        if sys.stdin.isatty():
            print("Ask for a tuple, such as path(1, 4), or `help`.")
        while True:
            try:
                line = input("> ").strip()
            except EOFError:
                if sys.stdin.isatty():
                    print()
                return 0
            except KeyboardInterrupt:
                print()
                continue
            if line in ("quit", "exit"):
                return 0
            if line:
                with suppress(KeyboardInterrupt):
                    print(self.reply(line))

    def reply(self, line: str) -> str:
        """The answer to one line; what is wrong with it is an answer too."""
        word, _, rest = line.partition(" ")
        try:
            if word in self.commands:
                return self.commands[word](rest.strip())
            if "(" in line:
                return self._explain(line)
            return f"there is no command {word!r}; try `help`"
        except WhenceError as error:
            return str(error)

    # Commands

    def _explain(self, query: str) -> str:
        if not query:
            raise WhenceError("explain what? give a tuple, such as explain path(1, 4)")
        self.asked = query
        return self._show(explain(self.explainer, query, self.depth))

    def _choose(self, number: str) -> str:
        return self._show(explain(self.explainer, self._explanation()._query.text, self.depth, _number(number)))

    def _next(self, _: str) -> str:
        return self._show(self._explanation().next())

    def _steps(self, _: str) -> str:
        return rendered(self._explanation().derivations(), self.format, self.width, self.colour)

    def _why_not(self, query: str) -> str:
        if not query:
            raise WhenceError("why not what? give a tuple, such as why-not path(1, 9)")
        self.asked = query
        return self._show(why_not(self.explainer, query))

    def _rule(self, rest: str) -> str:
        self._absence()
        number, *settings = rest.split() or [""]
        return self._show(why_not(self.explainer, self.asked, _number(number), values_of(settings)))

    def _ask(self, number: str) -> str:
        absence = self._absence()
        failing = list(dict.fromkeys(absence.failing))
        chosen = _number(number or "1")
        if not 1 <= chosen <= len(failing):
            raise WhenceError(f"there are {len(failing)} parts that fail")
        self.asked = failing[chosen - 1]
        return self._show(absence.ask(self.asked))

    def _depth(self, depth: str) -> str:
        self.depth = None if depth in ("all", "") else _number(depth)
        return "depth " + ("as many as fit" if self.depth is None else str(self.depth))

    def _format(self, rest: str) -> str:
        name, _, path = rest.partition(" ")
        if name not in FORMATS:
            raise WhenceError(f"there is no format {name!r}; the formats are: {', '.join(FORMATS)}")
        if not path:
            self.format = name
            return f"format {name}"
        if self.answer is None:
            raise WhenceError("there is no answer yet to write")
        try:
            Path(path.strip()).write_text(rendered(self.answer, name) + "\n", encoding="utf-8")
        except OSError as error:
            raise WhenceError(f"cannot write {path.strip()}: {error.strerror or error}") from None
        return f"written to {path.strip()}"

    def _metric(self, name: str) -> str:
        self.explainer = Explainer(self.state, name)
        self.metric = name
        return f"metric {name}"

    def renew(self, state: State) -> None:
        """The state is another one; what was answered of the one before is no place to go on from."""
        self.state, self.answer = state, None
        self.explainer = Explainer(state, self.metric)

    def _relations(self, _: str) -> str:
        relations = self.state.program.relations.values()
        return "\n".join(f"{r.name}({', '.join(f'{c.name}: {c.type}' for c in r.columns)})" for r in relations)

    # Answers

    def _show(self, answer: Answer) -> str:
        self.answer = answer
        shown = rendered(answer, self.format, self.width, self.colour)
        if self.format == "text" and isinstance(answer, Absence) and answer.failing:
            parts = [f"{n}  {part}" for n, part in enumerate(dict.fromkeys(answer.failing), 1)]
            shown += "\n\nask about a part that fails:\n" + "\n".join(parts)
        return shown

    def _explanation(self) -> Explanation:
        if not isinstance(self.answer, Explanation):
            raise WhenceError("explain a tuple first")
        return self.answer

    def _absence(self) -> Absence:
        if not isinstance(self.answer, Absence):
            raise WhenceError("ask why a tuple is not there first")
        return self.answer

    # Editing

    def _prepare_line_editing(self) -> None:
        import readline

        if not sys.stdin.isatty():
            return
        words = [*self.commands, "quit", *(f"{name}(" for name in self.state.program.relations)]
        words += [*FORMATS, "iteration", "height", "size"]

        def complete(text: str, number: int) -> str | None:
            found = [word for word in words if word.startswith(text)]
            return found[number] if number < len(found) else None

        readline.set_completer(complete)
        readline.set_completer_delims(" ,()")
        readline.parse_and_bind("tab: complete")
        history = _history()
        with suppress(OSError):
            history.parent.mkdir(parents=True, exist_ok=True)
            if history.exists():
                readline.read_history_file(history)
            readline.set_history_length(1000)
            import atexit

            atexit.register(_keep, readline.write_history_file, history)


def _history() -> Path:
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "whence" / "explain_history"


def _keep(write: Callable[[Path], None], history: Path) -> None:
    with suppress(OSError):
        write(history)


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise WhenceError(f"{text!r} is not a number") from None
