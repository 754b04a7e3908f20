"""Makes epochs for tests of what is read from them."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.made import CAUSES, MakeEpoch
from steelyard.model.readings import ArmTotals, EpochTotals, PartReadings, Reading, SliceTotals
from steelyard.record.epoch import Epoch, EpochLine


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
        **line: Any,
    ) -> Epoch:
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
        cpu = cpu_ns or {"on": 30_000_000, "off": 27_000_000}

        def readings_of(arm: str) -> dict[str, Reading]:
            counted = {"server_cpu_us": cpu[arm] / 1000, **(counters or {}).get(arm, {})}
            return {
                name: Reading(name, "", value, "", name in CAUSES, measured=name == "server_cpu_us")
                for name, value in counted.items()
            }

        totals = EpochTotals(
            epoch=number,
            slots={"on": 0, "off": 1},
            start_order=("on", "off"),
            arms=arms,
            outcome=outcome,
            transactions_all={"on": 2000, "off": 2000},
            parts={
                arm: tuple(
                    PartReadings(
                        block * len((rates or {})[arm]) // 4, {"requested_bytes": float(asked)}
                    )
                    for block, asked in enumerate(every)
                )
                for arm, every in (reads or {}).items()
            },
            readings={arm: readings_of(arm) for arm in arms},
        )
        facts = {"epoch": number, "slots": {"on": 0, "off": 1}, "start_order": ("on", "off")}
        return Epoch(EpochLine.model_validate({**facts, "outcome": outcome, **line}), totals)

    return make
