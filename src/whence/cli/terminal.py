"""Statements from a terminal: lines are edited, go on until a statement is complete, and are kept for next time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from whence.cli.conversation import Conversation
from whence.cli.statements import is_complete

PROMPT, FURTHER = "> ", "… "
WORD = re.compile(r"[:.]?[A-Za-z_?][A-Za-z0-9_?-]*$|[:.]$")


class Terminal:
    def __init__(self, conversation: Conversation) -> None:
        self._session: PromptSession[str] = PromptSession(
            history=_history(),
            completer=Words(conversation),
            complete_while_typing=False,
            multiline=True,
            key_bindings=_keys(conversation),
            prompt_continuation=FURTHER,
        )

    def read(self) -> str | None:
        """The next statement; None when the user ends."""
        try:
            return self._session.prompt(PROMPT)
        except EOFError:
            return None


def _keys(conversation: Conversation) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None
        elif is_complete(buffer.text, conversation.words):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return keys


class Words(Completer):
    """Relations, commands and keywords that begin like the word at the cursor."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        found = WORD.search(document.text_before_cursor)
        word = found[0] if found else ""
        for one in dict.fromkeys(self.conversation.completions(document.text_before_cursor)):
            if one.startswith(word) and one != word:
                yield Completion(one, -len(word))


def _history() -> History:
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = Path(home) / "whence" / "repl_history"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab"):
            pass
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)
