"""The picture of a probe in a real browser: nothing is cut off, no two texts lie on each other."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest

from site_browser import Browser
from steelyard.report.charts.latency import write_picture
from tuning.probes import figure, probe_of

pytestmark = pytest.mark.browser
NAMES = (
    "sequential read, 8 workers",
    "sequential write, 8 workers",
    "random read, depth 1",
    "random write, depth 32",
    "70 % reads, 30 % writes, depth 32",
    "log write and sync",
)
BOXES = """JSON.stringify([...document.querySelectorAll("text")].map(text => {
  const box = text.getBoundingClientRect();
  return [text.textContent, box.left, box.top, box.right, box.bottom];
}))"""


def test_every_text_stands_within_the_picture_and_beside_the_others(tmp_path: Path) -> None:
    rates = [figure(name, 37.0 * 13**place, 1 << 20) for place, name in enumerate(NAMES)]
    picture = tmp_path / "probe.svg"
    write_picture(probe_of(*rates, directory="/var/lib/postgresql/18/main"), picture)
    with Browser(tmp_path) as browser:
        browser.open(picture.as_uri(), 1280)
        size = json.loads(
            browser.value(
                "JSON.stringify(document.documentElement.viewBox.baseVal, ['width', 'height'])"
            )
        )
        drawn = json.loads(browser.value(BOXES))
        shown = json.loads(
            browser.value("JSON.stringify(document.documentElement.getBoundingClientRect())")
        )
        assert browser.asked == [picture.as_uri()]
    assert shown["right"] <= 1280
    assert shown["width"] / shown["height"] == pytest.approx(size["width"] / size["height"], 0.01)
    assert len(drawn) >= 2 * len(NAMES)
    for text, left, top, right, bottom in drawn:
        assert shown["left"] <= left < right <= shown["right"], text
        assert shown["top"] <= top < bottom <= shown["bottom"], text
    for (one, *first), (other, *second) in combinations(drawn, 2):
        apart = first[2] <= second[0] or second[2] <= first[0]
        above = first[3] <= second[1] or second[3] <= first[1]
        assert apart or above, f"{one!r} lies on {other!r}"
