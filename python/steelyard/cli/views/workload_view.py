"""Formats a workload, and the result of loading one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.model.units import format_bytes
from steelyard.workloads.reading.workload import Workload

PURPOSES = {
    "transactions": ("pgbench", "reserva", "sysbench", "tproc-c", "tproc-c-client", "ycsb"),
    "parts of applications": ("insert-read", "jsonb", "queue", "select-insert", "time-series"),
    "slow queries": ("htap", "tproc-h"),
}
"""What built-in workloads are for, in the order in which they are listed; others are yours."""


def list_lines(workloads: Sequence[Workload]) -> list[str]:
    """All workloads with their titles, by purpose."""
    width = max(len(workload.name) for workload in workloads)
    purpose_of = {name: purpose for purpose, names in PURPOSES.items() for name in names}
    lines = []
    for purpose in (*PURPOSES, "yours"):
        of_purpose = [w for w in workloads if purpose_of.get(w.name, "yours") == purpose]
        lines += [f"{purpose}:"] if of_purpose else []
        lines += [f"  {w.name:<{width}}  {w.title}" for w in of_purpose]
    return lines


def load_line(facts: dict[str, Any]) -> str:
    """What was loaded, how fast, and where it is."""
    where = facts.get("template") or f'database "steelyard" at {facts["target"]}'
    rate = facts["rows"] / facts["seconds"] if facts["seconds"] else 0
    verb = "was loaded before" if facts.get("cached") else "loaded"
    return (
        f"{facts['workload']} at scale {facts['scale']} {verb}: {facts['rows']:,} rows, "
        f"{format_bytes(facts['bytes'])} in {facts['seconds']:.1f} s ({rate:,.0f} rows/s)\n{where}"
    )


def workload_facts(workload: Workload) -> dict[str, Any]:
    """One workload for --json."""
    options = {name: option.model_dump() for name, option in workload.options.items()}
    return {
        "name": workload.name,
        "title": workload.title,
        "scale_is": workload.scale_is,
        "scale_name": workload.scale_name,
        "default_scale": workload.default_scale,
        "bytes_per_scale": workload.bytes_each,
        "options": options,
        "scripts": list(workload.scripts),
        "mix": workload.mix(),
    }


def workload_lines(workload: Workload) -> list[str]:
    """One workload: its scale, options and scripts."""
    size = format_bytes(workload.bytes_each)
    lines = [
        f"{workload.name}: {workload.title}",
        f"  {workload.scale_name} = {workload.default_scale}: {workload.scale_is}; {size} each",
    ]
    for name, option in workload.options.items():
        default = (
            str(option.default).lower() if isinstance(option.default, bool) else option.default
        )
        lines += [f"  {name} = {default} ({option.accepted})", f"      {option.title}"]
    driven = ", ".join(f"{name} {weight}" for name, weight in workload.mix().items())
    if workload.streams:
        driven = f"{len(workload.streams)} orders of them, a client each in turn"
    lines += [
        f"  scripts: {', '.join(workload.scripts)}",
        f"  driven unless others are named: {driven}",
    ]
    return lines
