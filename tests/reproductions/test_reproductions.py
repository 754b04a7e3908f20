"""Published studies are read, each of their steps is a weighing that there is, and a page says
whether the published figure lies within the interval."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from history.made import keep_record
from steelyard.cli.views.reproductions.page import agreement, page
from steelyard.model.errors import StudyError
from steelyard.record.record import Record
from steelyard.record.recorded import read_verdict
from steelyard.record.sweep import Swept
from steelyard.record.verdict import Verdict
from steelyard.reproductions.reproduction import Claim, names, read_reproduction
from steelyard.study.read import read_study

STEPS = [(name, step.name) for name in names() for step in read_reproduction(name).steps]


def verdict_in(folder: Path, **facts: Any) -> Verdict:
    """Of "off" against "on", +2.4 % or so."""
    found = read_verdict(Record.open(keep_record(folder, **facts)))
    assert found is not None
    return found


def test_the_five_studies_are_there_and_each_takes_half_an_hour_at_most() -> None:
    assert len(names()) == 5
    for name in names():
        found = read_reproduction(name)
        assert 0 < found.minutes <= 30
        assert len({step.name for step in found.steps}) == len(found.steps)


def test_longer_steps_are_weighed_where_they_are_asked_for() -> None:
    study = read_reproduction("checksums")
    usual = [step.name for step in study.chosen()]
    assert usual == ["reading", "beyond-memory"]
    longer = ["writing", "by-backends"]
    assert [step.name for step in study.chosen(longer=True)] == [*usual, *longer]
    assert [step.name for step in study.chosen("by-backends")] == ["by-backends"]


@pytest.mark.parametrize(("name", "step"), STEPS)
def test_every_step_is_of_a_study_with_keys_that_there_are(name: str, step: str) -> None:
    found = read_reproduction(name)
    [wanted] = [one for one in found.steps if one.name == step]
    for full in (False, True):
        study, *words = found.words(wanted, full=full)
        pairs = list(itertools.pairwise(words))
        keys = [word for flag, word in pairs if flag == "--set"]
        swept = [word.partition("=") for flag, word in pairs if flag == "--sweep"]
        keys += [f"{key}={values.split(',')[0]}" for key, _, values in swept]
        assert {flag for flag in words if flag.startswith("--")} <= {"--set", "--sweep", "--budget"}
        read = read_study(study, keys)
        if wanted.claim is not None:
            assert wanted.claim.arm in {arm.name for arm in read.arms}
    assert bool(wanted.full) == bool(wanted.needs)


def test_a_page_sets_both_side_by_side_and_says_what_is_missing(tmp_path: Path) -> None:
    study = read_reproduction("checksums")
    found = {"beyond-memory": verdict_in(tmp_path / "record")}
    text = page(study, found, "2 processors")
    assert "| select-only, 256 clients, TPS | 8601.48 (off) | 8310.75 (on) | −3 % |" in text
    assert "**What such a design can tell.** Nothing that can be stated" in text
    assert "Weighed on 2 processors." in text
    assert "### ▲ checksums: faster" in text
    assert "Published: +3.5 % for off. That lies **outside** of our interval" in text
    assert text.count("Not yet weighed.") == 3
    assert "Not yet weighed. It takes 60 minutes, so `--longer` has to ask." in text
    assert "--set workload.scale=1500" in text


@pytest.mark.parametrize(("percent", "within"), [(2.3, True), (1.5, False), (-3.0, False)])
def test_a_published_effect_lies_within_the_interval_or_outside(
    tmp_path: Path, percent: float, within: bool
) -> None:
    [step] = [one for one in read_reproduction("checksums").steps if one.name == "beyond-memory"]
    claimed = step.model_copy(update={"claim": Claim(arm="off", percent=percent)})
    [said] = agreement(claimed, verdict_in(tmp_path / "record"))
    assert ("lies within" in said) == within
    assert ("**outside**" in said) == (not within)
    assert (
        list(agreement(step.model_copy(update={"claim": None}), verdict_in(tmp_path / "b"))) == []
    )


def test_a_sweep_has_a_row_and_an_agreement_a_point() -> None:
    ends = {"estimate_percent": 3.0, "low_percent": None, "high_percent": 3.2}
    one = {"arm": "off", "control": "on", "metric": "throughput", "higher_is_better": True, **ends,
           "verdict": "faster", "epochs": 12, "cause": "processor"}  # fmt: skip
    swept = Swept.of_json(
        {
            "key": "workload.clients", "study": "checksums", "question": "", "margin_percent": 1.0,
            "confidence": 0.95, "seed": 1, "seconds": 60.0, "sentences": ["by clients: as said"],
            "points": [
                {"value": "8", "contrasts": [one], "record": "points/8"},
                {"value": "256", "failed": "no room"},
            ],
        },
        "here",
    )  # fmt: skip
    text = page(read_reproduction("checksums"), {"reading": swept}, "")
    assert "> by clients: as said." in text
    assert "| 8 | off against on |" in text
    assert "- 256: no room" in text
    assert "Published" not in text, "it was claimed of 256 clients, which could not be weighed"
    study = read_reproduction("checksums")
    [step] = [one for one in study.steps if one.name == "reading"]
    [said] = agreement(step.model_copy(update={"claim": Claim(arm="off", percent=3.5)}), swept)
    assert "That lies **outside** of our interval at 8, +3" in said


def test_what_was_counted_stands_in_the_page(tmp_path: Path) -> None:
    verdict = verdict_in(tmp_path / "record").to_json()
    counts = {"probe": "first", "counter": "wal_bytes", "least": 0.0, "epochs": 8}
    probes = [
        {"arm": "on", **counts, "median": 8125.0, "most": 8125.0},
        {"arm": "off", **counts, "median": 0.0, "most": 0.0},
    ]
    study = read_reproduction("read-after-insert")
    told = Verdict.of_json({**verdict, "probes": probes}, "here")
    text = page(study, {"on-18": told}, "")
    assert "| probe | counter | on | off |" in text
    assert "| first | wal\\_bytes | 8,125 (0 … 8,125) | 0 |" in text
    silent = Verdict.of_json({**verdict, "probes": probes[1:]}, "here")
    alike = "What was counted after every epoch is the same in every arm."
    assert alike in page(study, {"on-18": silent}, "")


def test_each_query_has_a_row_and_each_arm_a_column(tmp_path: Path) -> None:
    verdict = verdict_in(tmp_path / "record").to_json()
    timed = {
        "control": "default", "low_percent": -7.0, "high_percent": 5.0, "confidence": 0.95,
        "excluded": False, "arm_ms": 99.0, "control_unfinished": 0, "arm_unfinished": 0,
    }  # fmt: skip
    queries = [
        {**timed, "arm": arm, "query": query, "control_ms": ms, "estimate_percent": percent}
        for arm, percent in (("ours", -1.0), ("theirs", 2.0))
        for query, ms in (("q01", 100.0), ("q02", 250.0))
    ]
    told = Verdict.of_json({**verdict, "queries": queries}, "here")
    text = page(read_reproduction("tuning"), {"queries": told}, "")
    assert "| query | default | ours against default | theirs against default |" in text
    assert "| q02 | 250 ms | −1.0 % \\[−7.0, +5.0\\] | +2.0 % \\[−7.0, +5.0\\] |" in text
    assert text.count("| q0") == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title = ", "cannot parse"),
        ('title = "x"', 'invalid value for "question"'),
        ("unknown = 1", 'invalid value for "title"'),
    ],
)
def test_a_file_that_is_wrong_is_named_with_its_key(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(StudyError, match=said):
        read_reproduction(str(tmp_path / "mine.toml"))


def test_a_name_that_is_almost_one_is_answered_with_the_nearest() -> None:
    with pytest.raises(StudyError) as refused:
        read_reproduction("checksum")
    assert 'Perhaps you meant "checksums"' in str(refused.value)
    assert json.dumps(names()[0])
