"""Reads records of format 1 as format 2: the one place that knows what has changed.

Format 1 kept counters without units, what it saw of the machine as sentences, and neither query
plans nor the A/A ledger as it was consulted. What stands on these is carried over from its verdict
as it was said. Lines are told apart by their shape, since a record may have been gone on with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.model.threat import ThreatKind

RawLine = dict[str, Any]
"""Parsed JSON of a file or line, before it is checked."""

COUNTERS: Mapping[str, tuple[str, str, bool]] = {
    "wal_bytes": ("wal_bytes", "bytes", True),
    "wal_records": ("wal_records", "records", False),
    "wal_fpi": ("full_page_images", "images", True),
    "blocks_hit": ("blocks_hit", "blocks", False),
    "blocks_read": ("blocks_read", "blocks", True),
    "blocks_written": ("blocks_written", "blocks", True),
    "blocks_extended": ("blocks_extended", "blocks", False),
    "xact_commit": ("commits", "transactions", False),
    "xact_rollback": ("rollbacks", "transactions", False),
    "rows_changed": ("rows_changed", "rows", False),
    "deadlocks": ("deadlocks", "deadlocks", False),
    "temp_bytes": ("temp_bytes", "bytes", False),
    "checksum_failures": ("checksum_failures", "pages", False),
    "checkpoints_timed": ("checkpoints_timed", "checkpoints", False),
    "checkpoints_requested": ("checkpoints_requested", "checkpoints", False),
    "autovacuum_count": ("autovacuums", "tables", False),
    "autoanalyze_count": ("autoanalyzes", "tables", False),
}
"""Counter of format 1 → its name, its unit, and whether it is shown as a cause."""
WITHOUT_FACTS = (
    ThreatKind.MACHINE_CHANGED,
    ThreatKind.LEDGER,
    ThreatKind.BUILDS_DIFFER,
    ThreatKind.PLANS_DIFFER,
)
"""Threats of the inspection that format 1 kept no facts for."""


def upgrade_plan(plan: RawLine) -> RawLine:
    """plan.json: what older plans of the format left out is put in."""
    writes = plan.get("writes", plan.get("cost") == "whole")
    return {**plan, "writes": writes}


def upgrade_slice(line: RawLine) -> RawLine:
    """A line of slices.jsonl."""
    if "aside" not in line and "candidate" not in line:
        return line
    changed = {key: value for key, value in line.items() if key not in ("aside", "candidate")}
    if line.get("aside"):
        changed["excluded"] = True
    return changed


def upgrade_telemetry(line: RawLine) -> RawLine:
    """A line of telemetry.jsonl."""
    if line.get("type") != "epoch" or "host" not in line:
        return line
    fields = {key: value for key, value in line.items() if key not in ("host", "arms")}
    arms = {arm: _arm(raw) for arm, raw in line.get("arms", {}).items()}
    return {**fields, "arms": arms, "machine_seen": line["host"]}


def _arm(old: RawLine) -> RawLine:
    keys = ("driver_cpu_ns", "transactions", "all_transactions", "work_per_minute", "probes")
    readings = [_reading("server_cpu_us", "µs", old.get("cpu_ns", 0) / 1000, True, True)]
    for name in ("read_bytes", "written_bytes"):
        readings.append(_reading(name, "bytes", old.get(name, 0), False, True))
    for counter, amount in old.get("counters", {}).items():
        name, unit, per_transaction = COUNTERS.get(counter, (counter, "", False))
        readings.append(_reading(name, unit, amount, per_transaction, False))
    parts = [
        {
            "first_block": part["first_block"],
            "values": {"requested_bytes": part["requested_bytes"]},
        }
        for part in old.get("parts", ())
    ]
    return {**{key: old[key] for key in keys if key in old}, "readings": readings, "parts": parts}


def _reading(name: str, unit: str, value: float, per_transaction: bool, measured: bool) -> RawLine:
    line: RawLine = {"name": name, "unit": unit, "value": value}
    return {**line, "per_transaction": per_transaction, "measured": measured}


def upgrade_verdict(verdict: RawLine) -> RawLine:
    """verdict.json."""
    queries = [
        {("excluded" if key == "aside" else key): value for key, value in row.items()}
        for row in verdict.get("queries", ())
    ]
    return {**verdict, "queries": queries}


def inspection_of(verdict: RawLine | None, plan: RawLine, environment: RawLine) -> RawLine:
    """inspection.json, which format 1 has not: from what its verdict and environment say."""
    contrasts = (verdict or {}).get("contrasts", [])
    threats_by_arm = {
        contrast["arm"]: [(t["name"], t["seen"]) for t in contrast["threats"]]
        for contrast in contrasts
    }
    idle = any(
        name == ThreatKind.WRONG_ANSWER
        for threats in threats_by_arm.values()
        for name, _ in threats
    )
    differences = (verdict or {}).get("differences") or {"compared": 0}
    first = next((arm for arm in plan["arms"] if arm != plan["control"]), "")
    return {
        "compared": differences["compared"],
        # Format 1 did not say how many statements have a plan. Where work was done it does not
        # matter; where none was, its verdict says so.
        "statements": int(idle or not contrasts),
        "writes": plan["writes"],
        "arms": {
            arm: {
                # The differences of all arms stood in one list.
                "differences": {k: v for k, v in differences.items() if k != "compared"}
                if arm == first
                else {},
                "seen": [[name, sentence] for name, sentence in threats if name in WITHOUT_FACTS],
            }
            for arm, threats in (threats_by_arm or {name: [] for name in plan["arms"][1:]}).items()
        },
        "build_profile": environment.get("steelyard", {}).get("build_profile", "release"),
    }


def end_of(verdict: RawLine, telemetry: list[RawLine]) -> RawLine:
    """The line of the end, which format 1 has not: its verdict says what it says."""
    epochs = sum(line["type"] == "epoch" for line in telemetry)
    resumed = [line["epoch"] for line in telemetry if line.get("event") == "resumed"]
    whole = verdict.get("whole_seconds", verdict["seconds"])
    return {
        "epoch": epochs,
        "began": max(resumed, default=0),
        "seconds": verdict["seconds"],
        "whole_seconds": whole,
        "resumed": verdict.get("resumed", False),
        "interrupted": verdict.get("interrupted", False),
        "ledger": verdict.get("ledger"),
    }
