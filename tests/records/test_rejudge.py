"""Every kept record is judged again to the verdict it holds: numbers, words, threats.

The records are of format 1, made by the last version that wrote it: all studies, three arms judged
jointly, counted slices, an interruption, a resumed weighing, an arm that was killed, and two that
are invalid (by the A/A ledger, and because no row was returned).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from records.conftest import KEPT
from steelyard.model.errors import RecordError
from steelyard.record.reader import RecordContents, read_recorded, read_verdict
from steelyard.record.record import FORMAT, Record
from steelyard.verdict.rejudge import differences, rejudge
from thinned import thinned

Unpack = Callable[[str], Path]
CHANGED = {
    "calibrate-whole": {
        "contrasts[0].threats[1].advice": "weigh 30 epochs (--set budget.epochs=30): with 8 to 18 "
        "epochs equal arms are called different in 6–9 % of weighings, with 30 in 5 %; with any "
        "number arms that differ by the margin are called equivalent in 8–10 %"
    },
    "checksums-rw": {"pages": None},
    "read-after-insert": {"pages": None},
}
"""What is judged otherwise on purpose since they were made: the advice on skewed epochs says what
to type; the processor time of a verified page is not told where the arm that verifies also logs
images of pages."""


def read(directory: Path) -> RecordContents:
    return read_recorded(Record.open(directory))


def test_there_are_records_of_every_study() -> None:
    studies = {"aa", "builds", "calibrate", "checksums", "checksums-rw", "queries"}
    assert studies | {"read-after-insert", "settings", "versions"} <= {*KEPT}
    assert len(KEPT) >= 12


@thinned("name", [name for name in KEPT if name != "lost"], 3)
def test_a_kept_record_is_judged_to_the_verdict_it_holds(name: str, kept: Unpack) -> None:
    directory = kept(name)
    recorded = read_verdict(Record.open(directory))
    assert recorded is not None
    found = differences(recorded, rejudge(read(directory)))
    assert {one.key: one.rejudged for one in found} == CHANGED.get(name, {})


def test_an_epoch_that_ended_with_a_crash_in_its_warm_up_is_no_longer_left_out(
    kept: Unpack,
) -> None:
    """What it took to be without a reading was that the other arm had not been measured yet."""
    directory = kept("lost")
    recorded, judged = read_verdict(Record.open(directory)), rejudge(read(directory))
    assert recorded is not None
    found = {one.key: one.rejudged for one in differences(recorded, judged)}
    assert all(key == "sentence" or key.startswith("contrasts[0].") for key in found)
    [before], [after] = recorded.contrasts, judged.contrasts
    assert (before.epochs, after.epochs) == (9, 10)
    assert (before.low_percent is None, after.low_percent) == (False, None)
    assert after.estimate_percent == pytest.approx(before.estimate_percent)
    assert before.verdict == after.verdict == "inconclusive"
    assert after.details.lost_epochs == before.details.lost_epochs == (3,)


def test_every_file_of_a_record_is_read_once(kept: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    record, reads = Record.open(kept("aa")), Counter[str]()

    def counted(method: Callable[[Record, str], Any]) -> Callable[[Record, str], Any]:
        def read_file(self: Record, name: str) -> Any:
            reads[name] += 1
            return method(self, name)

        return read_file

    for method in ("read", "lines"):
        monkeypatch.setattr(Record, method, counted(getattr(Record, method)))
    read_recorded(record)
    files = ("plan.json", "environment.json", "verdict.json", "telemetry.jsonl", "slices.jsonl")
    assert reads == dict.fromkeys(files, 1)


def test_the_words_and_threats_are_among_what_is_compared(kept: Unpack) -> None:
    directory = kept("invalid-ledger")
    # Renamed since: the doubt of a question that was weighed before.
    text = (directory / "verdict.json").read_text().replace('"attempt k"', '"weighed before"')
    said = json.loads(text)
    judged = rejudge(read(directory))
    assert judged.sentence == said["sentence"]
    [contrast] = judged.contrasts
    assert contrast.verdict == "invalid"
    assert [t.to_json() for t in contrast.threats] == said["contrasts"][0]["threats"]


def test_a_changed_slice_changes_the_verdict(kept: Unpack) -> None:
    directory = kept("aa")
    lines = (directory / "slices.jsonl").read_text().splitlines()
    changed = [json.loads(line) for line in lines]
    for line in changed:
        if line["arm"] == "b":
            line["transactions"] = round(line["transactions"] * 0.9)
    text = "".join(json.dumps(line) + "\n" for line in changed)
    (directory / "slices.jsonl").write_text(text)
    judged = rejudge(read(directory))
    assert judged.contrasts[0].verdict == "slower"
    recorded = read_verdict(Record.open(directory))
    assert recorded is not None
    assert any(one.key.endswith("verdict") for one in differences(recorded, judged))


def test_a_record_that_has_not_ended_has_no_verdict(kept: Unpack) -> None:
    directory = kept("aa")
    (directory / "verdict.json").unlink()
    with pytest.raises(RecordError, match="has not ended yet"):
        rejudge(read(directory))


def test_a_newer_format_is_a_clear_error(kept: Unpack) -> None:
    directory = kept("aa")
    plan = json.loads((directory / "plan.json").read_text())
    (directory / "plan.json").write_text(json.dumps({**plan, "format": FORMAT + 1}))
    with pytest.raises(RecordError, match="made by a newer Steelyard") as caught:
        read(directory)
    assert f"reads formats up to {FORMAT}" in str(caught.value.detail)
    assert "or a later one" in (caught.value.hint or "")


def test_a_key_that_is_wrong_is_named_with_its_file(kept: Unpack) -> None:
    directory = kept("aa")
    plan = json.loads((directory / "plan.json").read_text())
    (directory / "plan.json").write_text(json.dumps({**plan, "seed": "seven"}))
    with pytest.raises(RecordError, match=r'plan\.json": "seed"'):
        read(directory)


@pytest.mark.parametrize("name", ["aa", "checksums-rw", "queries", "resumed"])
@pytest.mark.parametrize("left", [0.5, 0.999])
def test_slices_that_are_missing_are_not_passed_over(kept: Unpack, name: str, left: float) -> None:
    file = kept(name) / "slices.jsonl"
    text = file.read_bytes()
    file.write_bytes(text[: round(left * len(text))])
    with pytest.raises(
        RecordError, match=r"slices of arm .* are missing in .*slices\.jsonl"
    ) as cut:
        read(file.parent)
    assert "--resume measures them again" in (cut.value.hint or "")


@pytest.mark.parametrize("epoch", [0, 4])
def test_an_epoch_that_is_missing_is_not_passed_over(kept: Unpack, epoch: int) -> None:
    file = kept("aa") / "telemetry.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    rest = [line for line in lines if json.loads(line).get("epoch") != epoch]
    file.write_text("".join(rest))
    with pytest.raises(RecordError, match=rf"epoch {epoch + 1} is missing in .*telemetry\.jsonl"):
        read(file.parent)
