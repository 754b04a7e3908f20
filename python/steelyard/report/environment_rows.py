"""Formats the environment of a weighing as rows: machine, builds, settings and hashes; where builds
differ in their defaults, and how often data was loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from steelyard.model.units import NS_PER_S, NS_PER_US, format_bytes, format_duration
from steelyard.record.environment import Environment, SourceFacts
from steelyard.record.plan import BuildDefaultDifferences, Loads
from steelyard.record.verdict import Verdict
from steelyard.wording.unnamed_inserts import unnamed_insert_note

Rows = list[tuple[str, str]]
Build = Mapping[str, str | int | bool]

_LONG = 24
"""A mapping with more entries is counted, not printed."""
_BUILD_FIELDS = ("kind", "version", "builder", "configure", "cflags", "origin", "assertions")


def machine_rows(environment: Environment) -> Rows:
    """Machine, disk and tool; what has its own place on the page (arms, files) is left out."""
    rows: Rows = []
    _flatten(rows, "steelyard", environment.steelyard.to_json())
    _flatten(rows, "", environment.machine.to_json())
    _flatten(rows, "disk", environment.disk.to_json())
    rows += [
        (f"round trip of {arm}", format_duration(about.round_trip_us * NS_PER_US))
        for arm, about in environment.arms.items()
        if about.round_trip_us is not None
    ]
    rows += [
        (
            f"{finding.level}: {finding.name}",
            f"{finding.seen}. Matters for {finding.matters_for}. {finding.advice}",
        )
        for finding in environment.findings
        if finding.level in ("warning", "note")
    ]
    return rows


def workload_rows(environment: Environment, statements: Iterable[str] = ()) -> Rows:
    """What was driven, and on whose data; what is unset or zero is left out. `statements`: of the
    scripts, `script: statement`."""
    rows: Rows = list(_source_rows(environment.source))
    for key, value in environment.workload.items():
        if value and key not in ("clients", "threads"):  # these two stand in the plan
            _flatten(rows, "workload" if key == "name" else f"workload {key}", value)
    if note := unnamed_insert_note(statements):
        rows.append(("statements", note))
    return rows


def _source_rows(source: SourceFacts | None) -> Rows:
    """Data that were taken in: what the copies are without, and what may be otherwise in them."""
    if source is None:
        return []
    major = "" if source.major is None else f" of PostgreSQL {source.major}"
    size = format_bytes(source.database_bytes)
    what = ", ".join(filter(None, (source.of_database, size)))
    rows = [("data", f'{source.kind} "{source.name}"{major}: {what}')]
    rows += [
        ("data, left out", f"{omission.what}: {omission.why}") for omission in source.neutralised
    ]
    rows += [
        (
            "data, replaced",
            f"{replacement.name}: {replacement.theirs} → {replacement.used}: {replacement.why}",
        )
        for replacement in source.replaced
    ]
    if source.settings_missing:
        rows.append(("data, doubt", source.settings_missing))
    return [*rows, *(("data, doubt", doubt) for doubt in source.doubts)]


def builds(environment: Environment) -> list[tuple[list[str], Rows]]:
    """Every distinct build with the arms that ran it; one entry: all arms ran the same."""
    distinct: list[tuple[list[str], Build]] = []
    for arm, about in environment.arms.items():
        build = about.build
        same = next((names for names, other in distinct if other == build), None)
        if same is not None:
            same.append(arm)
        elif build:
            distinct.append(([arm], build))
    return [(names, _build_rows(build)) for names, build in distinct]


def notices(environment: Environment) -> list[str]:
    """What has to be said before any figure, each once, as sentences."""
    every = (notice for about in environment.arms.values() for notice in about.notices)
    ends = (".", '."')
    return [notice if notice.endswith(ends) else f"{notice}." for notice in dict.fromkeys(every)]


def hash_rows(environment: Environment) -> Rows:
    """SHA-256 of the files that took part."""
    return list(environment.files.items())


def settings_compared(environment: Environment, verdict: Verdict | None) -> int | None:
    """How many settings were compared between the arms; None when the record does not hold it."""
    if verdict is not None:
        return verdict.differences.compared
    counts = [len(about.settings) for about in environment.arms.values()]
    return max(counts, default=0) or None


def _build_rows(build: Build) -> Rows:
    rows: Rows = []
    for name in _BUILD_FIELDS:
        if build.get(name) not in (None, ""):
            rows.append(_with_unit(name, build[name]))
    return rows


def _flatten(rows: Rows, label: str, value: object) -> None:
    label = label.replace("_", " ")
    if isinstance(value, Mapping):
        if len(value) > _LONG:
            rows.append((label, f"{len(value)} entries, in environment.json"))
            return
        for key, inner in value.items():
            _flatten(rows, f"{label} {key}" if label else str(key), inner)
    elif isinstance(value, list):
        listed = ", ".join(str(item) for item in value[:16])
        more = f" … ({len(value)} in all)" if len(value) > 16 else ""
        rows.append((label, (listed + more) or "none"))
    elif value is not None and value != "":
        rows.append(_with_unit(label, value))


def _with_unit(label: str, value: object) -> tuple[str, str]:
    """Bytes and nanoseconds leave the label and become a unit a person reads."""
    if isinstance(value, bool):
        return label, "yes" if value else "no"
    if isinstance(value, int | float):
        if label.endswith(" bytes"):
            return label.removesuffix(" bytes"), format_bytes(value)
        if label.endswith(" ns"):
            return label.removesuffix(" ns"), format_duration(value)
    return label, str(value)


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
