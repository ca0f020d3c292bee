"""Explanations: why a tuple is there (proof trees by backward search over the state), and why it is not.

explanation = session.explain('path(1, 4)'); print(explanation)
"""

from whence.explain.answers import Absence, Derivations, Explanation, explain, rendered, why_not
from whence.explain.explainer import Explainer
from whence.explain.metrics import HEIGHT, SIZE, Metric
from whence.explain.sources import in_store, state_of
from whence.explain.state import InMemory, State

__all__ = [
    "HEIGHT",
    "SIZE",
    "Absence",
    "Derivations",
    "Explainer",
    "Explanation",
    "InMemory",
    "Metric",
    "State",
    "explain",
    "in_store",
    "rendered",
    "state_of",
    "why_not",
]
