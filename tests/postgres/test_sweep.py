"""A sweep over real servers: every point a record, one answer; killed, it goes on."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from underway import Underway, until

pytestmark = [pytest.mark.postgres, pytest.mark.long]

Start = Callable[..., Underway]
BRIEF = (
    *("--set", "workload.scale=1", "--budget", "20s"),
    *("--set", "budget.slice=50ms", "--set", "layout=slices"),
)


def points(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("points/*/verdict.json"))


def test_a_killed_sweep_goes_on_and_a_point_that_cannot_be_weighed_is_named(start: Start) -> None:
    words = ("aa", *BRIEF, "--sweep", "workload.clients=1,2,3000", "--seed", "5")
    begun = start("swept", *words)
    folder = begun.record
    until(lambda: len(points(folder)) == 1, "the first point")
    begun.process.send_signal(signal.SIGKILL)
    begun.process.communicate()
    before = {name: (folder / "points" / name / "verdict.json").stat().st_mtime_ns
              for name in points(folder)}  # fmt: skip
    again = start("swept", "--resume", str(folder))
    assert again.end() == 0, again.said
    told = again.verdict["sweep"]
    assert told["key"] == "workload.clients"
    assert [one["value"] for one in told["points"]] == ["1", "2", "3000"]
    assert "max_connections" in told["points"][2]["failed"]
    for one in told["points"][:2]:
        [contrast] = one["contrasts"]
        assert contrast["low_percent"] <= contrast["estimate_percent"] <= contrast["high_percent"]
        verdict = json.loads((folder / one["record"] / "verdict.json").read_text())
        [alone] = verdict["contrasts"]
        # Its share of the error makes an interval of a sweep wider than the point's own.
        assert contrast["low_percent"] <= alone["low_percent"]
        assert contrast["high_percent"] >= alone["high_percent"]
    for name, when in before.items():
        assert (folder / "points" / name / "verdict.json").stat().st_mtime_ns == when
    assert "could not be weighed at 3000" in told["sentences"][0]
    page = (folder / "report.html").read_text()
    assert 'href="points/1/report.html"' in page
    refused = start("swept", "--resume", str(folder), "--set", "workload.scale=2")
    assert refused.end() == 2
    assert "cannot change a sweep" in refused.said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("aa", "--sweep", "workload.clients"), "invalid sweep"),
        (("aa", "--sweep", "workload.nonsense=1,2"), "nonsense"),
        (("--sweep", "workload.clients=1,2"), "no study was named"),
        (("aa", "--sweep", "workload.clients=1,2", "--fail-if", "slower:2%"), "single weighing"),
    ],
)
def test_what_is_no_sweep_is_refused_before_anything_is_weighed(
    start: Start, words: tuple[str, ...], said: str
) -> None:
    weighing = start("none", *words)
    assert weighing.end() == 2, weighing.said
    assert said in weighing.said
    assert not weighing.record.exists()
