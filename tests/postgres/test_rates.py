"""On real servers the rate at a limit of latency is searched, and an arm with more work carries
less."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from underway import Underway

pytestmark = [pytest.mark.postgres, pytest.mark.long]
METRIC = "rate at p50 <= 50ms"


def test_an_arm_with_twice_the_work_carries_less(start: Callable[..., Underway]) -> None:
    weighing = start(
        "rates", "aa", "--metric", METRIC, "--budget", "70s", "--seed", "4",
        "--set", "budget.epochs=2", "--set", "workload.scale=1",
        "--set", "arm.weight.double_work=90%",
        "--set", "control.price=0.504 USD/h", "--set", "arm.price=0.504 USD/h",
    )  # fmt: skip
    assert weighing.end(1200.0) == 0, weighing.said
    told = weighing.verdict
    [contrast] = told["contrasts"]
    assert contrast["metric"] == "rate at p50 ≤ 50 ms"
    assert contrast["epochs"] == 2
    assert contrast["estimate_percent"] < 0
    control, arm = told["capacity"]
    assert control["rate_per_second"] > arm["rate_per_second"] > 0
    ours, theirs = told["costs"]
    assert theirs["per_million"] > ours["per_million"]
    rates = {line["rate"] for line in weighing.slices(1)}
    assert len(rates) > 10
