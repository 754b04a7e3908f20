"""The page of a sweep has both arms' curves with their knees, the difference, and a table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from site_browser import Browser
from steelyard.evaluation.sweep import knee
from steelyard.record.sweep import Swept, SweptContrast, SweptPoint
from steelyard.report.sweep_page import render_sweep, write_sweep_page
from thinned import thinned

VALUES = ("2", "4", "8", "16", "32")
CONTROL = (900.0, 1700.0, 3000.0, 3150.0, 3200.0)
ARM = (910.0, 1800.0, 3500.0, 6700.0, 13_000.0)


def swept(rates: bool = True) -> Swept:
    points = [
        SweptPoint(
            value=value,
            record=f"points/{value}",
            contrasts=(
                SweptContrast.model_validate(
                    {
                        "arm": "new-host.example.org:5432", "control": "old-host.example.org:5432",
                        "metric": "throughput", "higher_is_better": True,
                        "estimate_percent": 3.0, "low_percent": 1.0, "high_percent": 5.0,
                        "verdict": "faster", "epochs": 12,
                        "threats": ["steal or throttling", "memory or disk nearly full"],
                        **({"control_throughput": CONTROL[n], "arm_throughput": ARM[n],
                            "control_p95_us": 900.0 * 2**n, "arm_p95_us": 800.0} if rates else {}),
                    }
                ),
            ),
        )
        for n, value in enumerate(VALUES)
    ]  # fmt: skip
    return Swept(
        key="workload.clients", study="addresses", question="Which host?", margin_percent=1.0,
        confidence=0.95, points=tuple(points), sentences=("by clients: faster",), seed=1,
        command="steelyard weigh addresses --sweep workload.clients=2,4,8,16,32 " + "-f a.sql " * 9,
        seconds=60.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("values", "rates", "place"),
    [
        (VALUES, CONTROL, 2),
        (VALUES, ARM, None),  # it grows with the clients
        (VALUES, (900.0, 1700.0, 3000.0, 2000.0, 1000.0), 2),  # and beyond it falls
        (VALUES, (900.0, 880.0, 700.0, 600.0, 500.0), None),
        (VALUES, (900.0, None, 3000.0, 3150.0, 3200.0), None),
        (VALUES[:3], CONTROL[:3], None),
        (("on", "off", "a", "b", "c"), CONTROL, None),
        (("32", "16", "8", "4", "2"), CONTROL, None),
    ],
)
def test_the_knee_is_where_a_curve_bends(
    values: tuple[str, ...], rates: tuple[float | None, ...], place: int | None
) -> None:
    assert knee(values, rates) == place


def test_both_curves_are_drawn_and_only_one_has_a_knee() -> None:
    page = render_sweep(swept())
    throughput = re.findall(r'<svg[^>]*aria-label="Throughput by clients.*?</svg>', page, re.DOTALL)
    assert len(throughput) == 2, "for desktop and for phone"
    for picture in throughput:
        assert picture.count("<polyline") + picture.count('class="series arm') >= 2
        assert picture.count(">knee<") == 1
        assert "3 150 at 16" in picture
        assert "knee at 8" in picture
    assert "Throughput bends (its knee) at 8 for old-host.example.org:5432." in page
    assert "p95 of the latency of both" in page
    assert "3 000 → 3 500" in page


def test_a_sweep_of_before_has_its_difference_alone() -> None:
    page = render_sweep(swept(rates=False))
    assert "Throughput of both" not in page
    assert "The difference, with joint intervals" in page
    assert "– → –" in page


@pytest.mark.browser
@thinned("width", [390, 1280], 1)
def test_the_page_fits_its_width(tmp_path: Path, width: int) -> None:
    page = write_sweep_page(swept(), tmp_path)
    with Browser(tmp_path / "browser") as browser:
        browser.open(page.as_uri(), width)
        assert browser.value("document.documentElement.scrollWidth") <= width
        cut = """[...document.querySelectorAll("td, th, svg text")]
          .map(cell => cell.getBoundingClientRect()).filter(box => box.width)
          .filter(box => box.right > innerWidth + 0.5 || box.left < -0.5).length"""
        assert browser.value(cut) == 0
