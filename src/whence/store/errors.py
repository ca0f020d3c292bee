"""What goes wrong with a state directory."""

from whence.errors import WhenceError


class StoreError(WhenceError):
    """The directory is no store, or newer, or damaged, or busy; one sentence says which, and what to do."""
