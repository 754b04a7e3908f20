"""A verdict of Steelyard is read as it stands, and is no list of numbers to be judged; summaries of
`steelyard drive` are a repetition each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreign.reading import only, refusal, sheet_of
from steelyard.cli.views.judgement_view import render_saved_verdict
from steelyard.evaluation.threats.numbers import QuotedOfRuns
from steelyard.foreign.comparison import Options, compare
from steelyard.foreign.formats import saved_verdict_of
from steelyard.foreign.judgement.judge_numbers import judge_numbers
from steelyard.foreign.metric import THROUGHPUT
from steelyard.foreign.series import TransactionCounts
from steelyard.foreign.source import source_of
from steelyard.model.errors import NumbersError
from steelyard.model.threat import ThreatKind

THREAT = {
    "name": "an arm crashed",
    "seen": "off did not complete 1 of 12 epochs: 5 (crashed)",
    "cause": "a server could not start",
    "advice": "read the log",
    "invalidates": False,
}
CONTRAST: dict[str, Any] = {
    "arm": "off",
    "control": "on",
    "metric": "throughput",
    "verdict": "inconclusive",
    "higher_is_better": True,
    "estimate_percent": -3.0,
    "low_percent": None,
    "high_percent": 4.25,
    "epochs": 12,
    "threats": [THREAT],
    "sentence": "inconclusive: off against on reads −3.0 % [unbounded, +4.2]",
    "details": {"margin_percent": 1.0, "epochs": [{"d": None, "throughput": {"on": 1.0}}]},
}


def verdict(*contrasts: Any, **more: Any) -> str:
    return json.dumps({"study": "checksums", "contrasts": list(contrasts), **more})


def recorded(text: str) -> Any:
    return saved_verdict_of(source_of(text.encode(), "verdict.json"))


def test_contrasts_and_threats_stand_as_the_record_has_them() -> None:
    found = recorded(verdict(CONTRAST, {**CONTRAST, "arm": "new", "threats": []}))
    facts = found.to_json()
    assert facts["contrasts"] == [CONTRAST, {**CONTRAST, "arm": "new", "threats": []}]
    assert facts["format"] == "a verdict of Steelyard"
    assert "not judged again" in facts["judged"]
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts


def test_an_arm_that_was_compared_with_another_one_too_is_among_them() -> None:
    pair = {**CONTRAST, "arm": "new", "control": "off", "sentence": "new is slower than off"}
    found = recorded(verdict(CONTRAST, pairs=[pair]))
    assert found.to_json()["contrasts"] == [CONTRAST, pair]
    assert "new is slower than off" in render_saved_verdict(found, 100)
    for pairs in (3, {}, [{**pair, "verdict": "odd"}]):
        with pytest.raises(NumbersError, match="is none of a verdict of Steelyard"):
            recorded(verdict(CONTRAST, pairs=pairs))


def test_what_is_shown_is_the_records_own_sentence_interval_and_threats() -> None:
    said = render_saved_verdict(recorded(verdict(CONTRAST)), 100)
    assert said.startswith("? INCONCLUSIVE\noff against on reads −3.0 % [unbounded, +4.2].\n")
    assert "◂──" in said  # the open end of the interval
    assert "- an arm crashed: off did not complete 1 of 12 epochs: 5 (crashed)" in said
    assert 'A weighing of the study "checksums", judged by the plan' in said
    assert all(
        len(line) <= 60
        for line in render_saved_verdict(recorded(verdict(CONTRAST)), 60).split("\n")
    )


TIME = {
    "control": "on",
    "arm": "off",
    "epochs": 12,
    "control_us": 100.0,
    "arm_us": 96.0,
    "parts": [
        {
            "part": "processor",
            "control_us": 60.0,
            "arm_us": 57.0,
            "difference_us": -3.0,
            "low_us": -3.5,
            "high_us": -2.5,
        }
    ],
    "bottlenecks": [],
}


def test_where_the_time_goes_is_shown_as_the_record_has_it() -> None:
    told = {**TIME, "cause": TIME["parts"][0]}  # type: ignore[index]
    found = recorded(verdict(CONTRAST, time=[told]))
    said = render_saved_verdict(found, 100)
    assert "why: on a processor, with the queue for it: −3 µs [−3.5, −2.5] of −4 µs" in said
    assert found.to_json()["time"] == [told]
    assert "time" not in recorded(verdict(CONTRAST)).to_json()
    with pytest.raises(NumbersError, match="where the time of a transaction goes"):
        recorded(verdict(CONTRAST, time=[{**TIME, "epochs": "many"}]))


def test_an_older_record_has_its_sentence_beside_its_contrast() -> None:
    bare = {key: value for key, value in CONTRAST.items() if key != "sentence"}
    found = recorded(verdict(bare, sentence="off is what it is"))
    assert found.contrasts[0]["sentence"] == "off is what it is"
    assert "off is what it is." in render_saved_verdict(found, 80)


def test_what_is_no_verdict_is_left_to_the_other_formats() -> None:
    assert recorded('{"off": [1, 2], "on": [3, 4]}') is None
    assert recorded("off,on\n1,2\n") is None
    assert recorded('{"contrasts": [1, 2], "on": [3, 4]}') is None
    text = verdict(CONTRAST)
    assert saved_verdict_of(source_of(text.encode(), "v"), "hyperfine") is None


def test_among_numbers_a_verdict_is_refused() -> None:
    said = refusal(verdict(CONTRAST))
    assert "a verdict of Steelyard is no list of numbers: its weighing's own plan judged it" in said
    assert "a verdict of Steelyard is no list" in refusal(verdict(CONTRAST), "steelyard")


@pytest.mark.parametrize(
    "broken",
    [
        3,
        {"arm": "off"},
        {**CONTRAST, "verdict": "better"},
        {**CONTRAST, "low_percent": "low"},
        {**CONTRAST, "threats": [{"name": "steal"}]},
        {**CONTRAST, "threats": 4},
        {**CONTRAST, "details": []},
    ],
)
def test_a_contrast_of_another_shape_is_refused_with_its_place(broken: Any) -> None:
    text = verdict(CONTRAST, broken)
    with pytest.raises(
        NumbersError, match=r"line 1, column \d+: this contrast .*is none of"
    ) as said:
        recorded(text)
    assert "verdict.json of a record" in str(said.value.hint)


def test_none_and_several_verdicts_are_refused() -> None:
    with pytest.raises(NumbersError, match="a verdict without a contrast"):
        recorded(verdict())
    with pytest.raises(NumbersError, match="more than one verdict of Steelyard"):
        recorded(verdict(CONTRAST) + "\n" + verdict(CONTRAST))


def test_nothing_of_a_record_reaches_the_terminal_but_what_can_be_printed() -> None:
    found = recorded(
        verdict({**CONTRAST, "sentence": "off \x1b[2J on", "low_percent": float("nan")})
    )
    assert "\x1b" not in render_saved_verdict(found, 80)
    assert found.contrasts[0]["low_percent"] is None


SCALARS = st.none() | st.booleans() | st.floats(-1e300, 1e300) | st.text(max_size=5)


@given(st.dictionaries(st.sampled_from(sorted(CONTRAST)), SCALARS, max_size=3))
def test_any_change_of_a_contrast_is_shown_or_refused(changes: dict[str, Any]) -> None:
    try:
        found = recorded(verdict({**CONTRAST, **changes}))
    except NumbersError:
        return
    assert render_saved_verdict(found, 80)


def test_drives_are_a_repetition_each() -> None:
    drive = {"transactions": 9, "throughput": 100.5, "latency_us": {"mean": 80.0}, "clients": 8}
    sheet = sheet_of(json.dumps(drive) + "\n" + json.dumps({**drive, "throughput": 101}))
    assert only(sheet).values.tolist() == [100.5, 101]
    assert only(sheet, 1).values.tolist() == [80, 80]
    assert sheet.clients == {"": 8}
    assert sheet.outcomes == {"": TransactionCounts(18, 0)}
    errors = {**drive, "errors": {"40001": 5, "57014": 1}}
    assert sheet_of(json.dumps(errors)).outcomes == {"": TransactionCounts(15, 6)}
    counted = {**errors, "failed": 2, "retried": 3, "skipped": 4, "unstarted": 1, "wrong_rows": 7}
    assert sheet_of(json.dumps(counted)).outcomes == {"": TransactionCounts(16, 11, 7)}
    none = sheet_of(json.dumps({**drive, "latency_us": {"mean": None}}))
    assert [metric.name for metric, _ in none.metrics] == [THROUGHPUT]
    assert "a number is expected here" in refusal(json.dumps({**drive, "throughput": "fast"}))


MACHINE = {
    "elapsed_ns": 10_000_000_000,
    "processors": 2,
    "processors_before": 2,
    "same_processors": 1,
    "steal_ns": 0,
    "throttled_ns": 0,
    "suspended_ns": 0,
    "started_anew": 0,
    "swapped_bytes": 0,
    "memory_available_bytes": 8e9,
    "memory_total_bytes": 16e9,
    "memory_total_before_bytes": 16e9,
    "disk_free_bytes": 5e10,
    "disk_total_bytes": 1e11,
}


def test_what_a_drives_machine_did_is_a_doubt_of_its_numbers() -> None:
    drive = {"transactions": 9, "throughput": 100.5, "latency_us": {"mean": 80.0}, "clients": 8}
    quiet = json.dumps({**drive, "machine": MACHINE})
    assert sheet_of(quiet).machine == ()
    stolen = json.dumps({**drive, "machine": {**MACHINE, "steal_ns": 1e9}})
    [(kind, seen)] = sheet_of(quiet + "\n" + stolen).machine
    assert kind is ThreatKind.STEAL
    assert seen.startswith("5.0% of processor time was stolen by other guests (")
    assert seen.endswith(", run 2)")
    partial = {name: value for name, value in MACHINE.items() if name != "disk_free_bytes"}
    assert sheet_of(json.dumps({**drive, "machine": {**partial, "steal_ns": 1e9}})).machine == ()
    endless = json.dumps({**drive, "machine": {**MACHINE, "steal_ns": 1}}).replace(
        '"steal_ns": 1,', '"steal_ns": 1e999,'
    )
    assert sheet_of(endless).machine == ()


def test_a_judgement_names_what_the_machine_did_once() -> None:
    drive = {"transactions": 9, "throughput": 100.5, "latency_us": {"mean": 80.0}, "clients": 8}
    stolen = {**drive, "machine": {**MACHINE, "steal_ns": 1e9}}
    off, on = (
        sheet_of("\n".join(json.dumps({**stolen, "throughput": base + n}) for n in range(10)))
        for base in (100, 110)
    )
    judgement = judge_numbers(compare([("off", off), ("on", on)], Options()))
    [contrast] = judgement.contrasts
    [threat] = [threat for threat in contrast.threats if isinstance(threat, QuotedOfRuns)]
    assert (threat.of, threat.runs) == (ThreatKind.STEAL, 20)
    assert threat.text == off.machine[0][1]
    assert "run 1" in threat.text
