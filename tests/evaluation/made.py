"""Types and values of what the tests of evaluation make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from steelyard.record.epoch import Epoch
from steelyard.record.plan import Plan

MakeEpoch = Callable[..., Epoch]

CAUSES = {"server_cpu_us", "wal_bytes", "full_page_images", "blocks_read", "blocks_written"}
"""Readings that are shown as causes."""


def make_plan(**changes: Any) -> Plan:
    """A plan of arms "on" and "off"; keys may be changed."""
    facts: dict[str, Any] = {
        "format": 2, "study": "s", "seed": 1, "metric": "throughput", "margin": 0.01,
        "alpha": (0.01, 0.04), "epochs": 10, "epoch_ns": 10**9, "blocks_per_epoch": 10,
        "threads": 2, "clients": 4, "processors": (0, 1), "control": "on", "arms": ("on", "off"),
        "assignment": (), "start_orders": (), "writes": False, "cost": "foreground",
        "cost_why": "", "slice_ns": 10**8, "slice_why": "", "visit_ns": 10**8,
        "placement": "symmetric", "placement_why": "", "warmup_ns": 0, "upkeep": "restore",
        "upkeep_why": "", "s0": 0.01,
    }  # fmt: skip
    return Plan.model_validate({**facts, **changes})
