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


def test_a_page_of_turns_tells_what_each_arm_read_wrote_and_left() -> None:
    [line] = [one for one in reproductions.RESULTS if one["key"] == "tuning/ablation"]
    verdict = line["verdict"]
    text = reproductions.text_of(read_reproduction("tuning"), reproductions.RESULTS)
    told = text.partition("| beside it | profile |")[2].partition("\n\n")[0].splitlines()[2:]
    rows = {
        name: rest for _, name, *rest in ([cell.strip() for cell in row.split("|")] for row in told)
    }
    arms = [one["arm"] for one in verdict["turns"]["sums"]]
    stalls = verdict["turns"]["stalls"]
    assert rows["stalls, and storms among them"][:-1] == [
        f"{len(own)}, {sum(one['storm'] for one in own)}"
        for own in ([one for one in stalls if one["arm"] == arm] for arm in arms)
    ]
    log = [one for one in verdict["causes"] if one["metric"] == "wal_bytes_per_transaction"]
    read = [float(cell.split()[0].replace("−", "-")) for cell in rows["WAL a transaction"][1:-1]]
    assert read == pytest.approx([row["estimate_percent"] for row in log], abs=0.06)
    assert all(len(cells) == len(arms) + 1 for cells in rows.values())
