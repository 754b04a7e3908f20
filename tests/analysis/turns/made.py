"""Makes turns whose throughput by time since the checkpoint is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from steelyard.model.turn import Checkpoint, Debt, Second, Turn

NS = 10**9
CLIENTS = 8
MB = 1 << 20


def make_turn(
    arm: str = "off",
    *,
    speed: Callable[[float], float] = lambda since_s: 1000.0,
    seconds: int = 60,
    cycle_s: float = 30.0,
    writes_s: float = 27.0,
    slice_s: float = 1.0,
    lead_s: float | None = None,
    lengths_s: Sequence[float] | None = None,
    images: Callable[[float], float] = lambda since_s: 0.1,
    waiting: Sequence[float] | None = None,
    **changes: Any,
) -> Turn:
    """Whole cycles from the end of a checkpoint that began `lead_s` (`writes_s`) earlier.

    `speed` and `images` (a transaction) are functions of the time since the last checkpoint began,
    taken at the middle of each second.
    """
    lead = writes_s if lead_s is None else lead_s
    lengths = list(lengths_s) if lengths_s is not None else [slice_s] * seconds
    zero, total = 1_000 * NS, sum(lengths)
    begins = [-lead + cycle_s * n for n in range(int((total + lead) / cycle_s) + 1)]
    begins = [one for one in begins if one < total]
    rows, at = [], 0.0
    for place, length in enumerate(lengths):
        middle = at + length / 2
        since = middle - max([one for one in begins if one <= middle], default=middle)
        done = round(speed(since) * length)
        rows.append(
            Second(
                start_ns=zero + round(at * NS),
                end_ns=zero + round((at + length) * NS),
                transactions=done,
                busy_ns=round(CLIENTS * length * NS),
                wal_bytes=1000.0 * done,
                images=images(since) * done,
                waiting_bytes=float(waiting[place]) if waiting is not None else 1.0 * MB,
            )
        )
        at += length
    checkpoints = tuple(
        Checkpoint(
            zero + round(one * NS),
            zero + round((one + writes_s) * NS) if one + writes_s <= total else None,
            "time",
        )
        for one in begins
    )
    facts: dict[str, Any] = {
        "arm": arm, "position": 0, "clients": CLIENTS, "end": "cycles", "level": True,
        "resident_share": 0.0, "quiet": True, "waiting_bytes": 0.0, "seconds": tuple(rows),
        "checkpoints": checkpoints, "at_start": Debt(27_000_000.0, 1.0 * MB),
        "at_end": Debt(27_000_000.0, 1.0 * MB),
    }  # fmt: skip
    return Turn(**{**facts, **changes})
