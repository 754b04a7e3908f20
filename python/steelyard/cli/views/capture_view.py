"""Formats what was captured of a log: its kinds, and what became of every statement."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator

from steelyard.workloads.capturing.ledger import Outcome
from steelyard.workloads.capturing.mix import Kind
from steelyard.workloads.capturing.writing import Captured


def capture_lines(captured: Captured) -> Iterator[str]:
    """A row a kind, what was left out, and what can be done with it."""
    total = sum(kind.count for _, kind in captured.scripts)
    width = max(len(name) for name, _ in captured.scripts)
    yield f"{'kind':<{width}}  {'share':>7}  {'mean':>10}  {'values':>7}  {'pause':>9}"
    for name, kind in captured.scripts:
        mean = f"{_mean_ms(kind):.3f} ms" if kind.timed else "-"
        think = f"{1000 * statistics.median(kind.think_s):.1f} ms" if kind.think_s else "-"
        share = f"{100 * kind.count / total:.1f} %"
        writes = "  writes" if kind.writes else ""
        values = f"{kind.columns} × {len(kind.rows)}" if kind.columns else "none"
        yield f"{name:<{width}}  {share:>7}  {mean:>10}  {values:>7}  {think:>9}{writes}"
    yield ""
    yield f"covered: {_shares(captured.statements_share, captured.seconds_share)}"
    for why, count, seconds in captured.left_out:
        yield f"left out: {_shares(count, seconds)}: {why}"
    for refused in captured.refused:
        yield f"cannot be prepared: {refused.name}, {refused.count} times: {refused.error}"
    yield _sent(captured)
    folder = captured.folder
    yield f"{folder}: weigh it with --workload {folder} --from DATA"


def _sent(captured: Captured) -> str:
    """How statements are sent, and how they came."""
    came, total = captured.protocols, captured.protocols.total()
    others = [
        f"{100 * came[protocol] / total:.1f} % came {protocol}"
        for protocol in came
        if protocol != captured.mode and came[protocol]
    ]
    if not others:
        return f"statements are sent as {captured.mode}, as they were"
    return f"statements are sent as {captured.mode}: {', '.join(others)}"


def _mean_ms(kind: Kind) -> float:
    return 1000 * kind.seconds / kind.count


def _shares(count: float, seconds: float | None) -> str:
    of_time = "" if seconds is None else f", {100 * seconds:.1f} % of their time"
    return f"{100 * count:.1f} % of the statements{of_time}"


def captured_json(captured: Captured) -> str:
    """One JSON object."""
    ledger = captured.ledger
    shown = {
        "folder": str(captured.folder),
        "mode": captured.mode,
        "protocols": dict(captured.protocols),
        "statements": ledger.total,
        "captured": ledger.statements[Outcome.CAPTURED],
        "statements_share": captured.statements_share,
        "seconds_share": captured.seconds_share,
        "kinds": [
            {
                "script": name,
                "fingerprint": kind.fingerprint,
                "count": kind.count,
                "mean_ms": _mean_ms(kind) if kind.timed else None,
                "median_ms": 1000 * statistics.median(kind.times_s) if kind.timed else None,
                "writes": kind.writes,
                "rows": len(kind.rows),
            }
            for name, kind in captured.scripts
        ],
        "left_out": [
            {
                "why": why,
                "statements": ledger.statements[why],
                "statements_share": count,
                "seconds_share": seconds,
            }
            for why, count, seconds in captured.left_out
        ],
        "refused": [
            {"name": refused.name, "count": refused.count, "error": refused.error}
            for refused in captured.refused
        ],
    }
    return json.dumps(shown)
