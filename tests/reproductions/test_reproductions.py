"""Published studies are read, each of their steps is a weighing that there is, and a page says
whether the published figure lies within the interval."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from history.made import keep_record
from steelyard.cli.options.weigh_options import changes_of
from steelyard.cli.views.reproductions.agreement import agreement
from steelyard.cli.views.reproductions.page import page, row
from steelyard.record.reader import read_verdict
from steelyard.record.record import Record
from steelyard.record.sweep import Swept
from steelyard.record.verdict import Verdict
from steelyard.reproductions.reproduction import (
    Claim,
    ReproductionStep,
    claim_names,
    names,
    read_reproduction,
)
from steelyard.study.budget import BUDGETS
from steelyard.study.read import read_study
from steelyard.study.study import Study
from steelyard.workloads.reading.folder import find_workload

STEPS = [
    (name, step.name)
    for name in (*names(), *claim_names())
    for step in read_reproduction(name).steps
]


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
    usual = [step.name for step in study.steps_to_weigh()]
    assert usual == ["reading", "beyond-memory", "scan-by-workers", "scan-by-backends"]
    longer = {"writing", "writing-32", "writing-256", "by-backends"}
    assert {step.name for step in study.steps_to_weigh(longer=True)} == {*usual, *longer}
    assert [step.name for step in study.steps_to_weigh("by-backends")] == ["by-backends"]


@pytest.mark.parametrize(("name", "step"), STEPS)
def test_every_step_is_of_a_study_with_keys_that_there_are(name: str, step: str) -> None:
    found = read_reproduction(name)
    [wanted] = [one for one in found.steps if one.name == step]
    for full in (False, True):
        read = resolved(found.words(wanted, full=full))
        assert {claim.arm for claim in wanted.claims} <= {arm.name for arm in read.arms}
        assert all(count.probe in PROBES for count in wanted.counts)
    assert bool(wanted.full) == bool(wanted.needs)


PROBES = find_workload("insert-read", {}).probes


def resolved(words: tuple[str, ...]) -> Study:
    """The study that `steelyard weigh` makes of these words, at the first value of a sweep."""
    study, *options = words
    pairs = list(itertools.pairwise(options))
    assert {flag for flag in options if flag.startswith("--")} <= {"--set", "--sweep", "--budget"}
    keys = [word for flag, word in pairs if flag == "--set"]
    budgets = [word for flag, word in pairs if flag == "--budget"]
    swept = [word.partition("=") for flag, word in pairs if flag == "--sweep"]
    keys += [f"{key}={values.split(',')[0]}" for key, _, values in swept]
    return read_study(study, changes_of(keys, budgets[-1] if budgets else None, None, None))


@pytest.mark.parametrize(("name", "step"), STEPS)
def test_the_budget_at_full_scale_is_the_one_that_is_told(name: str, step: str) -> None:
    """`--budget` comes after every `--set`, and would undo one of the budget."""
    found = read_reproduction(name)
    [wanted] = [one for one in found.steps if one.name == step]
    told = [value for flag, value in itertools.pairwise(wanted.full) if "budget" in flag + value]
    usual, full = resolved(found.words(wanted)), resolved(found.words(wanted, full=True))
    named = [key for key in BUDGETS if any(word.startswith(f"budget.{key}=") for word in told)]
    key = named[0] if named else "turns" if full.layout == "turns" else "measuring"
    if not told:
        assert full.budget == usual.budget
        return
    alone = resolved((found.words(wanted)[0], *wanted.full))
    assert getattr(full.budget, key) == getattr(alone.budget, key)
    assert getattr(full.budget, key) > getattr(usual.budget, key)


def test_payments_at_full_scale_have_the_buffers_that_were_published() -> None:
    found = read_reproduction("versions-reserva")
    full = resolved(found.words(found.steps[0], full=True))
    assert full.settings["shared_buffers"] == "16GB"
    assert (full.workload.scale, full.workload.clients) == (10_000, 64)
    assert full.budget.measuring == 2 * 3600 * 10**9


def test_a_page_sets_both_side_by_side_and_says_what_is_missing(tmp_path: Path) -> None:
    study = read_reproduction("checksums")
    found = {"beyond-memory": verdict_in(tmp_path / "record")}
    text = page(study, found, "2 processors")
    assert "| select-only, 256 clients, TPS | 8601.48 (off) | 8310.75 (on) | −3 % |" in text
    assert "**What such a design can tell.** Nothing that can be stated" in text
    assert "Weighed on 2 processors." in text
    assert "### ▲ checksums: faster" in text
    assert "Published: +3.5 % of throughput for off. Ours: +2" in text
    assert "This is no test of it. Theirs were 24 GB of data in 64 GB of memory" in text
    assert text.count("Not yet weighed.") == 7
    assert "Not yet weighed. It takes 45 minutes; `--longer` asks for it." in text
    assert "--set workload.scale=1500" in text


def claimed(step: str, **claim: Any) -> ReproductionStep:
    """A step of the study of checksums with one claim of "off"."""
    [found] = [one for one in read_reproduction("checksums").steps if one.name == step]
    made = Claim.model_validate({"arm": "off", "why": "Since it is so.", **claim})
    return found.model_copy(update={"claims": (made,)})


def read_as(found: Verdict, low: float, high: float, **facts: Any) -> Verdict:
    """Its contrast with another interval."""
    [line] = found.contrasts
    ends = {"estimate_percent": (low + high) / 2, "low_percent": low, "high_percent": high}
    return found.model_copy(update={"contrasts": (line.model_copy(update={**ends, **facts}),)})


@pytest.mark.parametrize(
    ("claim", "ends", "said"),
    [
        ({"percent": 3.5}, (3.0, 4.0), "They **agree**"),
        ({"percent": 3.5}, (4.0, 5.0), "They **differ**"),
        ({"percent": -3.5}, (3.0, 4.0), "They **differ**"),
        ({"percent": 3.5}, (-1.0, 4.0), "**Cannot tell**: our interval holds it and no effect"),
        ({"percent": 2.0}, (-18.0, 22.0), "±2 % takes about 100 times as many epochs"),
        ({"percent": 8.7}, (1.0, 30.0), "**the size is not told**"),
        ({"percent": 0}, (-4.0, 2.0), "**Cannot tell**: anything in"),
        ({"percent": 0}, (1.0, 2.0), "They **differ**: our interval does not hold zero"),
        ({"direction": "slower"}, (1.0, 2.0), "They **differ**: ours is faster"),
        ({"direction": "faster"}, (1.0, 2.0), "They **agree**: ours is faster"),
        ({"direction": "faster"}, (-1.0, 2.0), "**Cannot tell**"),
        ({"percent": 3.5, "comparable": False}, (3.0, 4.0), "This is no test of it."),
    ],
)
def test_a_claim_agrees_differs_or_cannot_be_told(
    tmp_path: Path, claim: dict[str, Any], ends: tuple[float, float], said: str
) -> None:
    verdict = read_as(verdict_in(tmp_path / "record"), *ends)
    [told] = agreement(claimed("beyond-memory", **claim), verdict)
    assert said in told
    assert told.endswith("Since it is so.")


def test_that_both_are_equal_agrees_where_ours_is_equivalent(tmp_path: Path) -> None:
    verdict = read_as(verdict_in(tmp_path / "record"), -0.4, 0.5, verdict="equivalent")
    [told] = agreement(claimed("beyond-memory", percent=0), verdict)
    assert "Published: off is equal in throughput." in told
    assert "They **agree**" in told


@pytest.mark.parametrize(
    "claim", [{"percent": 3.5}, {"percent": 0}, {"direction": "faster"}, {"direction": "slower"}]
)
def test_an_invalid_weighing_agrees_and_differs_with_nothing(
    tmp_path: Path, claim: dict[str, Any]
) -> None:
    verdict = read_as(verdict_in(tmp_path / "record"), 3.0, 4.0, verdict="invalid")
    swept = swept_of().to_json()
    swept["points"][0]["contrasts"][0]["verdict"] = "invalid"
    for outcome in (verdict, Swept.of_json(swept, "here")):
        [told] = agreement(claimed("beyond-memory", **claim), outcome)
        assert "**Cannot tell**: our weighing is invalid" in told
        assert "agree" not in told
        assert "differ" not in told


def test_an_interval_without_information_is_worded_as_such(tmp_path: Path) -> None:
    found = verdict_in(tmp_path / "record")
    unbounded = {"low_percent": None, "high_percent": None}
    for verdict in (read_as(found, -90.0, 900.0), read_as(found, -1.0, 1.0, **unbounded)):
        [told] = agreement(claimed("beyond-memory", percent=0), verdict)
        assert "our interval is too wide to tell anything" in told


def test_a_claim_is_held_against_what_it_is_of(tmp_path: Path) -> None:
    verdict = verdict_in(tmp_path / "record").to_json()
    ends = {"estimate_percent": -9.0, "low_percent": -12.0, "high_percent": -6.0}
    joint = {"arm": "off", "control": "on", "confidence": 0.95, **ends}
    counted = {"unit": "blocks", "control_value": 2.0, "arm_value": 1.8}
    found = Verdict.of_json(
        {
            **verdict,
            "queries": [
                {**joint, "query": "q08", "excluded": False, "control_ms": 100.0, "arm_ms": 91.0,
                 "control_unfinished": 0, "arm_unfinished": 0},
            ],
            "causes": [{**joint, **counted, "metric": "blocks_read_per_transaction"}],
            "devices": {
                "names": ["vda"],
                "figures": [{**joint, **counted, "metric": "reads_per_new_order"}],
            },
        },
        "here",
    )  # fmt: skip
    [told] = agreement(claimed("beyond-memory", of="q08", direction="slower"), found)
    assert "Published: off is slower in the time of q08. Ours: −9" in told
    assert "They **differ**: ours is faster" in told
    [told] = agreement(
        claimed("beyond-memory", of="blocks_read_per_transaction", percent=46.0), found
    )
    assert "Published: +46.0 % of blocks read a transaction for off. Ours: −9" in told
    nearest = claimed(
        "beyond-memory", of="blocks_read_per_transaction", percent=46.0, theirs="reads an order"
    )
    [told] = agreement(nearest, found)
    assert (
        "Published: +46.0 % of reads an order for off. Ours, blocks read a transaction: −9" in told
    )
    [told] = agreement(claimed("beyond-memory", of="reads_per_new_order", percent=-8.0), found)
    assert "Published: −8.0 % of reads a new order for off. Ours: −9" in told
    assert "They **agree**" in told
    assert list(agreement(claimed("beyond-memory", of="q09", percent=1.0), found)) == []
    [line] = found.contrasts
    invalid = found.model_copy(
        update={"contrasts": (line.model_copy(update={"verdict": "invalid"}),)}
    )
    [told] = agreement(claimed("beyond-memory", of="q08", direction="faster"), invalid)
    assert "**Cannot tell**: our weighing is invalid" in told


def test_a_claim_has_a_size_or_a_direction() -> None:
    for wrong in ({}, {"percent": 1.0, "direction": "faster"}):
        with pytest.raises(ValidationError, match="either a percent or a direction"):
            Claim.model_validate({"arm": "off", "why": "So.", **wrong})


def swept_of(**newer: float) -> Swept:
    """Of two values, of which the second could not be weighed; `newer`: keys of newer records."""
    ends = {"estimate_percent": 3.0, "low_percent": None, "high_percent": 3.2}
    one = {"arm": "off", "control": "on", "metric": "throughput", "higher_is_better": True, **ends,
           "verdict": "faster", "epochs": 12, "cause": "processor",
           "threats": ["no steady state"], **newer}  # fmt: skip
    return Swept.of_json(
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


def test_a_sweep_has_a_row_and_an_agreement_a_point() -> None:
    text = page(read_reproduction("checksums"), {"reading": swept_of()}, "")
    assert "> by clients: as said." in text
    assert "| 8 | off against on | +3" in text
    assert "+3.20\\] | faster | processor | no steady state |" in text
    assert "- 256: no room" in text
    assert "control, tps" not in text
    assert "throughput at each value was not kept" in text
    assert "Published" not in text, "it was claimed of values that could not be weighed"
    [said] = agreement(claimed("reading", percent=3.5), swept_of())
    assert "Ours at 8: +3.00 %" in said
    assert "They **differ**" in said


def test_a_plateau_is_seen_in_the_control_and_so_is_how_much_longer_it_takes() -> None:
    newer = swept_of(control_throughput=12345.6, forecast_seconds=840.0)
    text = page(read_reproduction("checksums"), {"reading": newer}, "")
    assert "| doubts | control, tps | told after, besides |" in text
    assert "| no steady state | 12 346 | 14 min |" in text
    assert "was not kept" not in text


def test_turns_have_the_effect_by_the_distance_of_checkpoints(tmp_path: Path) -> None:
    verdict = verdict_in(tmp_path / "record").to_json()
    line = {"arm": "off", "confidence": 0.95, "epochs": 10, "low_percent": 1.0, "high_percent": 2.0}
    far = [{**line, "seconds": 30.0 * n, "estimate_percent": 1.0 + 0.1 * n} for n in (1, 10)]
    told = {"curve": [], "evenness": [], "stalls": [], "sums": []}
    found = Verdict.of_json({**verdict, "turns": told, "by_distance": far}, "here")
    text = page(read_reproduction("checksums"), {"writing": found}, "")
    assert "| a checkpoint | change |" in text
    assert "| off against on, every 30 s | +1.10 % \\[+1.00, +2.00\\] |" in text
    assert "| off against on, every 5 min | +2.00 % \\[+1.00, +2.00\\] |" in text
    without = Verdict.of_json({**verdict, "turns": told}, "here")
    assert "a checkpoint | change" not in page(
        read_reproduction("checksums"), {"writing": without}, ""
    )


def test_what_a_verified_page_costs_is_told_where_only_verifying_differs(tmp_path: Path) -> None:
    cost = {"verified_per_transaction": 1.69, "nanoseconds_per_page": 751.0, "low": 411.0,
            "high": 1086.0, "confidence": 0.95, "verifying": "on"}  # fmt: skip
    verdict = {**verdict_in(tmp_path / "record").to_json(), "pages": cost}
    study = read_reproduction("checksums")
    text = page(study, {"beyond-memory": Verdict.of_json(verdict, "here")}, "")
    assert "1.69 pages verified a transaction, 751 ns \\[411, 1086\\] of processor time" in text
    unsure = {**verdict, "pages": {**cost, "low": -411.0}}
    text = page(study, {"beyond-memory": Verdict.of_json(unsure, "here")}, "")
    assert "1.69 pages verified a transaction: at most 1 086 ns a page, not distinguishable" in text


def test_counts_are_held_against_what_was_published(tmp_path: Path) -> None:
    verdict = verdict_in(tmp_path / "record").to_json()
    counts = {"arm": "on", "counter": "wal_full_page_images", "epochs": 12}
    probes = [
        {**counts, "probe": probe, "least": count, "median": count, "most": count}
        for probe, count in (("first_touch", 10.0), ("second_touch", 0.0), ("third_touch", 3.0))
    ]
    found = Verdict.of_json({**verdict, "probes": probes}, "here")
    [step] = [one for one in read_reproduction("read-after-insert").steps if one.name == "on-18"]
    first, second, third = agreement(step, found)
    assert "10 in each of 12 epochs. They **agree**." in first
    assert "0 in each of 12 epochs. They **agree**." in second
    assert "3 in each of 12 epochs. They **differ**: it would be 0." in third


def test_the_row_of_a_study_tells_metric_and_verdict_in_words(tmp_path: Path) -> None:
    verdict = verdict_in(tmp_path / "record")
    of_time = read_as(
        verdict, -19.0, -13.0, metric="geometric_mean", higher_is_better=False, verdict="faster"
    )
    study = read_reproduction("checksums").model_copy(update={"chiefs": ()})
    words = row(study, {"beyond-memory": of_time})
    assert "beyond-memory (geometric mean time, less is faster): off **faster** −16" in words
    assert "| reading: off at 8 **faster** +3" in row(study, {"reading": swept_of()})


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
    images = [{**one, "counter": "wal_full_page_images"} for one in probes[1:]]
    none = page(study, {"on-18": Verdict.of_json({**verdict, "probes": images}, "here")}, "")
    assert "| first | wal\\_full\\_page\\_images | 0 |" in none, "that there are none is told"


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
