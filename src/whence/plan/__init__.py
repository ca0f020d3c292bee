"""From rules to rule versions: which view of its relation each atom reads, in which order, by which steps.

for version in first_versions(stratum): print(describe(planned(version, statistics)))
"""

from whence.plan.order import cost, planned
from whence.plan.statistics import Assumed, Statistics
from whence.plan.steps import RuleVersion, Step, View
from whence.plan.text import describe
from whence.plan.update_versions import Driven, Search, UpdateVersions, update_versions
from whence.plan.versions import first_versions, later_versions

__all__ = [
    "Assumed",
    "Driven",
    "RuleVersion",
    "Search",
    "Statistics",
    "Step",
    "UpdateVersions",
    "View",
    "cost",
    "describe",
    "first_versions",
    "later_versions",
    "planned",
    "update_versions",
]
