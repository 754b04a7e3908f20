"""Formats the environment of a weighing as rows: machine, builds, settings and hashes."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.model.units import format_bytes, format_duration
from steelyard.report.contrast import Json, finite

Rows = list[tuple[str, str]]

_LONG = 24
"""A mapping with more entries is counted, not printed."""
_BUILD_FIELDS = ("kind", "version", "builder", "configure", "cflags", "origin", "assertions")


def machine_rows(environment: Json) -> Rows:
    """Machine, disk and tool; what has its own place on the page (arms, files) is left out."""
    rows: Rows = []
    for key, value in environment.items():
        if key not in ("arms", "files", "format", "workload"):
            _flatten(rows, "" if key == "machine" else str(key), value)
    return rows


def workload_rows(environment: Json) -> Rows:
    """What was driven; what is unset or zero is left out."""
    rows: Rows = []
    workload = environment.get("workload")
    for key, value in (workload if isinstance(workload, Mapping) else {}).items():
        if value and key not in ("clients", "threads"):  # these two stand in the plan
            _flatten(rows, "workload" if key == "name" else f"workload {key}", value)
    return rows


def builds(environment: Json) -> list[tuple[list[str], Rows]]:
    """Every distinct build with the arms that ran it; one entry: all arms ran the same."""
    found: list[tuple[list[str], Json]] = []
    for arm, about in _arms(environment).items():
        build = about.get("build") or {}
        same = next((names for names, known in found if known == build), None)
        if same is not None:
            same.append(str(arm))
        elif build:
            found.append(([str(arm)], build))
    return [(names, _build_rows(build)) for names, build in found]


def hash_rows(environment: Json) -> Rows:
    """SHA-256 of the files that took part."""
    files = environment.get("files")
    if not isinstance(files, Mapping):
        return []
    return [(str(name), str(digest)) for name, digest in files.items()]


def settings_compared(environment: Json, verdict: Json) -> int | None:
    """How many settings were compared between the arms; None when the record does not hold it."""
    compared = finite((verdict.get("differences") or {}).get("compared"))
    if compared is not None:
        return int(compared)
    counts = [len(about.get("settings") or {}) for about in _arms(environment).values()]
    return max(counts, default=0) or None


def _arms(environment: Json) -> Mapping[str, Json]:
    arms = environment.get("arms")
    return arms if isinstance(arms, Mapping) else {}


def _build_rows(build: Json) -> Rows:
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
        shown = ", ".join(str(item) for item in value[:16])
        more = f" … ({len(value)} in all)" if len(value) > 16 else ""
        rows.append((label, (shown + more) or "none"))
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
