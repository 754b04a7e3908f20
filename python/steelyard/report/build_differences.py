"""Lists where the builds of the arms differ in their defaults, and how often data was loaded."""

from __future__ import annotations

from steelyard.model.units import NS_PER_S, format_duration
from steelyard.report.contrast import Json, finite


def default_rows(defaults: Json | None) -> list[dict[str, str]]:
    """Each setting whose default differs: both defaults, and what it was weighed with."""
    alike = (defaults or {}).get("alike") or {}
    rows = []
    for arm, changed in ((defaults or {}).get("changed") or {}).items():
        for name, ours, theirs in changed:
            used = f"{alike[name]} in every arm" if name in alike else "each its own"
            rows.append(
                {"setting": name, "arm": arm, "control": _shown(ours), "theirs": _shown(theirs)}
                | {"used": used}
            )
    return rows


def default_lines(verdict: Json) -> list[str]:
    """The same in sentences, and what only one build knows; none where the builds are one."""
    defaults = verdict.get("defaults") or {}
    control = next((c.get("control") for c in verdict.get("contrasts") or []), "the control")
    rows = default_rows(defaults)
    alike = [row for row in rows if row["used"] != "each its own"]
    own = [row for row in rows if row["used"] == "each its own"]
    lines = []
    if alike:
        words = (f"{r['setting']} {r['control']} ({r['arm']}: {r['theirs']})" for r in alike)
        lines.append(f"defaults that differ, set as {control} has them: {', '.join(words)}")
    if own:
        words = (f"{r['setting']} {r['control']} ({r['arm']}: {r['theirs']})" for r in own)
        lines.append(f"defaults that differ and stay so: {', '.join(words)}")
    return lines + only_lines(defaults, str(control))


def only_lines(defaults: Json | None, control: str) -> list[str]:
    """How many settings only one of two builds knows: those cannot be set alike."""
    known = defaults or {}
    lines = []
    for arm, names in (known.get("added") or {}).items():
        gone = (known.get("removed") or {}).get(arm) or []
        if names or gone:
            verb = "is" if len(names) == 1 else "are"
            other = f"{_settings(gone)} to {control} only"
            lines.append(f"{_settings(names)} {verb} known to {arm} only, {other}")
    return lines


def loads_line(loads: Json | None) -> str:
    """How often the data of each arm was loaded, and what that took; empty for a shared load."""
    arms = (loads or {}).get("arms") or {}
    if not arms or (loads or {}).get("shared", True):
        return ""
    count = max(int(arm.get("count", 1)) for arm in arms.values())
    made = {arm["by"]: finite(arm.get("seconds")) for arm in arms.values()}
    spent = [seconds for seconds in made.values() if seconds]
    times = "once" if count == 1 else f"{count} times"
    took = f", {format_duration(sum(spent) * NS_PER_S)} in all, kept for later" if spent else ""
    return f"the builds cannot share their data: each was loaded {times}{took}"


def _settings(names: list[str]) -> str:
    return f"{len(names)} setting{'' if len(names) == 1 else 's'}"


def _shown(value: object) -> str:
    return str(value) or '""'
