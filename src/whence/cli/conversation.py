"""What the prompt of `whence repl` answers, statement by statement, wherever they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from whence.changes import parse_change
from whence.cli.apply import impact_lines, rule_lines
from whence.cli.console import Console
from whence.cli.prompt import Prompt
from whence.cli.statements import statement
from whence.cli.text import columns, shown, signed, time_text
from whence.errors import WhenceError
from whence.explain import state_of
from whence.history import program_changes, total
from whence.lang.diagnostics import nearest
from whence.lang.program import Const
from whence.lang.query import compile_query
from whence.lang.tokens import DIRECTIVES
from whence.maintain import Impact
from whence.saving import impact_sizes
from whence.session import Session
from whence.tables import Progress

HELP = """\
edge(1, 2).                           add a fact; + in front of it means the same
- edge(1, 2).                         take it back
path(x, y) :- edge(x, y).             add a rule, on as many lines as it needs
- path(x, y) :- edge(x, y).           take it back
.decl edge(x: number, y: number)      declare a relation; - .decl edge takes it back
path(1, X)                            ask for the tuples that match; or path(1, X), X > 3

:explain TUPLE      why a tuple is there; then :next, :steps, :choose N
:why-not TUPLE      why it is not; then :rule N [X=1 …], :ask N
:depth N, :format F, :metric M        of explanations, as in `whence explain`
:relations          the relations and how many tuples they have
:program            the text of the program
:load RELATION FILE                   add the tuples of a file
:apply FILE         a file or folder of changes, as one epoch
:undo               take the last epoch back
:log                the epochs so far
:show N             how many tuples are shown
:save [FOLDER]      keep the state in a folder, from which `whence repl FOLDER` goes on
:help, :quit"""
EXPLAINING = ("explain", "choose", "next", "steps", "why-not", "rule", "ask", "depth", "format", "metric")
ANSWERS = 50  # tuples of an answer that are shown in any case


class Conversation:
    """Changes and asks a session. `unsaved` is how many epochs were made since it was kept."""

    def __init__(self, session: Session, console: Console, strategy: str, show: int) -> None:
        self.session = session
        self.console = console
        self.strategy = strategy
        self.show = show
        self.unsaved = 0
        self._prompt = Prompt(state_of(session.engine.tables), "iteration", None, "text", 100, False)
        self.commands: dict[str, Callable[[str], str]] = {
            "apply": self._apply,
            "help": lambda rest: HELP,
            "load": self._load,
            "log": self._log,
            "program": self._program,
            "relations": self._relations,
            "save": self._save,
            "show": self._show,
            "undo": self._undo,
            **{word: self._explaining(word) for word in EXPLAINING},
        }
        self.words = frozenset([*self.commands, "quit", "exit"])

    def greeting(self) -> str:
        program = self.session.program
        held = sum(len(self.session[name]) for name in program.relations)
        sizes = f"{_many(len(program.relations), 'relation')}, {_many(len(program.rules), 'rule')}"
        return f"{program.file}: {sizes}, {_many(held, 'tuple')}. `:help` tells what to type."

    def left(self) -> str:
        return f"{_many(self.unsaved, 'epoch')} not kept; `:save FOLDER` would have"

    def reply(self, text: str) -> str | None:
        """The answer to a statement; what is wrong with it is an answer too. None means to end."""
        try:
            return self.answer(text)
        except WhenceError as error:
            return str(error)

    def answer(self, text: str) -> str | None:
        said = statement(text, self.words)
        if said is None:
            return ""
        if said.kind == "change":
            return self._change(said.text)
        if said.kind == "query":
            return self._query(said.text)
        word, _, rest = said.text.partition(" ")
        if word in ("quit", "exit"):
            return None
        if word not in self.commands:
            near = nearest(word, self.words)
            raise WhenceError(f"there is no command :{word}; " + (f"did you mean :{near}?" if near else "try :help"))
        return self.commands[word](rest.strip())

    def completions(self, before: str) -> Iterable[str]:
        """What may follow, after what was typed so far."""
        if before.lstrip().startswith(":"):
            yield from (f":{word}" for word in sorted(self.words))
        yield from (f".{word}" for word in DIRECTIVES[:6])
        yield from (f"{name}(" for name in self.session.program.relations)
        yield from ("count : {", "sum ", "min ", "max ", "number", "symbol", "unsigned", "float")

    # Changes

    def _change(self, text: str) -> str:
        change = parse_change(text, self.session.program, "<input>", sign="+")
        return self._made(lambda progress: self.session.apply(change, strategy=self.strategy, progress=progress))

    def _load(self, rest: str) -> str:
        relation, _, path = rest.partition(" ")
        if not path:
            raise WhenceError("load what? give a relation and a file, such as :load edge edge.facts")
        source = path.strip()
        return self._made(
            lambda progress: self.session.update(insert={relation: source}, strategy=self.strategy, progress=progress)
        )

    def _apply(self, path: str) -> str:
        from whence.changes import read_change

        if not path:
            raise WhenceError("apply what? give a file or folder of changes")
        change = read_change(path, self.session.program)
        return self._made(lambda progress: self.session.apply(change, strategy=self.strategy, progress=progress))

    def _undo(self, _: str) -> str:
        return self._made(self.session.undo, "back to epoch")

    def _made(self, make: Callable[[Progress], Impact], what: str = "epoch") -> str:
        """Makes an epoch, and tells what came of it."""
        before = self.session.program
        with self.console.progress(self.session) as progress:
            impact = make(progress)
        self.unsaved += 1
        self._prompt.renew(state_of(self.session.engine.tables))
        after = self.session.program
        lines = [] if after is before else rule_lines(program_changes(before, after))
        if impact.strata or impact.inserted or impact.deleted or not lines:
            lines += impact_lines(impact, after, self.show, before)
        strata = ", ".join(f"{'+'.join(s.relations)} by {s.strategy}" for s in impact.strata)
        lines.append(f"{what} {impact.epoch}: {time_text(impact.seconds)}" + (f" ({strata})" if strata else ""))
        return "\n".join(lines)

    # Questions

    def _query(self, text: str) -> str:
        from whence.queries import ask

        answer = ask(self.session, text, limit=max(ANSWERS, self.show))
        pattern = compile_query(text, self.session.program).pattern
        if not answer.columns or (pattern is not None and all(isinstance(term, Const) for term in pattern.args)):
            return "yes" if answer.found else "no"
        lines = columns([answer.columns, *([shown(value) for value in values] for values in answer.tuples)])
        if answer.found > len(answer.tuples):
            lines.append(f"… {answer.found - len(answer.tuples):,} more")
        return "\n".join([*lines, _many(answer.found, "tuple")])

    def _explaining(self, word: str) -> Callable[[str], str]:
        return lambda rest: self._prompt.commands[word](rest)

    def _relations(self, _: str) -> str:
        rows = []
        for name, relation in self.session.program.relations.items():
            declared = ", ".join(f"{column.name}: {column.type}" for column in relation.columns)
            rows.append((f"{name}({declared})", f"{len(self.session[name]):,}"))
        return "\n".join(columns(rows, right=(1,))) if rows else "there is none yet; declare one: .decl edge(x: number)"

    def _program(self, _: str) -> str:
        return (self.session.program.text or "").rstrip("\n")

    def _log(self, _: str) -> str:
        rows = [
            (str(one.epoch), signed(total(impact_sizes(one))), one.strategy, time_text(one.seconds))
            for one in self.session.epochs
        ]
        return "\n".join(columns([("epoch", "impact", "strategy", "time"), *rows], right=(0, 3)))

    # Settings and files

    def _show(self, number: str) -> str:
        if not number.isdecimal():
            raise WhenceError("show how many? give a number, such as :show 20")
        self.show = int(number)
        return f"{_many(self.show, 'tuple')} of each kind"

    def _save(self, folder: str) -> str:
        saved = self.session.saved
        if not folder and saved is None:
            raise WhenceError("save where? give a folder, such as :save state")
        target = Path(folder) if folder or saved is None else saved.store.root
        epoch = self.session.save(target)
        self.unsaved = 0
        return f"kept in {target} as epoch {epoch.number}"


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
