"""Charts of turns show what they are given where it belongs, whatever is missing."""

from __future__ import annotations

import dataclasses
import html
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.turns.made import NS, make_turn
from steelyard.model.turn import Turn
from steelyard.record.turns.turn_summary import CurveLine, DistanceLine
from steelyard.report.charts.drawing import NARROW, WIDE
from steelyard.report.charts.epochs import PERCENT_LEFT
from steelyard.report.charts.scale import Linear
from steelyard.report.charts.turns import (
    MOST_POINTS,
    draw_by_distance,
    draw_distances,
    draw_seconds,
)
from thinned import thinned

CLASSES = {"on": "arm0", "off": "arm1"}
PAIR = ("on", "off")
WIDTHS = (WIDE, NARROW)


Ends = dict[str, Any]


def estimate(percent: float, half: float = 2.0) -> Ends:
    ends = zip(("low", "estimate", "high"), (-1, 0, 1), strict=True)
    return {f"{name}_percent": percent + side * half for name, side in ends}


OPEN = {"low_percent": None, "estimate_percent": -5.0, "high_percent": None}
NOTHING = dict.fromkeys(OPEN)
ROW = {"arm": "off", "confidence": 0.95, "epochs": 10}


def point(low_s: int, high_s: int, one: Ends, images: float | None = 1.0) -> CurveLine:
    wrote = {"control_wal_bytes": 1e3, "arm_wal_bytes": 2e3}
    wrote |= {"control_images": images, "arm_images": images}
    return CurveLine(from_seconds=low_s, to_seconds=high_s, **ROW, **one, **wrote)


def effect(seconds: int, one: Ends) -> DistanceLine:
    return DistanceLine(seconds=seconds, **ROW, **one)


POINTS = (
    point(0, 2, estimate(-30), 8.0),
    point(2, 5, estimate(-12), 3.0),
    point(5, 30, estimate(-1), 0.2),
)
EFFECTS = tuple(effect(s, estimate(-60 / s)) for s in (5, 30, 900))


def both_turns(**changes: object) -> list[Turn]:
    turns = [make_turn("on"), make_turn("off", position=1)]
    return [dataclasses.replace(one, **changes) for one in turns]


@pytest.mark.parametrize("width", WIDTHS)
def test_checkpoints_are_shaded_from_begin_to_end(width: int) -> None:
    svg = str(draw_seconds(both_turns(), CLASSES, 3, width))
    x = Linear(0, 60 * NS, PERCENT_LEFT, width - 10)
    shades = re.findall(r'<rect x="([\d.]+)"[^>]* width="([\d.]+)"[^>]*class="margin"', svg)
    found = {(round(float(a)), round(float(a) + float(w))) for a, w in shades}
    assert found == {(round(x(a * NS)), round(x(b * NS))) for a, b in ((3, 30), (33, 60))}
    begins = {round(float(a)) for a in re.findall(r'<line x1="([\d.]+)"[^>]*class="look"', svg)}
    assert begins == {round(x(3 * NS)), round(x(33 * NS))}
    assert "in epoch 3" in svg


def test_both_arms_share_their_scales() -> None:
    slow = make_turn("off", speed=lambda _: 500.0, position=1)
    svg = str(draw_seconds([make_turn("on"), slow], CLASSES, 1, WIDE))
    paths = re.findall(r'<path d="M[\d.]+ ([\d.]+)[^"]*" class="edge (arm\d)"', svg)
    assert [class_ for _, class_ in paths] == ["arm0", "arm1"]
    tops = [26 + 132 - 4 + place * (132 + 26) for place in range(2)]
    heights = [top - float(y) for top, (y, _) in zip(tops, paths, strict=True)]
    assert heights[1] == pytest.approx(heights[0] / 2, abs=0.2)


def test_a_checkpoint_under_way_at_the_end_is_shaded_to_the_end() -> None:
    turn = make_turn("on", seconds=40, lead_s=0.0)
    assert turn.checkpoints[-1].ended_ns is None
    svg = str(draw_seconds([turn], CLASSES, 1, WIDE))
    shades = re.findall(r'<rect x="([\d.]+)"[^>]* width="([\d.]+)"[^>]*class="margin"', svg)
    assert max(float(a) + float(w) for a, w in shades) == pytest.approx(WIDE - 10, abs=0.2)


def test_a_stall_bears_a_mark_and_is_not_thinned_away() -> None:
    stalled = make_turn("on", seconds=3000, cycle_s=1500.0, writes_s=1000.0)
    one = dataclasses.replace(stalled.seconds[1234], transactions=1)
    seconds = (*stalled.seconds[:1234], one, *stalled.seconds[1235:])
    svg = str(draw_seconds([dataclasses.replace(stalled, seconds=seconds)], CLASSES, 1, WIDE))
    assert svg.count('class="dot happened solid"') == 1
    [path] = re.findall(r'<path d="M([^"]*)" class="edge arm0"', svg)
    heights = [float(step.split()[1]) for step in path.split("L")]
    assert len(heights) <= MOST_POINTS
    assert max(heights) == pytest.approx(26 + 132 - 4, abs=0.5)


@pytest.mark.parametrize("width", WIDTHS)
def test_intervals_of_the_curve_stand_where_they_are(width: int) -> None:
    svg = str(draw_by_distance(POINTS, PAIR, CLASSES, 1.0, width))
    marks = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"[^>]*class="estimate arm1"', svg)
    whiskers = re.findall(
        r'<line x1="([\d.]+)" y1="([\d.]+)" x2="\1" y2="([\d.]+)" class="cap arm1"', svg
    )
    assert len(marks) == len(whiskers) == 3
    heights = [float(y) for _, y in marks]
    assert heights == sorted(heights, reverse=True), "from −30 % up to −1 %"
    for (_, y), (_, bottom, top) in zip(marks, whiskers, strict=True):
        assert float(top) < float(y) < float(bottom)
    span = (heights[0] - heights[2]) / 29
    assert heights[1] == pytest.approx(heights[2] + 11 * span, abs=0.3)
    assert svg.count('class="series arm0"') == svg.count('class="series arm1"') == 1
    assert "5 s to 30 s: −1.00 % [−3.00, +1.00]" in svg


def test_images_that_were_not_counted_are_said_to_be_missing() -> None:
    svg = str(draw_by_distance([point(0, 30, estimate(-1), None)], PAIR, CLASSES, 1.0, WIDE))
    assert "not counted" in svg
    assert "nan" not in svg
    assert 'class="series' not in svg


@pytest.mark.parametrize("width", WIDTHS)
def test_distances_are_rows_with_their_figures(width: int) -> None:
    svg = str(draw_distances(EFFECTS, PAIR, CLASSES, 1.0, width))
    for words in ("every 5 s", "every 30 s", "every 15 min", "−12.00 % [−14.00, −10.00]"):
        assert words in svg
    assert svg.count('class="estimate arm1"') == 3
    assert "as computed" in svg


@pytest.mark.parametrize("one", [OPEN, NOTHING])
def test_open_and_missing_intervals_stay_on_the_paper(one: Ends) -> None:
    charts = [
        str(draw_by_distance([*POINTS, point(30, 60, one)], PAIR, CLASSES, 1.0, WIDE)),
        str(draw_distances([*EFFECTS, effect(1800, one)], PAIR, CLASSES, 1.0, WIDE)),
    ]
    for svg in charts:
        assert not re.search(r'="[^"]*(nan|inf)', re.sub(r'aria-label="[^"]*"', "", svg))
        places = [float(x) for x in re.findall(r' (?:x[12]?|cx)="(-?[\d.]+)"', svg)]
        assert 0 <= min(places) <= max(places) <= WIDE
        assert ("no estimate" in svg) == (one is NOTHING)
        assert ("no interval" in svg) == (one is OPEN)


def test_nothing_to_show_is_an_empty_picture() -> None:
    for svg in (
        draw_seconds([dataclasses.replace(make_turn("on"), seconds=())], CLASSES, 1, WIDE),
        draw_by_distance((), PAIR, CLASSES, 1.0, WIDE),
        draw_distances((), PAIR, CLASSES, 1.0, WIDE),
    ):
        assert "nan" not in str(svg)


BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run")
PROBE = """<meta charset="utf-8"><style>{style}</style><body style="padding:0;margin:0">{charts}
<script>document.body.textContent = "PROBE" + [...document.querySelectorAll("svg[role=img]")].map(
  svg => {{ const own = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].map(text => text.getBoundingClientRect()).filter(
      box => box.left < own.left - 1 || box.right > own.right + 1).length; }}) + "EBORP";</script>
"""


@pytest.mark.browser
@thinned("width", WIDTHS, 1)
def test_no_words_are_cut_off_in_a_browser(tmp_path: Path, width: int) -> None:
    if BROWSER is None:
        pytest.skip("no chromium on the path: apt-get install chromium")
    draw: list[Callable[[], object]] = [
        lambda: draw_seconds(both_turns(), CLASSES, 1, width),
        lambda: draw_by_distance(POINTS, PAIR, CLASSES, 1.0, width),
        lambda: draw_distances(EFFECTS, PAIR, CLASSES, 1.0, width),
    ]
    style = Path(__file__).parents[3] / "python" / "steelyard" / "report" / "style.css"
    page = PROBE.format(style=style.read_text(), charts="".join(str(one()) for one in draw))
    probe = tmp_path / "probe.html"
    probe.write_text(page, encoding="utf-8")
    flags = [*FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", probe.as_uri()]
    shown = subprocess.run(
        [BROWSER, *flags], capture_output=True, text=True, timeout=120, check=True
    )
    found = re.search(r"PROBE(.*?)EBORP", html.unescape(shown.stdout))
    assert found is not None, shown.stderr
    assert found[1] == "0,0,0"
