"""Formats what was captured of a log: its kinds, and what of it they cover."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator

from steelyard.workloads.capturing.mix import Kind
from steelyard.workloads.capturing.writing import Captured


def capture_lines(captured: Captured) -> Iterator[str]:
    """A row a kind, what was left out, and what can be done with it."""
    total = sum(kind.count for _, kind in captured.scripts)
    width = max(len(name) for name, _ in captured.scripts)
    yield f"{'kind':<{width}}  {'share':>7}  {'mean':>10}  {'values':>7}  {'pause':>9}"
    for name, kind in captured.scripts:
        mean = f"{_mean_ms(kind):.3f} ms"
        think = f"{1000 * statistics.median(kind.think_s):.1f} ms" if kind.think_s else "-"
        share = f"{100 * kind.count / total:.1f} %"
        writes = "  writes" if kind.writes else ""
        values = f"{kind.columns} × {len(kind.rows)}" if kind.columns else "none"
        yield f"{name:<{width}}  {share:>7}  {mean:>10}  {values:>7}  {think:>9}{writes}"
    yield ""
    yield f"covered: {_shares(captured.statements_share, captured.seconds_share)}"
    for why, count, seconds in captured.left_out:
        yield f"left out: {_shares(count, seconds)}: {why}"
    yield f"statements are sent as {captured.mode}, as they were"
    folder = captured.folder
    yield f"{folder}: weigh it with --workload {folder} --from DATA"


def _mean_ms(kind: Kind) -> float:
    return 1000 * kind.seconds / kind.count


def _shares(count: float, seconds: float | None) -> str:
    of_time = "" if seconds is None else f", {100 * seconds:.1f} % of their time"
    return f"{100 * count:.1f} % of the statements{of_time}"


def captured_json(captured: Captured) -> str:
    """One JSON object."""
    told = {
        "folder": str(captured.folder),
        "mode": captured.mode,
        "statements_share": captured.statements_share,
        "seconds_share": captured.seconds_share,
        "kinds": [
            {
                "script": name,
                "fingerprint": kind.fingerprint,
                "count": kind.count,
                "mean_ms": _mean_ms(kind),
                "median_ms": 1000 * statistics.median(kind.times_s),
                "writes": kind.writes,
                "rows": len(kind.rows),
            }
            for name, kind in captured.scripts
        ],
        "left_out": [
            {"why": why, "statements_share": count, "seconds_share": seconds}
            for why, count, seconds in captured.left_out
        ],
    }
    return json.dumps(told)
