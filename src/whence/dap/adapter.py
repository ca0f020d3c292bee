"""What each request of an editor does: one function a command, named after it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import whence
from whence.dap.messages import Sender
from whence.dap.variables import References, Relations, summary
from whence.errors import WhenceError
from whence.plan.text import value_text
from whence.session import Session
from whence.step import Breakpoint, Debugger, Stop
from whence.step.guide import AlongProof, ToFailures

THREAD = 1
QUERY_SOURCE = 1  # the text of the query, which is in no file
CAPABILITIES = {
    "supportsConfigurationDoneRequest": True,
    "supportsFunctionBreakpoints": True,
    "supportsConditionalBreakpoints": True,
    "supportsHitConditionalBreakpoints": True,
    "supportsEvaluateForHovers": True,
    "supportsStepBack": True,
    "supportsRestartRequest": True,
    "supportsTerminateRequest": True,
    "supportsSteppingGranularity": True,
    "supportsDelayedStackTraceLoading": True,
    "supportsValueFormattingOptions": False,
}
REASONS = {"step": "step", "breakpoint": "breakpoint", "paused": "pause", "beginning": "entry"}
SHOWN_ANSWERS = 100  # tuples of the answer that are written out

Arguments = Mapping[str, Any]


class Refused(WhenceError):
    """The request cannot be done now."""


class Adapter:
    """One session of an editor. `handle` answers a request and then does what it starts."""

    def __init__(self, sender: Sender, paused: Callable[[], bool]) -> None:
        self.sender = sender
        self.paused = paused
        self.closed = False
        self._session: Session | None = None
        self._debugger: Debugger | None = None
        self._file = ""
        self._references = References()
        self._launched: Arguments = {}
        self._lines_from = 1
        self._columns_from = 1
        self._by_source: list[Breakpoint] = []
        self._by_function: list[Breakpoint] = []

    def handle(self, request: dict[str, Any]) -> None:
        command: str = request["command"]
        found = getattr(self, f"_do_{command}", None)
        if found is None:
            self.sender.refuse(request["seq"], command, f"the request {command!r} is not supported")
            return
        try:
            after = found(request, request.get("arguments") or {})
        except WhenceError as error:
            self.sender.refuse(request["seq"], command, str(error))
            return
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            reason = f"the arguments of {command!r} are not as they should be ({type(error).__name__}: {error})"
            self.sender.refuse(request["seq"], command, reason)
            return
        if after is not None:
            try:
                after()
            except WhenceError as error:
                self.sender.event("output", {"category": "stderr", "output": f"{error}\n"})
                self._stopped(Stop("step"))

    @property
    def debugger(self) -> Debugger:
        if self._debugger is None:
            raise Refused("nothing is being debugged: send a launch request first")
        return self._debugger

    # The beginning and the end

    def _do_initialize(self, request: dict[str, Any], arguments: Arguments) -> None:
        self._lines_from = 0 if arguments.get("linesStartAt1") is False else 1
        self._columns_from = 0 if arguments.get("columnsStartAt1") is False else 1
        self.sender.respond(request, dict(CAPABILITIES))

    def _do_launch(self, request: dict[str, Any], arguments: Arguments) -> None:
        self._launched = arguments
        self._close()
        self._session = self._opened(arguments)
        self._debugger = _debugger(self._session, arguments)
        self._debugger.paused = self.paused
        self._debugger.machine.prepare(self._debugger.state)
        self.sender.respond(request)
        self.sender.event("initialized")

    def _opened(self, arguments: Arguments) -> Session:
        state, program = arguments.get("state"), arguments.get("program")
        if state:
            from whence.state import open_state

            session = open_state(str(state), arguments.get("epoch"), announce=self._announce)
            self._file = os.path.abspath(program or session.text[1])
            return session
        if not program:
            raise Refused("the launch configuration needs `program`, a .dl file, or `state`, a folder")
        self._file = os.path.abspath(program)
        session = whence.open(self._file, announce=self._announce)
        session.read_inputs(arguments.get("facts") or Path(self._file).parent)
        session.run()
        return session

    def _announce(self, text: str) -> None:
        self.sender.event("output", {"category": "console", "output": f"{text}\n"})

    def _do_configurationDone(self, request: dict[str, Any], arguments: Arguments) -> Callable[[], None]:
        debugger = self.debugger
        stop = debugger.restart()  # it may begin at a breakpoint that was set since it was launched
        self.sender.respond(request)
        if stop.reason == "breakpoint":
            return lambda: self._stopped(stop)
        return self._entry if self._launched.get("stopOnEntry", True) else lambda: self._stopped(debugger.resume())

    def _entry(self) -> None:
        self._references.clear()
        self.sender.event("stopped", {"reason": "entry", "threadId": THREAD, "allThreadsStopped": True})

    def _do_restart(self, request: dict[str, Any], arguments: Arguments) -> Callable[[], None]:
        stop = self.debugger.restart()
        self.sender.respond(request)
        return self._entry if stop.reason == "step" else lambda: self._stopped(stop)

    def _do_disconnect(self, request: dict[str, Any], arguments: Arguments) -> None:
        self.closed = True
        self._close()
        self.sender.respond(request)

    def _do_terminate(self, request: dict[str, Any], arguments: Arguments) -> Callable[[], None]:
        self._close()
        self.sender.respond(request)
        return lambda: self.sender.event("terminated")

    def _close(self) -> None:
        self._references.clear()
        self._by_source, self._by_function = [], []
        if self._session is not None:
            self._session.close()
        self._session = self._debugger = None

    # Breakpoints

    def _do_setBreakpoints(self, request: dict[str, Any], arguments: Arguments) -> None:
        path = arguments["source"].get("path")
        wanted = arguments.get("breakpoints") or []
        if path is None or not self._is_program(path):
            unverified = [{"verified": False, "message": "this is not the program that is debugged"} for _ in wanted]
            self.sender.respond(request, {"breakpoints": unverified})
            return
        self._remove(self._by_source)
        self._by_source = []
        found = []
        for one in wanted:
            line = one["line"] + 1 - self._lines_from
            column = None if one.get("column") is None else one["column"] + 1 - self._columns_from
            found.append(self._set(self._by_source, one, line, column))
        self.sender.respond(request, {"breakpoints": found})

    def _do_setFunctionBreakpoints(self, request: dict[str, Any], arguments: Arguments) -> None:
        self._remove(self._by_function)
        self._by_function = []
        found = []
        for one in arguments["breakpoints"]:
            name, _, rule = one["name"].partition("/")
            found.append(self._set(self._by_function, one, name.strip(), None, int(rule) if rule else None))
        self.sender.respond(request, {"breakpoints": found})

    def _do_setExceptionBreakpoints(self, request: dict[str, Any], arguments: Arguments) -> None:
        self.sender.respond(request)

    def _set(
        self, held: list[Breakpoint], one: Arguments, where: str | int, column: int | None, rule: int | None = None
    ) -> dict[str, Any]:
        condition, hits = one.get("condition"), one.get("hitCondition") or ""
        try:
            made = self.debugger.break_at(where, rule=rule, column=column, condition=condition, hits=hits)
        except WhenceError as error:
            return {"verified": False, "message": str(error)}
        held.append(made)
        found: dict[str, Any] = {"id": made.number, "verified": True}
        if made.line is not None:
            found["line"] = made.line - 1 + self._lines_from
        return found

    def _remove(self, held: list[Breakpoint]) -> None:
        for one in held:
            self.debugger.delete(one.number)

    def _is_program(self, path: str) -> bool:
        return os.path.realpath(path) == os.path.realpath(self._file)

    # What there is to see

    def _do_threads(self, request: dict[str, Any], arguments: Arguments) -> None:
        name = self._debugger.asked.text if self._debugger is not None else "query"
        self.sender.respond(request, {"threads": [{"id": THREAD, "name": name}]})

    def _do_stackTrace(self, request: dict[str, Any], arguments: Arguments) -> None:
        start = arguments.get("startFrame") or 0
        shown = []
        for number, frame in enumerate(self.debugger.calls(start, arguments.get("levels") or None), start):
            span = frame.place
            again = f" (iteration {frame.iteration})" if frame.iteration > 1 else ""
            source: dict[str, Any] = {"name": os.path.basename(self._file), "path": self._file}
            if span.file == "<query>":
                source = {"name": "query", "sourceReference": QUERY_SOURCE}
            shown.append(
                {
                    "id": number + 1,
                    "name": frame.call + again,
                    "source": source,
                    "line": span.line - 1 + self._lines_from,
                    "column": span.column - 1 + self._columns_from,
                    "endLine": span.end_line - 1 + self._lines_from,
                    "endColumn": span.end_column - 1 + self._columns_from,
                }
            )
        self.sender.respond(request, {"stackFrames": shown, "totalFrames": self.debugger.depth})

    def _do_source(self, request: dict[str, Any], arguments: Arguments) -> None:
        self.sender.respond(request, {"content": self.debugger.asked.text})

    def _do_scopes(self, request: dict[str, Any], arguments: Arguments) -> None:
        debugger = self.debugger
        (frame,) = debugger.calls(arguments["frameId"] - 1, 1)
        named = [("Bindings", frame.bindings), ("Arguments", frame.arguments), ("Result so far", frame.result)]
        if frame.value is not None:
            named.insert(1, (f"Given by {frame.atom or 'the rule'}", frame.value))
        scopes: list[dict[str, Any]] = [
            {"name": name, "expensive": False, **self._references.table(shown)}
            for name, shown in named
            if shown is not None
        ]
        scopes[0]["presentationHint"] = "locals"
        names = [name for name in debugger.state.known if name in debugger.session.program.relations]
        derived = Relations([(name, debugger.known(name)) for name in names])
        scopes.append(
            {"name": "Derived so far", "expensive": False, "variablesReference": self._references.of(derived)}
        )
        self.sender.respond(request, {"scopes": scopes})

    def _do_variables(self, request: dict[str, Any], arguments: Arguments) -> None:
        number = arguments["variablesReference"]
        start, count = arguments.get("start") or 0, arguments.get("count") or 0
        if arguments.get("filter") == "indexed" or "filter" not in arguments or start or count:
            found = self._references.variables(number, int(start), int(count))
        else:
            found = self._references.variables(number, 0, 0)
        self.sender.respond(request, {"variables": found})

    def _do_evaluate(self, request: dict[str, Any], arguments: Arguments) -> None:
        frame = (arguments.get("frameId") or 1) - 1
        shown = self.debugger.evaluate(str(arguments["expression"]), frame)
        self.sender.respond(request, {"result": summary(shown), **self._references.table(shown)})

    # Steps

    def _do_next(self, request: dict[str, Any], arguments: Arguments) -> Callable[[], None]:
        return self._moving(request, lambda d: d.over(_by(arguments)))

    def _do_stepIn(self, request: dict[str, Any], arguments: Arguments) -> Callable[[], None]:
        return self._moving(request, lambda d: d.into(_by(arguments)))

    def _do_stepOut(self, request: dict[str, Any], arguments: Arguments) -> Callable[[], None]:
        return self._moving(request, lambda d: d.out())

    def _do_continue(self, request: dict[str, Any], arguments: Arguments) -> Callable[[], None]:
        return self._moving(request, lambda d: d.resume(), {"allThreadsContinued": True})

    def _do_stepBack(self, request: dict[str, Any], arguments: Arguments) -> Callable[[], None]:
        return self._moving(request, lambda d: d.back(_by(arguments)))

    def _do_reverseContinue(self, request: dict[str, Any], arguments: Arguments) -> Callable[[], None]:
        return self._moving(request, lambda d: d.back_to_breakpoint())

    def _moving(
        self, request: dict[str, Any], move: Callable[[Debugger], Stop], body: dict[str, Any] | None = None
    ) -> Callable[[], None]:
        debugger = self.debugger
        if debugger.done:
            raise Refused("the query is done; restart it")
        self._references.clear()
        self.sender.respond(request, body)
        return lambda: self._stopped(move(debugger))

    def _stopped(self, stop: Stop) -> None:
        debugger = self._debugger
        if debugger is None:
            return
        if debugger.done:
            self._tell_answer(debugger)
            self.sender.event("terminated")
            return
        rules = ", ".join(stop.rules)
        body: dict[str, Any] = {
            "reason": REASONS.get(stop.reason, "step"),
            "description": f"{stop.reason}: {rules}" if rules else stop.reason,
            "threadId": THREAD,
            "allThreadsStopped": True,
        }
        if stop.breakpoints:
            body["hitBreakpointIds"] = [one.number for one in stop.breakpoints]
        self.sender.event("stopped", body)

    def _tell_answer(self, debugger: Debugger) -> None:
        answer = debugger.answer
        assert answer is not None
        lines = ["\t".join(answer.names)] if answer.names else []
        lines += ["\t".join(map(value_text, row)) or "()" for row in answer.rows(0, SHOWN_ANSWERS)]
        if len(answer) > SHOWN_ANSWERS:
            lines.append(f"… {len(answer):,} in all")
        text = "\n".join([f"{debugger.asked.text}: {len(answer):,} in all" if len(answer) else "no answer", *lines])
        self.sender.event("output", {"category": "stdout", "output": f"{text}\n"})


def _debugger(session: Session, arguments: Arguments) -> Debugger:
    query, why, why_not = (arguments.get(name) for name in ("query", "why", "whyNot"))
    if why:
        return AlongProof(session, str(why)).debugger
    if why_not:
        return ToFailures(session, str(why_not)).debugger
    if not query:
        raise Refused("the launch configuration needs `query`, such as path(1, Y)")
    return session.debug(str(query))


def _by(arguments: Arguments) -> Any:
    return "reduction" if arguments.get("granularity") == "instruction" else "atom"
