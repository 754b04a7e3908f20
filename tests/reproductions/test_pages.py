"""Pages of repeated studies say what was kept of their records, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from history.made import keep_record
from steelyard.record.record import Record
from steelyard.record.recorded import read_verdict
from steelyard.reproductions.reproduction import names, read_reproduction
from validation import reproductions
from validation.results import Results

HOW = "run python -m validation.reproductions"


@pytest.mark.parametrize("name", names())
def test_a_page_is_what_the_results_say(name: str) -> None:
    told = (reproductions.PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert told == reproductions.text_of(read_reproduction(name), reproductions.RESULTS), HOW


def test_the_table_of_all_is_what_the_results_say() -> None:
    text = reproductions.README.read_text(encoding="utf-8")
    assert reproductions.BEGIN in text
    assert text == reproductions.with_table(text, reproductions.RESULTS), HOW


def test_what_is_kept_is_what_the_record_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Results(tmp_path / "kept.jsonl")
    monkeypatch.setattr(reproductions, "RESULTS", kept)
    study = read_reproduction("checksums")
    before = reproductions.table(kept)
    assert before.count("not yet weighed") == 5
    folder = tmp_path / "repeated"
    record = keep_record(folder / "beyond-memory")
    (folder / "reproduce.json").write_text(json.dumps({"name": "checksums", "steps": {}}))
    for _ in range(2):
        reproductions.take(folder)
    assert [one["key"] for one in kept] == ["checksums/beyond-memory"]
    verdict = read_verdict(Record.open(record))
    assert verdict is not None
    text = reproductions.text_of(study, kept)
    assert "### ▲ checksums: faster" in text
    assert "Weighed on " in text
    expected = verdict.model_copy(update={"record": "beyond-memory"})  # not where it stood
    assert reproductions.told_of(next(iter(kept))) == expected
    assert "beyond-memory: off " in reproductions.table(kept)
