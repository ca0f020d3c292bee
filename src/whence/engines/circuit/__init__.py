"""The circuit engine: the dynamic interpreter of `whence.circuit` behind a session."""
