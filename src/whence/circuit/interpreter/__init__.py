"""The dynamic interpreter of Datalog as a circuit: rules come and go as facts do."""

from .interpreter import Interpreter
from .terms import Encoding

__all__ = ["Encoding", "Interpreter"]
