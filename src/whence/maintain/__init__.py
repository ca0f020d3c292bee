"""How results come to be and stay current. So far: Bootstrap."""

from whence.maintain.bootstrap import bootstrap
from whence.maintain.progress import Progress, Silent

__all__ = ["Progress", "Silent", "bootstrap"]
