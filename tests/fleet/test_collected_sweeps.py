"""A sweep is collected where what it says follows from its points, all of which stand in it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from history.made import change
from records.conftest import unpack
from steelyard.fleet.collecting import collect
from steelyard.history.index import read_history
from steelyard.history.verify import swept_again
from steelyard.model.errors import RecordError
from steelyard.record.reader import read_plan, read_study_file, read_verdict
from steelyard.record.record import Record
from steelyard.record.sweep import SWEEP_FILE, SWEPT_FILE, SweepPlan
from steelyard.record.verdict import Verdict
from steelyard.verdict.swept import swept
from thinned import thinned

Json = dict[str, Any]
VALUES = ("8", "32", "3000")
WHY = "max_connections is too small"


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """A sweep of a kept record at two values, and of a third that could not be weighed."""
    folder = tmp_path / "theirs" / "settings-by-clients" / "2026-03-04T101500Z"
    (folder / "points").mkdir(parents=True)
    first = unpack("settings", folder / "points").rename(folder / "points" / "8")
    second = folder / "points" / "32"
    shutil.copytree(first, second)
    seed = read_plan(Record.open(first)).seed
    for file in ("plan.json", "verdict.json"):
        change(second / file, lambda told: {**told, "seed": seed + 1})
    plan = SweepPlan(
        key="workload.clients", values=VALUES, order=(2, 1, 0), seed=seed, study="settings"
    )
    weighed: dict[str, Verdict | str] = {"3000": WHY}
    for place in (second, first):
        verdict = read_verdict(Record.open(place))
        assert verdict is not None
        weighed[place.name] = verdict
    question = read_study_file(Record.open(first)).question
    made = swept(plan, question, weighed, lambda value: f"points/{value}")
    (folder / SWEEP_FILE).write_text(json.dumps(plan.to_json()))
    (folder / SWEPT_FILE).write_text(json.dumps(made.to_json()))
    return folder


def refusal(sweep: Path, tmp_path: Path) -> str:
    """Why it is not taken; nothing of it is."""
    ours = tmp_path / "records"
    found = collect([tmp_path / "theirs"], ours)
    [(where, why)] = found.refused
    assert where == str(sweep)
    assert read_history(ours).entries == ()
    assert not (ours / "fleet").exists()
    return why


@pytest.mark.long
def test_a_sweep_is_taken_whole_with_pages_made_here(sweep: Path, tmp_path: Path) -> None:
    for folder in (sweep, sweep / "points" / "8"):
        (folder / "report.html").write_text("<script>alert(1)</script>")
    ours = tmp_path / "records"
    found = collect([tmp_path / "theirs"], ours, {tmp_path / "theirs": "small"})
    [(_, place)] = found.taken
    page = (Path(place) / "report.html").read_text()
    assert "could not be weighed at 3000" in page
    assert "<script" not in page
    assert "<script" not in (Path(place) / "points" / "8" / "report.html").read_text()
    entries = read_history(ours).entries
    assert [one.path.rpartition("/")[2] for one in entries] == ["32", "8"]
    assert {one.kind for one in entries} == {"small"}
    assert collect([tmp_path / "theirs"], ours).known == ((str(sweep), place),)


def test_a_sweep_from_before_its_points_kept_their_throughput_is_taken(
    sweep: Path, tmp_path: Path
) -> None:
    def older(told: Json) -> Json:
        for point in told["points"]:
            for one in point.get("contrasts", []):
                del one["control_throughput"], one["forecast_seconds"]
        return told

    change(sweep / SWEPT_FILE, older)
    assert len(collect([tmp_path / "theirs"], tmp_path / "records").taken) == 1


def test_a_sweep_from_before_arms_were_compared_with_each_other_follows_from_its_points(
    sweep: Path,
) -> None:
    """They hold such contrasts; what it says of itself does not."""
    for value in ("8", "32"):
        file = sweep / "points" / value / "verdict.json"
        change(file, lambda verdict: {**verdict, "pairs": verdict["contrasts"]})
    history = read_history(sweep.parent)
    entries = {entry.path.removeprefix(f"{sweep.name}/"): entry for entry in history.entries}
    with pytest.raises(RecordError, match="does not follow from its points"):
        swept_again(sweep, entries)

    def older(swept: Json) -> Json:
        for point in swept["points"]:
            point.pop("pairs", None)
        return swept

    change(sweep / SWEPT_FILE, older)
    assert [len(point.pairs) for point in swept_again(sweep, entries).points] == [1, 1, 0]


def of_point(number: int, **values: Any) -> Callable[[Json], Json]:
    """A change of one point of swept.json."""

    def changed(told: Json) -> Json:
        points = [*told["points"]]
        points[number] = {**points[number], **values}
        return {**told, "points": points}

    return changed


def of_contrast(**values: Any) -> Callable[[Json], Json]:
    """A change of the first contrast of the first point."""

    def changed(told: Json) -> Json:
        [first, *rest] = told["points"][0]["contrasts"]
        return of_point(0, contrasts=[{**first, **values}, *rest])(told)

    return changed


@thinned(
    ("by", "said"),
    [
        (lambda told: {**told, "sentences": ["all is faster"]}, "sentences[0]"),
        (lambda told: {**told, "question": "Is it not?"}, "question"),
        (lambda told: {**told, "margin_percent": 99.0}, "margin_percent"),
        (of_contrast(low_percent=50.0), "points[0].contrasts[0].low_percent"),
        (of_contrast(verdict="invalid"), "points[0].contrasts[0].verdict"),
        (of_contrast(control_throughput=1.0), "points[0].contrasts[0].control_throughput"),
        (of_point(0, contrasts=[]), "points[0].contrasts"),
    ],
    1,
)
def test_what_does_not_follow_from_the_points_is_refused(
    sweep: Path, tmp_path: Path, by: Callable[[Json], Json], said: str
) -> None:
    change(sweep / SWEPT_FILE, by)
    assert refusal(sweep, tmp_path).startswith(
        f"swept.json does not follow from its points: {said} is "
    )


def test_a_point_that_is_kept_back_is_refused(sweep: Path, tmp_path: Path) -> None:
    """Without it the intervals of the others would be narrower."""
    change(sweep / SWEPT_FILE, of_point(1, failed="it failed", record="", contrasts=[]))
    assert refusal(sweep, tmp_path) == 'swept.json does not have the record in "points/32"'


def begin(sweep: Path, value: str, *, later: int) -> None:
    """A weighing in the sweep's folder that has no verdict; its seed is so much after the first."""
    begun = sweep / "points" / value
    shutil.copytree(sweep / "points" / "8", begun)
    (begun / "verdict.json").unlink()
    change(begun / "plan.json", lambda told: {**told, "seed": told["seed"] + later})


def test_what_a_value_that_failed_has_left_is_taken_with_its_sweep(
    sweep: Path, tmp_path: Path
) -> None:
    begin(sweep, "3000", later=2)
    ours = tmp_path / "records"
    found = collect([tmp_path / "theirs"], ours)
    assert (found.refused, found.skipped) == ((), ())
    assert sorted(one.state for one in read_history(ours).entries).count("no verdict") == 1
    assert "could not be weighed at 3000" in (Path(found.taken[0][1]) / "report.html").read_text()


def test_a_weighing_without_a_verdict_that_no_value_of_the_sweep_has_left_is_refused(
    sweep: Path, tmp_path: Path
) -> None:
    begin(sweep, "64", later=5)
    assert refusal(sweep, tmp_path) == 'swept.json does not have the record in "points/64"'


@pytest.mark.parametrize("record", ["../../../aside", "points/../points/8", "{aside}", "points/32"])
def test_a_point_that_is_none_of_this_sweep_is_refused(
    sweep: Path, tmp_path: Path, record: str
) -> None:
    aside = tmp_path / "aside"
    shutil.copytree(sweep / "points" / "8", aside)
    named = record.format(aside=aside)
    change(sweep / SWEPT_FILE, of_point(0, record=named))
    assert refusal(sweep, tmp_path) == (
        f'swept.json has at 8 what is no point of this sweep: "{named}"'
    )


def test_a_link_to_another_place_is_no_point(sweep: Path, tmp_path: Path) -> None:
    (sweep / "points" / "8").rename(tmp_path / "aside")
    (sweep / "points" / "8").symlink_to(tmp_path / "aside")
    assert "what is no point of this sweep" in refusal(sweep, tmp_path)


def test_points_of_another_sweep_are_refused(sweep: Path, tmp_path: Path) -> None:
    change(sweep / SWEEP_FILE, lambda told: {**told, "seed": told["seed"] + 7})
    assert "what is no point of this sweep" in refusal(sweep, tmp_path)


@pytest.mark.parametrize("told", [{"order": [0, 1, 1]}, {"values": ["8", "32", "64"]}])
def test_a_plan_of_other_values_is_refused(sweep: Path, tmp_path: Path, told: Json) -> None:
    change(sweep / SWEEP_FILE, lambda plan: {**plan, **told})
    assert refusal(sweep, tmp_path).startswith("swept.json does not have the values of sweep.json")


def test_a_record_has_no_page_of_a_sweep(sweep: Path, tmp_path: Path) -> None:
    """Whatever stands beside its plan."""
    alone = tmp_path / "alone"
    shutil.copytree(sweep / "points" / "8", alone)
    shutil.copy(sweep / SWEPT_FILE, alone)
    [(_, place)] = collect([alone], tmp_path / "records").taken
    assert "could not be weighed at 3000" not in (Path(place) / "report.html").read_text()
