"""Which keys of a study had other names, as records of earlier versions have them."""

from __future__ import annotations

from steelyard.study.change import Table

RENAMED = {"twice": "double_work", "stall_worth": "stall_share", "aside": "excluded"}
"""Old key → new key. A study that a user writes is refused with the new one."""


def renamed_keys(table: Table) -> Table:
    """A study as TOML has it, or as JSON dumps it, with the new names of its keys.

    Only weights and the workload had others; what else is named so, as a variable may be, stays.
    """
    renamed = {**table}
    for key in ("control", "arm", "arms"):
        match table.get(key):
            case dict() as arm:
                renamed[key] = _arm(arm)
            case list() as arms:
                renamed[key] = [_arm(arm) if isinstance(arm, dict) else arm for arm in arms]
    if isinstance(workload := table.get("workload"), dict):
        renamed["workload"] = _with_new_keys(workload)
    return renamed


def _arm(arm: Table) -> Table:
    weight = arm.get("weight")
    return {**arm, "weight": _with_new_keys(weight)} if isinstance(weight, dict) else {**arm}


def _with_new_keys(table: Table) -> Table:
    return {RENAMED.get(key, key): value for key, value in table.items()}
