"""The picture of a judgement is one SVG that holds every arm, whatever its rows."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.foreign.comparison import Comparison
from steelyard.foreign.judgement.judge_numbers import judge_numbers
from steelyard.foreign.metric import Metric
from steelyard.foreign.series import Grain, Order, Rows, Series
from steelyard.model.errors import RecordError
from steelyard.report.charts.scale import Log
from steelyard.report.judgement_picture import MOST_ARMS, picture_of, value_ticks, write_picture


def drawn(*arms: Any, grain: Grain = Grain.REPETITION, rows: Rows = Rows.BESIDE) -> str:
    series = tuple(
        Series(f"arm <{n}>", np.asarray(arm, dtype=float), grain) for n, arm in enumerate(arms)
    )
    metric = Metric("time", "s", False)
    return picture_of(judge_numbers(Comparison(("a&b",), "", metric, series, Order.RANDOM, rows)))


def noise(seed: int, n: int) -> Any:
    return np.exp(np.random.default_rng(seed).normal(0, 0.05, n))


def places(svg: str) -> list[float]:
    """Every coordinate of a circle."""
    return [float(x) for x in re.findall(r'c[xy]="([^"]+)"', svg)]


@pytest.mark.parametrize(
    "picture",
    [
        lambda: drawn(noise(1, 30), noise(2, 30)),
        lambda: drawn([5.0], [6.0]),
        lambda: drawn([5.0, 5.0, 5.0], [5.0, 5.0, 5.0]),
        lambda: drawn(noise(3, 5_000), noise(4, 5_000), rows=Rows.APART),
        lambda: drawn([0.0, 3.0] * 10, [2.0, 2.0] * 10, grain=Grain.SLICE, rows=Rows.APART),
        lambda: drawn(*(noise(n, 9) for n in range(9))),
        lambda: drawn(noise(5, 12) * 1e-9, noise(6, 12) * 1e9),
    ],
    ids=["thirty", "one value", "flat", "thousands", "idle slices", "nine arms", "far apart"],
)
def test_every_picture_is_sound_and_inside_its_frame(picture: Callable[[], str]) -> None:
    svg = picture()
    root = ET.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "arm &lt;0&gt;" in svg
    assert "a&amp;b" in svg
    assert all(-1 <= place <= 1000 for place in places(svg))
    assert "nan" not in svg
    assert "inf" not in svg.replace("infinite", "")


def test_a_row_is_a_dot_and_many_rows_are_ranges() -> None:
    few = drawn(noise(1, 30), noise(2, 30))
    assert few.count("dot arm0 solid") + few.count('class="dot arm0"') == 30
    many = drawn(noise(3, 5_000), noise(4, 5_000), rows=Rows.APART)
    assert many.count("whisker arm0") == 400


def test_no_more_arms_are_drawn_than_there_are_colours() -> None:
    svg = drawn(*(noise(n, 9) for n in range(9)))
    assert f"arm{MOST_ARMS - 1}" in svg
    assert f"arm{MOST_ARMS}" not in svg.replace("arm &lt;", "")


def test_values_within_one_decade_still_have_round_numbers_beside_them() -> None:
    for low, high in ((0.101, 0.127), (899, 3231), (1, 1e6), (5, 5.001)):
        ticks = value_ticks(Log(low, high, 100, 0))
        assert 2 <= len(ticks) <= 8
        assert all(low * 0.99 <= tick <= high * 1.01 for tick in ticks)


def test_a_picture_that_cannot_be_written_is_an_error_with_its_path(tmp_path: Path) -> None:
    series = (Series("a", noise(1, 9)), Series("b", noise(2, 9)))
    judged = judge_numbers(
        Comparison(("f",), "", Metric("t", "s", False), series, Order.RANDOM, Rows.BESIDE)
    )
    write_picture(judged, tmp_path / "p.svg")
    with pytest.raises(RecordError, match="could not write the picture"):
        write_picture(judged, tmp_path / "no" / "p.svg")
