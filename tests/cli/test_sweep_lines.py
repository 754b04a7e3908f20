"""A sweep's table has both arms' throughput, and keeps to the terminal's width."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.cli.weighing.sweep import point_records, sweep_lines
from steelyard.record.sweep import POINTS, Swept, SweptContrast, SweptPoint


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


@given(st.lists(st.text(st.sampled_from("a/_ .-5é基\0\n"), min_size=1, max_size=80), unique=True))
def test_every_value_has_a_folder_of_its_own_that_histories_read(values: list[str]) -> None:
    """What stands in a folder is taken for its point: two values in one would be one reading."""
    records = point_records(values)
    assert len({*records.values()}) == len(values)
    for folder in records.values():
        parent, name = PurePosixPath(folder).parts
        assert parent == POINTS
        assert not name.startswith(".")
        assert 0 < len(name.encode()) < 256


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (("8", "32", "256"), ["8", "32", "256"]),
        (("0.5%", "1.5%"), ["0.5_", "1.5_"]),
        (("/opt/pg/17/bin", "/opt/pg_17/bin"), ["_opt_pg_17_bin", "_opt_pg_17_bin-2"]),
        ((".5", "1", ".."), ["0.5", "1", "_.."]),
        (("a/b", "a_b-3", "a_b"), ["a_b", "a_b-3", "a_b-3-3"]),
    ],
)
def test_folders_are_called_by_their_values(values: tuple[str, ...], names: list[str]) -> None:
    folders = point_records(values).values()
    assert [folder.removeprefix(f"{POINTS}/") for folder in folders] == names
