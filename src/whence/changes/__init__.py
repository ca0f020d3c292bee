"""Changes: what goes into an update. They are read from a text or a folder of facts, put together, and written back.

change = read_change("monday.changes", program)
session.apply(change)
"""

from whence.changes.change import Change, merged
from whence.changes.reading import parse_change, read_change
from whence.changes.writing import change_text, tuple_text
from whence.lang.signed import edited_program

__all__ = ["Change", "change_text", "edited_program", "merged", "parse_change", "read_change", "tuple_text"]
