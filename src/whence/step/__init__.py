"""The debugger: steps through the top-down evaluation of a query (paper 001).

d = session.debug("path(1, Y)"); d.into(); print(d.frame)
"""

from whence.step.breakpoints import Breakpoint
from whence.step.debugger import Debugger, Stop
from whence.step.source import FrameShown, Shown

__all__ = ["Breakpoint", "Debugger", "FrameShown", "Shown", "Stop"]
