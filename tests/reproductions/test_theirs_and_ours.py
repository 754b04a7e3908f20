"""The picture of published effects beside ours: what it holds, and where its marks stand."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from reproductions.test_reproductions import read_as, swept_of, verdict_in
from steelyard.record.verdict import Verdict
from steelyard.reproductions.reproduction import Claim, Reproduction, read_reproduction
from validation.pages.theirs_and_ours import REACH, Row, picture, rows_of

SVG = "{http://www.w3.org/2000/svg}"


def _claiming(**changes: object) -> Reproduction:
    """The study of checksums, its step "beyond-memory" with one claim."""
    study = read_reproduction("checksums")
    claim = Claim.model_validate({"arm": "off", "percent": 3.5, "why": "so", **changes})
    steps = tuple(
        step.model_copy(update={"claims": (claim,)})
        for step in study.steps
        if step.name == "beyond-memory"
    )
    return study.model_copy(update={"steps": steps})


@pytest.fixture
def verdict(tmp_path: Path) -> Verdict:
    return verdict_in(tmp_path / "record")


def test_a_row_holds_what_was_published_and_what_was_read(verdict: Verdict) -> None:
    study = _claiming()
    [row] = rows_of([(study, {"beyond-memory": verdict})])
    contrast = verdict.contrasts[0]
    assert (row.study, row.theirs, row.ours) == (study.title, 3.5, contrast)
    assert row.what == f"beyond-memory: {contrast.pair}"


@pytest.mark.parametrize(
    "changes",
    [
        {"comparable": False},
        {"percent": None, "direction": "faster"},
        {"arm": "hints"},
        {"of": "latency"},
    ],
)
def test_what_cannot_be_compared_is_in_no_row(verdict: Verdict, changes: dict[str, object]) -> None:
    assert rows_of([(_claiming(**changes), {"beyond-memory": verdict})]) == []


def test_what_was_not_weighed_is_in_no_row() -> None:
    assert rows_of([(read_reproduction("checksums"), {})]) == []


def test_a_sweep_has_a_row_a_point_that_was_weighed_and_claimed() -> None:
    step = _claiming().steps[0]
    every, at_8, lost = (
        rows_of([(_claiming(at=at), {step.name: swept_of()})]) for at in ("", "8", "256")
    )
    assert [row.what for row in every] == ["beyond-memory: off against on at 8"]
    assert at_8 == every
    assert lost == []


@pytest.mark.parametrize("theirs", [-45.1, -REACH, 0.0, 3.5, 82.0])
@pytest.mark.parametrize(("low", "high"), [(-1.0, 2.0), (-40.0, 40.0), (20.0, 30.0)])
def test_every_mark_stays_inside_and_stands_on_the_side_of_its_sign(
    verdict: Verdict, theirs: float, low: float, high: float
) -> None:
    ours = read_as(verdict, low, high).contrasts[0]
    drawn = ElementTree.fromstring(picture([Row("a <b> & c", "d", theirs, ours)]))
    width = float(drawn.attrib["width"])
    texts = [text.text for text in drawn.iter(f"{SVG}text")]
    assert "a <b> & c" in texts
    lines = list(drawn.iter(f"{SVG}line"))
    [zero] = [float(line.attrib["x1"]) for line in lines if line.attrib["class"] == "zero"]
    assert all(0 <= float(line.attrib[end]) <= width for line in lines for end in ("x1", "x2"))
    paths = [path.attrib for path in drawn.iter(f"{SVG}path")]
    [_of_the_key, mark] = [path["d"] for path in paths if path["class"] in {"theirs", "beyond"}]
    at = float(mark[1:].split()[0])
    assert (at > zero, at < zero) == (theirs > 0, theirs < 0)
    beyond = [path for path in paths if path["class"] == "beyond"]
    assert len(beyond) == (abs(theirs) > REACH)
    cut = [path for path in paths if path["class"] == "cut"]
    assert len(cut) == sum(abs(end) > REACH for end in (low, high))
