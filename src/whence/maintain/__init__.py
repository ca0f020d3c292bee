"""How results come to be and stay current: Bootstrap, Update, and the controller that chooses between them."""

from whence.maintain.bootstrap import bootstrap, evaluate
from whence.maintain.elastic import SHARE, STRATEGIES, Controller, Policy
from whence.maintain.impact import Impact, StratumReport

__all__ = ["SHARE", "STRATEGIES", "Controller", "Impact", "Policy", "StratumReport", "bootstrap", "evaluate"]
