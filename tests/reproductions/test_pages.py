"""Pages of repeated studies say what was kept of their records, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from history.made import keep_record
from steelyard.cli.views.reproductions.page import page
from steelyard.record.record import Record
from steelyard.record.recorded import read_verdict
from steelyard.record.verdict import Verdict
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
    rows = _rows(text, "| beside it | profile |")
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


def test_a_page_of_turns_has_throughput_by_the_second_pair_by_pair() -> None:
    [line] = [one for one in reproductions.RESULTS if one["key"] == "tuning/ablation"]
    even = line["verdict"]["turns"]["evenness"]
    text = reproductions.text_of(read_reproduction("tuning"), reproductions.RESULTS)
    _, _, from_ablation = text.partition("### ? tuning-ablation")
    rows = _rows(from_ablation, "| throughput by the second |")
    assert len(rows) == len(even) == 9
    means = {
        one["arm"]: [one["control_value"], one["arm_value"]]
        for one in even
        if one["metric"] == "throughput_mean"
    }
    for arm, values in means.items():
        cells = rows[f"{arm} against profile, mean"][:2]
        read = [float("".join(filter(str.isdigit, cell))) for cell in cells]  # 2 404 tps
        assert read == pytest.approx(values, abs=0.51)
    assert means["no-log"][0] > 1.05 * means["no-memory"][0]  # short turns: another control


def test_a_query_that_was_not_finished_is_told_as_that() -> None:
    [line] = [one for one in reproductions.RESULTS if one["key"] == "tuning/queries"]
    told = reproductions.told_of(line)
    assert isinstance(told, Verdict)
    lost, *others = told.queries
    lost = lost.model_copy(update={"arm_unfinished": 2, "excluded": True})
    changed = told.model_copy(update={"queries": (lost, *others)})
    study = read_reproduction("tuning")
    before = page(study, {"queries": told}, "")
    row = _rows(page(study, {"queries": changed}, ""), "| query | default |")[lost.query]
    assert f"not finished: 2 in {lost.arm}" in " ".join(row)
    assert "not in the mean" in " ".join(row)
    assert "not finished" not in before


def _rows(text: str, head: str) -> dict[str, list[str]]:
    """Name of a row → its cells, of the table that begins with `head`."""
    assert head in text
    told = text.partition(head)[2].partition("\n\n")[0].splitlines()[2:]
    cells = ([cell.strip() for cell in row.split("|")] for row in told)
    return {name: rest for _, name, *rest in cells}
