"""A sweep's table has both arms' throughput, and keeps to the terminal's width."""

from __future__ import annotations

from steelyard.cli.weighing.sweep import sweep_lines
from steelyard.record.sweep import Swept, SweptContrast, SweptPoint


def point(value: str, **known: float) -> SweptPoint:
    contrast = SweptContrast(
        arm="random_page_cost=1.1", control="default", metric="throughput", higher_is_better=True,
        estimate_percent=-7.32, low_percent=-32.4, high_percent=15.8, verdict="inconclusive",
        epochs=10, threats=("another weighing", "shared background"), **known,
    )  # fmt: skip
    return SweptPoint(value=value, contrasts=(contrast,))


def lines(*points: SweptPoint) -> list[str]:
    swept = Swept(
        study="addresses", key="workload.clients", sentences=("not told",), points=points,
        question="q", margin_percent=1.0, confidence=0.95, seed=1, seconds=60.0,
        command="steelyard weigh addresses --sweep workload.clients=2,4 --seed 1",
    )  # fmt: skip
    return list(sweep_lines(swept, "sweep1", 80))


def test_both_throughputs_stand_before_the_difference_and_no_word_is_broken() -> None:
    shown = lines(point("2", control_throughput=1183.0, arm_throughput=1241.0), point("4"))
    assert all(len(line) <= 80 for line in shown)
    [row] = [line for line in shown if line.startswith("      2")]
    assert "1 183 → 1 241 /s  −7.32 %" in row.replace("\N{NO-BREAK SPACE}", " ")
    assert any("shared background)" in line for line in shown)
    older = lines(point("2"), point("4"))
    assert not any("throughput" in line for line in older), "older records do not have them"
