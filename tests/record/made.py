"""Makes values of a record for tests of what is shown; what a test does not name is plain."""

from __future__ import annotations

from typing import Any

from steelyard.record.contrast import ContrastDetails, ContrastLine
from steelyard.record.plan import Plan
from steelyard.record.verdict import Verdict

DETAILS: dict[str, Any] = {
    "d": (),
    "epochs": (),
    "k": 0,
    "subsets": 0,
    "look": "last",
    "method": "sign flips",
    "level": 0.96,
    "t_interval_percent": (None, None),
    "equivalence_interval_percent": (None, None),
    "equivalence_level_one_sided": 0.04,
    "epoch_sd_percent": None,
    "slot_effect_percent": None,
    "typical_percent": None,
    "smallest_visible_percent": None,
    "block_autocorrelation": None,
    "drops": {},
    "capped": {},
    "lost_epochs": (),
    "attempt": 1,
    "margin_percent": 1.0,
    "settling": (),
}
CONTRAST: dict[str, Any] = {
    "arm": "off",
    "control": "on",
    "metric": "throughput",
    "unit": "transactions/s",
    "higher_is_better": True,
    "estimate_percent": None,
    "low_percent": None,
    "high_percent": None,
    "confidence": 0.95,
    "verdict": "inconclusive",
    "nonzero": False,
    "epochs": 12,
    "blocks": 720,
    "forecast_seconds": None,
    "threats": (),
    "sentence": "",
}
VERDICT: dict[str, Any] = {
    "study": "checksums",
    "seed": 7,
    "record": "records/checksums/2026-03-05T142233Z",
    "seconds": 101.2,
    "whole_seconds": 0.0,
    "placement": "symmetric",
    "sentence": "",
    **dict.fromkeys(("causes", "latency", "latency_by_script", "queries", "statements"), ()),
    **dict.fromkeys(("work", "probes", "trust"), ()),
    **dict.fromkeys(("pages", "defaults", "loads", "ledger")),
    "differences": {"compared": 388},
    "measured_seconds": float("nan"),
    "slices": 1536,
    "resumed": False,
    "interrupted": False,
    "command": "",
}
PLAN: dict[str, Any] = {
    "format": 2,
    "study": "checksums",
    "seed": 7,
    "metric": "throughput",
    "margin": 0.01,
    "alpha": (0.01, 0.04),
    "epochs": 12,
    "epoch_ns": 6_500_000_000,
    "blocks_per_epoch": 64,
    "threads": 2,
    "clients": 8,
    "processors": (0, 1),
    "control": "on",
    "arms": ("on", "off"),
    "assignment": (),
    "start_orders": (),
    "writes": False,
    "cost": "foreground",
    "cost_why": "",
    "slice_ns": 50_000_000,
    "slice_why": "",
    "visit_ns": 50_000_000,
    "placement": "symmetric",
    "placement_why": "",
    "warmup_ns": 1_500_000_000,
    "upkeep": "restore",
    "upkeep_why": "",
    "s0": 0.004,
}


def details_of(**facts: Any) -> ContrastDetails:
    return ContrastDetails.model_validate({**DETAILS, **facts})


def line_of(**facts: Any) -> ContrastLine:
    """A contrast; of its details only what is named is changed."""
    details = {**DETAILS, **facts.pop("details", {})}
    return ContrastLine.model_validate({**CONTRAST, **facts, "details": details})


def verdict_of(*contrasts: ContrastLine, **facts: Any) -> Verdict:
    return Verdict.model_validate({**VERDICT, "contrasts": contrasts, **facts})


def plan_of(**facts: Any) -> Plan:
    return Plan.model_validate({**PLAN, **facts})
