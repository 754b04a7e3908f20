"""Pages of repeated studies say what was kept of their records, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from history.made import keep_record
from steelyard.cli.views.reproductions.agreement import agreement
from steelyard.cli.views.reproductions.page import page
from steelyard.record.reader import read_verdict
from steelyard.record.record import Record
from steelyard.record.verdict import DeviceSummary, Verdict
from steelyard.reproductions.reproduction import names, read_reproduction
from validation import reproductions, sweeps
from validation.pages.folded import outdated
from validation.results import FOLDER, Results

MOST_LINES_OF_THE_FRONT_PAGE = 110
MOST_LINES_OF_A_SCREEN = 40
HOW = "run python -m validation.reproductions"


def test_every_claim_is_held_against_what_was_read_of_its_step() -> None:
    for name in names():
        study = read_reproduction(name)
        lines = {one["key"]: one for one in reproductions.RESULTS}
        for step in study.steps:
            if f"{name}/{step.name}" not in lines:
                continue
            told = reproductions.outcome_of(lines[f"{name}/{step.name}"])
            for claim in step.claims:
                alone = step.model_copy(update={"claims": (claim,), "counts": ()})
                assert len(list(agreement(alone, told))) == 1, (name, step.name, claim)


MOST_TIMES_LONGER = 1.5
"""A small machine takes so many times as long as another."""


def test_no_step_takes_much_longer_than_it_says() -> None:
    lines = {line["key"]: line for line in reproductions.RESULTS}
    steps = {
        f"{name}/{step.name}": step for name in names() for step in read_reproduction(name).steps
    }
    for key in steps.keys() & lines.keys():
        line = lines[key]
        seconds = line["swept"]["seconds"] if "swept" in line else line["verdict"]["whole_seconds"]
        assert seconds <= 60 * steps[key].minutes * MOST_TIMES_LONGER, key


@pytest.mark.parametrize("name", names())
def test_a_page_is_what_the_results_say(name: str) -> None:
    assert not outdated(reproductions.files(read_reproduction(name), reproductions.RESULTS)), HOW


def test_the_table_of_claims_is_what_the_results_say() -> None:
    told = reproductions.CLAIMS.read_text(encoding="utf-8")
    assert told == reproductions.claims_page(reproductions.RESULTS), HOW


def test_the_table_of_all_is_what_the_results_say() -> None:
    text = reproductions.README.read_text(encoding="utf-8")
    assert reproductions.BEGIN in text
    assert text == reproductions.with_table(text, reproductions.RESULTS), HOW


@pytest.mark.long
def test_the_page_of_all_is_one_screen_with_a_picture_of_what_the_results_say() -> None:
    text = reproductions.README.read_text(encoding="utf-8")
    assert text.count("\n") <= MOST_LINES_OF_A_SCREEN
    assert f"](../pictures/{reproductions.PICTURE.name})" in text
    picture = reproductions.PICTURE.read_text(encoding="utf-8")
    assert picture == reproductions.picture(reproductions.RESULTS), HOW


def test_the_front_page_and_the_index_of_results_tell_what_was_read() -> None:
    docs = reproductions.PAGES.parent
    text = " ".join((docs / "results" / "README.md").read_text("utf-8").split())
    front = " ".join((docs.parent / "README.md").read_text("utf-8").split())
    kept = {line["key"]: line for line in reproductions.RESULTS}

    def read(key: str) -> float:
        [contrast, *_] = kept[f"read-after-insert/{key}"]["verdict"]["contrasts"]
        assert contrast["arm"] == "on"
        return float(-contrast["estimate_percent"])

    lost = f"{read('on-18'):.0f} % of throughput on PostgreSQL 18 and {read('on-17'):.0f} % on 17"
    assert f"such reads lose {lost}." in text
    [vacuumed, *_] = kept["read-after-insert/vacuumed"]["verdict"]["contrasts"]
    assert vacuumed["verdict"] == "equivalent"
    within = vacuumed["details"]["margin_percent"]
    assert f"there they read {read('vacuumed'):.1f} % slower, within ±{within:.0f} %" in text
    [sweep] = [line["sweep"] for line in sweeps.RESULTS if line["key"] == "checksums by clients"]
    of_picture, repeated = (
        swept["points"][0]["contrasts"][0]["estimate_percent"]
        for swept in (sweep, kept["checksums/reading"]["swept"])
    )
    assert f"{of_picture:.1f} % more throughput at 8 clients in the sweep of the picture" in text
    newest = Results(FOLDER / "versions-19.jsonl")
    [most] = [line["estimate_percent"] for line in newest if line["key"] == "checksums-18"]
    least = "[least](../reproductions/checksums.md), [most](19-against-18.md)"
    assert f"other sessions read {repeated:.1f} to {most:.1f} % ({least})" in text
    of_page = (reproductions.PAGES / "checksums.md").read_text("utf-8")
    assert f"{of_picture:+.2f} % ([the sweep of its picture]" in of_page
    [above] = re.findall(r"this machine has ([0-9.]+) % more throughput", front)
    assert repeated <= float(above) <= most
    assert f"+{above} % (the weighing in the project's README" in of_page
    [page_ns] = re.findall(r"kernel's cache costs ([0-9]+) ns less", front)
    assert f"costs {page_ns} ns of processor time" in of_page


def test_the_front_page_is_short() -> None:
    front = (reproductions.PAGES.parents[1] / "README.md").read_text("utf-8")
    assert front.count("\n") <= MOST_LINES_OF_THE_FRONT_PAGE
    assert front.index("uvx steelyard") < front.index("make weigh"), "what needs no compiler first"


def test_what_follows_of_every_page_is_what_was_counted() -> None:
    kept = {one["key"]: one["verdict"]["probes"] for one in reproductions.RESULTS
            if one["key"].startswith("read-after-insert/every-page")}  # fmt: skip

    def counted(step: str, counter: str) -> int:
        [one] = [one for one in kept[f"read-after-insert/{step}"] if one["arm"] == "on"
                 and (one["probe"], one["counter"]) == ("every_page", counter)]  # fmt: skip
        assert one["least"] == one["most"], "the same in every epoch"
        return int(one["median"])

    least, most = (counted("every-page", f"wal_bytes_{which}") for which in ("least", "most"))
    assert least == most
    small, large = (
        counted("every-page-compressed", f"wal_bytes_{which}") for which in ("least", "most")
    )
    told = (
        f"each of the {counted('every-page', 'executions'):,} that new rows fill has one image of "
        f"{least:,} bytes, or compressed one of {small:,} to {large:,}."
    )
    assert told in read_reproduction("read-after-insert").follows


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
    assert reproductions.outcome_of(next(iter(kept))) == expected
    [row] = [line for line in reproductions.table(kept).splitlines() if "(checksums.md)" in line]
    assert "1 more on [its page](checksums.md)" in row


def test_files_are_named_from_their_checkout_wherever_it_stood(tmp_path: Path) -> None:
    verdict = read_verdict(Record.open(keep_record(tmp_path / "record")))
    assert verdict is not None
    file = "python/steelyard/reproductions/published/studies/mine.toml"
    for place in ("", "/", "/one/", "/one/and-more/"):
        told = verdict.model_copy(update={"command": f"steelyard weigh {place}{file} --seed 17"})
        command = reproductions.result_of(told)["verdict"]["command"]
        assert command == f"steelyard weigh {file} --seed 17"


def test_nothing_that_is_kept_names_a_place_of_a_machine() -> None:
    placed = re.compile(r"(?<![\w.])/(?:tmp|home|root|srv|var|work)/")
    for one in reproductions.RESULTS:
        found = placed.search(json.dumps(one))
        assert found is None, (one["key"], found)


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
    _, _, from_ablation = text.partition("### tuning-ablation: ")
    rows = _rows(from_ablation, "| throughput by the second |")
    assert len(rows) == len(even) == 9
    means = {
        one["arm"]: [one["control_value"], one["arm_value"]]
        for one in even
        if one["metric"] == "throughput_mean"
    }
    for arm, values in means.items():
        cells = rows[f"{arm} against profile, mean"][:2]
        read = [float(re.sub(r"[^\d.]", "", cell)) for cell in cells]
        assert read == pytest.approx(values, abs=0.51)
    assert len({control for control, _ in means.values()}) == 3  # a pair has its own seconds


def test_a_query_that_was_not_finished_is_told_as_that() -> None:
    [line] = [one for one in reproductions.RESULTS if one["key"] == "tuning/queries"]
    told = reproductions.outcome_of(line)
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


def _figure(arm: str, metric: str, low: float, **values: Any) -> dict[str, Any]:
    percents = {"low_percent": low, "estimate_percent": low + 5, "high_percent": low + 9}
    told = {"control_value": 29793.0, "arm_value": 47301.0, "confidence": 0.95, "unit": ""}
    return {"arm": arm, "control": "default", "metric": metric, **percents, **told, **values}


def _with_devices(step: str, devices: dict[str, Any]) -> tuple[str, str]:
    """The page of one step as if no device had been read, and with what the devices did."""
    [line] = [one for one in reproductions.RESULTS if one["key"] == f"tuning/{step}"]
    told = reproductions.outcome_of(line)
    assert isinstance(told, Verdict)
    without = told.model_copy(update={"devices": None})
    changed = told.model_copy(update={"devices": DeviceSummary.model_validate(devices)})
    study = read_reproduction("tuning")
    return page(study, {step: without}, ""), page(study, {step: changed}, "")


@pytest.mark.parametrize("step", ["orders-of-three", "queries"])
def test_a_page_tells_what_the_devices_did_in_turns_and_in_slices(step: str) -> None:
    figures = [
        _figure(arm, metric, place, **values)
        for place, arm in enumerate(("theirs", "ours"))
        for metric, values in (
            ("read_iops", {"unit": "1/s"}),
            ("read_latency_ms", {"unit": "ms", "control_value": 0.5, "arm_value": 0.4}),
        )
    ]
    if step == "orders-of-three":
        figures.append(_figure("ours", "read_iops_cv", -60, control_value=0.984, arm_value=0.366))
    before, text = _with_devices(step, {"names": ["nvme0n1"], "figures": figures})
    rows = _rows(text, "| device nvme0n1 | default |")
    assert rows["reads (r/s)"][:-1] == [
        "29 793",
        "47 301, +6.00 % \\[+1.00, +10.00\\]",
        "47 301, +5.00 % \\[0.00, +9.00\\]",
    ]
    assert rows["read time (r_await)"][0] == "0.5 ms"
    if step == "orders-of-three":
        [(name, cells)] = _rows(text, "| requests by the second |").items()
        assert name == "ours against default, CV of reads/s"
        assert cells[:2] == ["98.4 %", "36.6 %"]
        assert "in slices of another" not in text
    else:
        assert "| requests by the second |" not in text
        assert "may be written in slices of another" in text
    assert "device" not in before.partition("## What follows")[0].partition("TPROC-C: default")[2]
    assert set(before.splitlines()) < set(text.splitlines())


def test_a_page_says_that_devices_are_not_available_and_nothing_where_they_idle() -> None:
    before, text = _with_devices("queries", {"missing": "a file system of type overlay has none"})
    said = "What the devices did is not available: a file system of type overlay has none."
    assert [one for one in text.splitlines() if one not in before.splitlines()] == [said]
    idle = [
        _figure("theirs", "read_iops", 0, control_value=3.0, arm_value=3.0),
        _figure("theirs", "read_latency_ms", 0, control_value=0.2, arm_value=0.2),
    ]
    before, text = _with_devices("queries", {"names": ["vda"], "figures": idle})
    assert text == before


def test_kept_results_tell_nothing_of_devices_that_were_not_recorded() -> None:
    for line in reproductions.RESULTS:
        told = reproductions.outcome_of(line)
        if isinstance(told, Verdict) and told.devices is None:
            assert "did while each arm was driven" not in page(
                read_reproduction(line["key"].partition("/")[0]),
                {line["key"].partition("/")[2]: told},
                "",
            )


def _rows(text: str, head: str) -> dict[str, list[str]]:
    """Name of a row → its cells, of the table that begins with `head`."""
    assert head in text
    told = text.partition(head)[2].partition("\n\n")[0].splitlines()[2:]
    cells = ([cell.strip() for cell in row.split("|")] for row in told)
    return {name: rest for _, name, *rest in cells}
