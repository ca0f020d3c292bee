"""The screen of the terminal debugger: source, calls and bindings in view, a line for commands below.

It is drawn with characters only and needs no mouse, so that it works over ssh and in tmux.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from threading import Event

from prompt_toolkit.application import Application
from prompt_toolkit.application.current import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import HSplit, Layout, VSplit, Window, WindowAlign
from prompt_toolkit.layout.containers import Float, FloatContainer
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output import Output
from prompt_toolkit.styles import Style

from whence.terminal import view
from whence.terminal.commands import Commands, Leave

STYLE = Style.from_dict(
    {
        "title": "bold",
        "rules": "ansicyan",
        "dim": "ansibrightblack",
        "here": "bold reverse",
        "marker": "ansiyellow",
        "stop": "ansired",
        "current": "bold",
        "name": "bold underline",
        "bar": "reverse",
        "line": "ansibrightblack",
    }
)
KEYS = {
    "f11": ("into", "F11 into"),
    "f10": ("over", "F10 over"),
    "f9": ("out", "F9 out"),
    "f8": ("back", "F8 back"),
    "f5": ("resume", "F5 resume"),
    "f2": ("break here", "F2 break here"),
}
MESSAGE = 8  # lines of an answer that are in view


class Screen:
    def __init__(self, commands: Commands, source: Input | None = None, output: Output | None = None) -> None:
        self.commands = commands
        self.message = "Enter repeats the last step; `help` lists the commands."
        self.scrolled = 0
        self.running = False
        self._waiting: deque[str] = deque()
        self._pause = Event()
        commands.debugger.paused = self._pause.is_set
        self.line = Buffer(
            completer=Words(commands),
            complete_while_typing=False,
            multiline=False,
            accept_handler=self._accept,
            history=InMemoryHistory(),
        )
        self.application: Application[int] = Application(
            Layout(self._container(), focused_element=self.line),
            key_bindings=self._keys(),
            style=STYLE,
            full_screen=True,
            input=source,
            output=output,
        )

    def run(self) -> int:
        return self.application.run(pre_run=self._draw) or 0

    # Layout

    def _container(self) -> FloatContainer:
        def pane(text: object, **options: object) -> Window:
            return Window(FormattedTextControl(text), always_hide_cursor=True, **options)  # type: ignore[arg-type]

        line = Window(BufferControl(self.line, input_processors=[BeforeInput("> ")]), height=1)
        body = HSplit(
            [
                pane(lambda: self.title, height=1, style="class:bar"),
                VSplit(
                    [
                        pane(lambda: self.source, width=Dimension(weight=3)),
                        Window(width=1, char="│", style="class:line"),
                        pane(lambda: self.stack, width=Dimension(weight=2)),
                    ],
                    height=Dimension(weight=3),
                ),
                Window(height=1, char="─", style="class:line"),
                pane(lambda: self.bindings, height=Dimension(weight=2)),
                Window(height=1, char="─", style="class:line"),
                pane(self._message, height=Dimension(min=2, max=MESSAGE, preferred=4), wrap_lines=True),
                line,
                pane(self._help, height=1, style="class:bar", align=WindowAlign.LEFT),
            ]
        )
        return FloatContainer(body, [Float(CompletionsMenu(max_height=8), xcursor=True, ycursor=True)])

    def _rows(self, share: float) -> int:
        return max(4, int((get_app().output.get_size().rows - 8) * share))

    def _message(self) -> StyleAndTextTuples:
        return [("", self.message)]

    def _help(self) -> StyleAndTextTuples:
        names = [label for _, label in KEYS.values()]
        return [("", " " + "  ".join([*names, "PgDn rows", "Ctrl-D quits"]))]

    # Input

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        for key, (command, _) in KEYS.items():

            def run(event: KeyPressEvent, command: str = command) -> None:
                self._do(command)

            keys.add(key)(run)

        @keys.add("pagedown")
        def down(event: KeyPressEvent) -> None:
            self._scroll(self._rows(0.4) - 2)

        @keys.add("pageup")
        def up(event: KeyPressEvent) -> None:
            self._scroll(2 - self._rows(0.4))

        @keys.add("c-d")
        def leave(event: KeyPressEvent) -> None:
            event.app.exit(result=0)

        @keys.add("c-c")
        def stop(event: KeyPressEvent) -> None:
            self._waiting.clear()
            self._pause.set()
            self.line.reset()

        @keys.add("c-l")
        def redraw(event: KeyPressEvent) -> None:
            event.app.renderer.clear()

        return keys

    def _scroll(self, rows: int) -> None:
        if not self.running and not self.commands.debugger.done:
            frame = self.commands.frame
            size = len(frame.bindings or frame.result)
            self.scrolled = max(0, min(self.scrolled + rows, size - 1))
            self._draw()

    def _accept(self, buffer: Buffer) -> bool:
        self._do(buffer.text)
        return False

    def _do(self, line: str) -> None:
        """Commands run beside the screen, one after the other, so that Ctrl-C is heard."""
        self._waiting.append(line)
        if not self.running:
            self.running = True
            self.application.create_background_task(self._work())

    async def _work(self) -> None:
        try:
            while self._waiting:
                await self._run(self._waiting.popleft())
        except Leave:
            self.application.exit(result=0)
        finally:
            self.running = False

    async def _run(self, line: str) -> None:
        self._pause.clear()
        self.scrolled = 0
        self.message = "running; Ctrl-C pauses"
        self.application.invalidate()
        before = self.commands.debugger.state
        said = await asyncio.get_running_loop().run_in_executor(None, self.commands.reply, line)
        moved = self.commands.debugger.state is not before or line.startswith("watch ")
        # What a step shows is in view already.
        self.message = said.rpartition("\n")[2] if moved and self.commands.guide else "" if moved else said
        self._draw()
        self.application.invalidate()

    def _draw(self) -> None:
        """What the panes show, made once a stop: while a command runs, the debugger is between two states."""
        debugger = self.commands.debugger
        height = self._rows(0.6)
        self.title = _text([view.state(debugger)])
        if debugger.done:
            self.source = _text([[("title", "The answer:")], *view.answer(debugger, height - 2)])
            self.bindings: StyleAndTextTuples = []
        else:
            frame = self.commands.frame
            self.source = _text(view.source(debugger, frame, height))
            self.bindings = _text(view.bindings(frame, self.scrolled, self._rows(0.4) - 2))
        lines = view.stack(debugger, self.commands.chosen, max(2, height - 6))
        stops = [[("stop", "● "), ("", f"{one}  ({one.met}×)")] for one in debugger.breakpoints]
        watched = view.watches(debugger)
        self.stack = _text(
            [*lines, *([[("", "")], *stops] if stops else []), *([[("", "")], *watched] if watched else [])]
        )


class Words(Completer):
    """Commands at the beginning of a line, relations and variables after it."""

    def __init__(self, commands: Commands) -> None:
        self.commands = commands

    def get_completions(self, document: Document, complete_event: object) -> Iterable[Completion]:
        typed = document.get_word_before_cursor()
        first = document.text_before_cursor.lstrip() == typed
        if first:
            words = [*self.commands.commands]
        else:
            names = None if self.commands.debugger.done else self.commands.frame.bindings
            words = [
                *self.commands.debugger.session.program.relations,
                *(names.names if names else ()),
                "if",
                "hits",
                "here",
            ]
        for word in words:
            if typed and word.startswith(typed):
                yield Completion(word, start_position=-len(typed))


def _text(lines: Iterable[view.Line]) -> StyleAndTextTuples:
    found: StyleAndTextTuples = []
    for line in lines:
        found += [(f"class:{style}" if style else "", text) for style, text in line]
        found.append(("", "\n"))
    return found
