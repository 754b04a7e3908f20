"""Shapes a verdict for `--json`: as the record holds it, each contrast with its parts and cause."""

from __future__ import annotations

import json
from collections.abc import Mapping

from steelyard.record.verdict import TimeParts, Verdict

_NAMES = {"queue": "processor wait", "locks": "lock"}
"""Of parts whose names in the record are short."""


def verdict_json(verdict: Verdict) -> str:
    """One object: what verdict.json holds; where the time of a transaction goes is in its contrast
    too, in µs, as `parts` and `cause` (a part's name, or null)."""
    times = {one.arm: one for one in verdict.time}
    told = verdict.to_json()
    contrasts = [{**line.to_json(), **_told(times.get(line.arm))} for line in verdict.contrasts]
    return json.dumps({**told, "contrasts": contrasts, "scope": "machine"})


def _told(time: TimeParts | None) -> Mapping[str, object]:
    if time is None:
        return {"parts": [], "cause": None}
    parts = [
        {
            "name": _NAMES.get(one.part, one.part),
            "control_us": one.control_us,
            "arm_us": one.arm_us,
            "difference_us": one.difference_us,
            "low_us": one.low_us,
            "high_us": one.high_us,
        }
        for one in time.parts
    ]
    cause = time.cause.part if time.cause is not None else None
    return {"parts": parts, "cause": None if cause is None else _NAMES.get(cause, cause)}
