"""Repair: which part of a change caused a wrong result, and what to leave out of it (002, chapter 6).

repair = session.repair(unwanted=['alias("userSession", "sec")'], missing=[])
"""

from whence.repair.repairing import Answer, Repair

__all__ = ["Answer", "Repair"]
