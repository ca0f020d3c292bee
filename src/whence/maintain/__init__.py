"""How results come to be and stay current. So far: Bootstrap."""

from whence.maintain.bootstrap import bootstrap, evaluate

__all__ = ["bootstrap", "evaluate"]
