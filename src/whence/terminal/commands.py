"""The commands of the terminal debugger: one line in, a text out. The screen and a plain prompt share them."""

from __future__ import annotations

import re
from collections.abc import Callable

from whence.errors import WhenceError
from whence.step import Breakpoint, Debugger, FrameShown, Stop
from whence.step.guide import Guide
from whence.terminal.view import ROWS, plain, stack, table, whole

HELP = """\
into, i [N]        go on to the next atom, into the call if one is next; N times
over, o [N]        the same, over the call
out, u             leave the current call
resume, r          run to the next breakpoint, or to the end
step [over]        one reduction of the semantics
back, b [N]        take the last step back; `back breakpoint` back to a breakpoint
to LINE            run to a line
restart            begin again
follow, f          to the next step of the proof, or to where the next rule fails (with --why, --why-not)
break WHERE [if CONDITION] [hits N]
                   stop at a line (12), a place (12:20), a relation (path), a rule of it (path/2), an atom of that
                   (path/2/1); CONDITION is a body over the rule's variables; hits: 3, >= 3, % 3
breakpoints        list them; delete N, on N, off N
print, p BODY      the values for which `edge(X, Z), Z > 3` holds here; derived relations as far as they are known
final BODY         the same with what they will be in the end
watch BODY         print it at every stop; `watch` lists them, unwatch N
stack, frame N     the calls under way; look at another one
show [arguments|result|bindings|rule] [FROM]
known RELATION     what was derived of it so far
help, quit         an empty line repeats the last step"""

SHORT = {"i": "into", "o": "over", "u": "out", "r": "resume", "b": "back", "f": "follow", "p": "print", "q": "quit"}
REPEATED = ("into", "over", "out", "resume", "step", "back", "follow")
BREAK = re.compile(r"(?P<where>\S+)(?:\s+if\s+(?P<condition>.*?))?(?:\s+hits\s+(?P<hits>[=<>%\s\d]+))?")


class Leave(Exception):
    """The user is done."""


class Commands:
    def __init__(self, debugger: Debugger, guide: Guide | None = None) -> None:
        self.debugger = debugger
        self.guide = guide
        self.chosen = 0  # the frame that is looked at
        self.last = "over"
        self.commands: dict[str, Callable[[str], str]] = {
            "into": lambda rest: self._times(rest, lambda: self.debugger.into("atom")),
            "over": lambda rest: self._times(rest, lambda: self.debugger.over("atom")),
            "out": lambda rest: self._stopped(self.debugger.out()),
            "resume": lambda rest: self._stopped(self.debugger.resume()),
            "step": self._step,
            "back": self._back,
            "to": self._to,
            "restart": lambda rest: self._stopped(self.debugger.restart()),
            "follow": self._follow,
            "break": self._break,
            "breakpoints": self._breakpoints,
            "delete": self._delete,
            "on": lambda rest: self._turn(rest, True),
            "off": lambda rest: self._turn(rest, False),
            "print": lambda rest: self._print(rest, False),
            "final": lambda rest: self._print(rest, True),
            "watch": self._watch,
            "unwatch": self._unwatch,
            "stack": lambda rest: plain(stack(self.debugger, self.chosen, 1000)),
            "frame": self._frame,
            "show": self._show,
            "known": self._known,
            "help": lambda rest: HELP,
            "quit": self._quit,
        }

    def reply(self, line: str) -> str:
        """The answer to a line; what is wrong with it is an answer too."""
        line = line.strip() or self.last
        word, _, rest = line.partition(" ")
        word = SHORT.get(word, word)
        if word not in self.commands:
            return f"there is no command {word!r}; try `help`"
        if word in REPEATED:
            self.last = line
        try:
            return self.commands[word](rest.strip())
        except WhenceError as error:
            return str(error)

    @property
    def frame(self) -> FrameShown:
        """The frame that is looked at."""
        return self.debugger.calls(self.chosen, 1)[0]

    # Steps

    def _stopped(self, stop: Stop) -> str:
        self.chosen = 0
        prefix = "(the beginning of what can be gone back to)\n" if stop.reason == "beginning" else ""
        return prefix + whole(self.debugger)

    def _times(self, rest: str, step: Callable[[], Stop]) -> str:
        stop = None
        for _ in range(_number(rest or "1")):
            stop = step()
            if stop.reason != "step":
                break
        if stop is None:
            raise WhenceError("how many steps? give a number of at least 1")
        return self._stopped(stop)

    def _step(self, rest: str) -> str:
        if rest not in ("", "over", "into"):
            raise WhenceError("write `step`, or `step over`")
        return self._stopped(self.debugger.over() if rest == "over" else self.debugger.into())

    def _back(self, rest: str) -> str:
        if rest and "breakpoint".startswith(rest):
            return self._stopped(self.debugger.back_to_breakpoint())
        by = "reduction" if self.last.startswith("step") else "atom"
        return self._times(rest, lambda: self.debugger.back(by))  # type: ignore[arg-type]

    def _to(self, rest: str) -> str:
        line, _, column = rest.partition(":")
        return self._stopped(self.debugger.run_to(_number(line), _number(column) if column else None))

    def _follow(self, _: str) -> str:
        if self.guide is None:
            raise WhenceError("there is nothing to follow: start with --why 'path(1, 4)' or --why-not 'path(4, 1)'")
        said = self.guide.follow()
        return self._stopped(self.debugger.stop) + (f"\n{said}" if said else "")

    # Breakpoints

    def set_breakpoint(self, rest: str) -> Breakpoint:
        """Sets one that is written as `break` takes it."""
        found = BREAK.fullmatch(rest)
        if found is None:
            raise WhenceError("break where? `break 12`, `break path/2 if X > 3`, `break path hits 3`")
        return self._set(found["where"], found["condition"], (found["hits"] or "").strip())

    def _break(self, rest: str) -> str:
        return str(self.set_breakpoint(rest))

    def _set(self, where: str, condition: str | None, hits: str) -> Breakpoint:
        if where == "here":
            place = self.debugger.frame.place
            return self.debugger.break_at(place.line, column=place.column, condition=condition, hits=hits)
        if re.fullmatch(r"\d+(:\d+)?", where):
            line, _, column = where.partition(":")
            number = _number(column) if column else None
            return self.debugger.break_at(_number(line), column=number, condition=condition, hits=hits)
        relation, *numbers = where.split("/")
        rule, atom = ([_number(n) for n in numbers] + [None, None])[:2]
        return self.debugger.break_at(relation, rule=rule, atom=atom, condition=condition, hits=hits)

    def _breakpoints(self, _: str) -> str:
        return "\n".join(f"{one}, met {one.met} times" for one in self.debugger.breakpoints) or "no breakpoints"

    def _delete(self, rest: str) -> str:
        self.debugger.delete(_number(rest))
        return self._breakpoints("")

    def _turn(self, rest: str, on: bool) -> str:
        number = _number(rest)
        for one in self.debugger.breakpoints:
            if one.number == number:
                one.enabled = on
                return str(one)
        raise WhenceError(f"there is no breakpoint {number}")

    # Looking

    def _print(self, rest: str, final: bool) -> str:
        if not rest:
            raise WhenceError("print what? give a body, such as print edge(X, Z), Z > 3")
        return plain(table(self.debugger.evaluate(rest, self.chosen, final), 0, 50))

    def _watch(self, rest: str) -> str:
        if rest:
            self.debugger.watch(rest)
        return whole(self.debugger) if self.debugger.watches else "no watches"

    def _unwatch(self, rest: str) -> str:
        number = _number(rest)
        if not 1 <= number <= len(self.debugger.watches):
            raise WhenceError(f"there is no watch {number}")
        del self.debugger.watches[number - 1]
        return ""

    def _frame(self, rest: str) -> str:
        number = _number(rest)
        if not 0 <= number < self.debugger.depth:
            raise WhenceError(f"there is no frame {number}; `stack` lists them")
        self.chosen = number
        return whole(self.debugger, self.chosen)

    def _show(self, rest: str) -> str:
        word, _, start = rest.partition(" ")
        if word.isdigit():
            word, start = "", word
        if self.debugger.done:
            return whole(self.debugger)
        frame = self.frame
        first = max(0, _number(start or "1") - 1)
        match word:
            case "arguments":
                return plain(table(frame.arguments, first, 50))
            case "result":
                return plain(table(frame.result, first, 50))
            case "rule":
                return frame.rule or "all rules are done"
            case "" | "bindings":
                return plain(table(frame.bindings or frame.result, first, 50))
        raise WhenceError("show what? arguments, result, bindings or rule")

    def _known(self, rest: str) -> str:
        name, _, start = rest.partition(" ")
        if name not in self.debugger.program.relations:
            raise WhenceError(f"the program has no relation {name!r}")
        return plain(table(self.debugger.known(name), max(0, _number(start or "1") - 1), max(ROWS, 50)))

    def _quit(self, _: str) -> str:
        raise Leave


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise WhenceError(f"{text!r} is not a number") from None
