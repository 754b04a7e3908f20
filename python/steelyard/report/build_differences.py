"""Lists where the builds of the arms differ in their defaults, and how often data was loaded."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.model.units import NS_PER_S, format_duration
from steelyard.record.plan import BuildDefaultDifferences, Loads
from steelyard.record.verdict import Verdict


def default_rows(defaults: BuildDefaultDifferences | None) -> list[dict[str, str]]:
    """Each setting whose default differs: both defaults, and what it was weighed with."""
    if defaults is None:
        return []
    rows = []
    for arm, changed in defaults.changed.items():
        for name, ours, theirs in changed:
            alike = name in defaults.alike and arm not in defaults.shipped
            used = f"{defaults.alike[name]} in every arm" if alike else "each its own"
            rows.append(
                {
                    "setting": name,
                    "arm": arm,
                    "control": _setting_value(ours),
                    "theirs": _setting_value(theirs),
                }
                | {"used": used}
            )
    return rows


def default_lines(verdict: Verdict) -> list[str]:
    """The same in sentences, and what only one build knows; none where the builds are one."""
    control = verdict.contrasts[0].control
    rows = default_rows(verdict.defaults)
    alike = [row for row in rows if row["used"] != "each its own"]
    separate = [row for row in rows if row["used"] == "each its own"]
    lines = []
    if alike:
        texts = (f"{r['setting']} {r['control']} ({r['arm']}: {r['theirs']})" for r in alike)
        lines.append(f"defaults that differ, set as {control} has them: {', '.join(texts)}")
    if separate:
        texts = (f"{r['setting']} {r['control']} ({r['arm']}: {r['theirs']})" for r in separate)
        lines.append(f"defaults that differ and stay so: {', '.join(texts)}")
    return lines + only_lines(verdict.defaults, control)


def only_lines(defaults: BuildDefaultDifferences | None, control: str) -> list[str]:
    """How many settings only one of two builds knows: those cannot be set alike."""
    if defaults is None:
        return []
    lines = []
    for arm, names in defaults.added.items():
        gone = defaults.removed.get(arm, ())
        if names or gone:
            verb = "is" if len(names) == 1 else "are"
            other = f"{_settings(gone)} to {control} only"
            lines.append(f"{_settings(names)} {verb} known to {arm} only, {other}")
    return lines


def loads_line(loads: Loads | None) -> str:
    """How often the data of each arm was loaded, and what that took; empty for a shared load."""
    if loads is None or loads.shared or not loads.arms:
        return ""
    count = max(arm.count for arm in loads.arms.values())
    durations = {arm.by: arm.seconds for arm in loads.arms.values()}
    spent = [seconds for seconds in durations.values() if seconds]
    times = "once" if count == 1 else f"{count} times"
    took = f", {format_duration(sum(spent) * NS_PER_S)} in all, kept for later" if spent else ""
    return f"the builds cannot share their data: each was loaded {times}{took}"


def _settings(names: Sequence[str]) -> str:
    return f"{len(names)} setting{'' if len(names) == 1 else 's'}"


def _setting_value(value: str) -> str:
    return value or '""'
