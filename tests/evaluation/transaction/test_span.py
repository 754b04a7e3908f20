"""Times are split where they are those of the measured slices, as the time of a transaction is."""

from __future__ import annotations

import pytest

from steelyard.evaluation.transaction.time_parts import parts_of
from steelyard.model.readings import (
    SESSION_CPU,
    SESSION_QUEUE,
    ArmTotals,
    EpochTotals,
    Reading,
)


@pytest.mark.parametrize("measured", [True, False])
def test_times_of_other_slices_make_no_parts(measured: bool) -> None:
    arm = ArmTotals("on", 0, 4, transactions=1000, busy_ns=10**8, latency_sum_ns=10**8)
    epoch = EpochTotals(
        epoch=0,
        slots={"on": 0},
        start_order=("on",),
        arms={"on": arm},
        readings={
            "on": {
                name: Reading(name, "µs", 20_000.0, measured=measured)
                for name in (SESSION_CPU, SESSION_QUEUE)
            }
        },
        transactions_all={"on": 3000},
        transactions_measured={"on": 1000},
    )
    parts = parts_of(epoch, "on")
    assert (parts is not None) is measured
    if parts is not None:
        assert parts == pytest.approx({"processor": 20, "queue": 20, "debt": 0, "waits": 60})
