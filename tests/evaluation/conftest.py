"""Makes epochs for tests of what is read from them."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.made import MakeEpoch
from steelyard.model.readings import ArmTotals, EpochTotals, PartRead, SliceTotals
from steelyard.running.epoch import RanEpoch


@pytest.fixture
def make_epoch() -> MakeEpoch:
    """An epoch of arms "on" and "off" with 1,000 transactions each; facts may be changed."""

    def make(
        number: int = 0,
        *,
        cpu_ns: dict[str, int] | None = None,
        counters: dict[str, dict[str, float]] | None = None,
        transactions: dict[str, int] | None = None,
        rates: dict[str, list[int]] | None = None,
        wrong_rows: dict[str, int] | None = None,
        rows: dict[str, int] | None = None,
        outcome: str = "complete",
        reads: dict[str, list[int]] | None = None,
        head: dict[str, Any] | None = None,
    ) -> RanEpoch:
        done = {"on": 1000, "off": 1000, **(transactions or {})}
        arms = {
            arm: ArmTotals(
                arm=arm,
                slot=slot,
                clients=4,
                transactions=done[arm],
                busy_ns=4 * 10**9,
                latency_sum_ns=4 * 10**9,
                wrong_rows=(wrong_rows or {}).get(arm, 0),
                rows=(rows or {}).get(arm),
                slices=tuple(
                    SliceTotals(block, slot, rate, 10**8, 10**8)
                    for block, rate in enumerate((rates or {}).get(arm, []))
                ),
            )
            for slot, arm in enumerate(("on", "off"))
        }
        totals = EpochTotals(
            epoch=number,
            slots={"on": 0, "off": 1},
            start_order=("on", "off"),
            arms=arms,
            outcome=outcome,
            counters=counters or {},
            transactions_all={"on": 2000, "off": 2000},
            parts={
                arm: tuple(
                    PartRead(block * len((rates or {})[arm]) // 4, asked)
                    for block, asked in enumerate(every)
                )
                for arm, every in (reads or {}).items()
            },
            cpu_ns=cpu_ns or {"on": 30_000_000, "off": 27_000_000},
        )
        return RanEpoch(totals, {"arms": {}, **(head or {})})

    return make
