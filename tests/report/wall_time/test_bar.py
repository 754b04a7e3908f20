"""The bar of a weighing's wall time has every phase in its share, a key, and a table beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import steelyard.report
from steelyard.record.spent import PHASES, Spent, SpentLine
from steelyard.report.page import write_report
from steelyard.report.wall_time import draw_wall_time

MakeRecord = Callable[..., Path]
Counts = Callable[[list[str], list[int]], list[int]]
STYLE = (Path(steelyard.report.__file__).parent / "style.css").read_text(encoding="utf-8")


def spent() -> Spent:
    line = SpentLine(epoch=1, phases_ns={"start": 20 * 10**9, "measure": 80 * 10**9})
    found = Spent.of([line])
    assert found is not None
    return found


@pytest.mark.parametrize("width", [920.0, 342.0])
def test_every_phase_is_as_long_as_its_share(width: float) -> None:
    svg = str(draw_wall_time(spent(), width))
    wide = {
        name: float(size)
        for size, name in re.findall(r'width="([\d.]+)" height="26" class="part spent-(\w+)"', svg)
    }
    assert wide["measure"] / wide["start"] == pytest.approx(4, rel=0.05)
    assert sum(wide.values()) == pytest.approx(width - 32, abs=3)
    assert svg.count('class="part spent-start"') == 2  # the bar, the key
    assert "1 min 40 s, 80 % under load" in svg


def test_every_phase_has_a_colour_of_its_own() -> None:
    found = dict(re.findall(r"\.spent-([a-z-]+) \{ fill: (#[0-9a-f]{6}); \}", STYLE))
    assert set(found) == {phase.replace(" ", "-") for phase in PHASES}
    assert len(set(found.values())) == len(PHASES)


def test_the_page_has_the_bar_and_its_table_where_the_record_says_it(
    record: MakeRecord, counts: Counts
) -> None:
    directory = record()
    before = write_report(directory, count_latencies=counts).read_text(encoding="utf-8")
    assert "Where the time went" not in before
    assert "of it under load" in before
    verdict = json.loads((directory / "verdict.json").read_text())
    verdict["spent"] = spent().to_json()
    (directory / "verdict.json").write_text(json.dumps(verdict))
    page = write_report(directory, count_latencies=counts).read_text(encoding="utf-8")
    assert page.count('class="part spent-measure"') == 4  # two widths, each with its key
    assert '<th scope="row">measuring, under load</th>' in page
    assert "the weighing took 1 min 40 s: 1 min 20 s under load, 20 s start" in page
