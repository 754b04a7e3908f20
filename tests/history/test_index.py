"""The index knows every record below a folder, and names what is damaged or altered."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from history.made import change, change_contrast, close_folder, keep_record
from records.conftest import HERE as KEPT
from steelyard.history.compare import compare_records
from steelyard.history.entry import STAMP, time_of
from steelyard.history.filter import Filter, day, matching_entries
from steelyard.history.index import INDEX, read_history
from steelyard.model.errors import RecordError

Keep = Callable[..., Path]


def reasons(records: Path) -> dict[str, str]:
    return {one.path: one.reason for one in read_history(records).unread}


def test_records_are_listed_by_time_with_what_they_read(keep: Keep, records: Path) -> None:
    keep(9, effect=-0.05)
    keep(2, study="aa", arms=("a", "b"), effect=0.0)
    (records / "checksums" / "latest").symlink_to("2026-03-09T120000Z")
    found = read_history(records)
    assert [one.path for one in found.entries] == [
        "aa/2026-03-02T120000Z",
        "checksums/2026-03-09T120000Z",
    ]
    newest = found.entries[-1]
    assert (newest.at, newest.at_from, newest.state) == ("2026-03-09T120000Z", "name", "judged")
    [reading] = newest.readings
    assert (reading.arm, reading.control, reading.verdict) == ("off", "on", "slower")
    assert reading.estimate_percent == pytest.approx(-4.9, abs=0.3)
    assert newest.keys["workload.scale"] == "50"
    assert newest.builds["on"].version == "18.4"
    assert found.unread == ()


def test_an_empty_folder_has_no_records_and_a_missing_one_is_refused(records: Path) -> None:
    assert read_history(records).entries == ()
    with pytest.raises(RecordError, match="no folder of records"):
        read_history(records / "gone")


def test_folders_that_are_no_records_are_passed_over(keep: Keep, records: Path) -> None:
    keep(1)
    (records / "notes").mkdir()
    (records / "notes" / "readme.txt").write_text("nothing")
    (records / "ledger.jsonl").write_text("{}\n")
    found = read_history(records)
    assert len(found.entries) == 1
    assert found.unread == ()


def test_what_is_on_its_way_or_was_brought_home_by_a_matrix_is_not_listed(
    keep: Keep, records: Path
) -> None:
    """A matrix keeps what it brought home; it is listed where it was taken in."""
    whole = keep(1)
    for copy in ("fleet/.incoming-x/0/record", "matrix/m/home/aa-any-1", "notes/home/aa"):
        shutil.copytree(whole, records / copy)
    (records / "matrix" / "m" / "matrix.json").write_text("{}")
    assert [one.path for one in read_history(records).entries] == [
        "checksums/2026-03-01T120000Z",
        "notes/home/aa",
    ]
    assert len(read_history(records / "matrix" / "m" / "home").entries) == 1


def test_a_record_is_dated_by_its_plan_where_no_folder_is_named_so(
    keep: Keep, records: Path
) -> None:
    keep(1).rename(records / "weighing")
    [entry] = read_history(records, rebuild=True).entries
    assert entry.at_from == "file"
    change(records / "weighing" / "plan.json", lambda plan: {**plan, "at": "2026-02-03T040506Z"})
    [entry] = read_history(records, rebuild=True).entries
    assert (entry.at, entry.at_from) == ("2026-02-03T040506Z", "plan")


def test_what_was_stopped_before_it_was_planned_is_named(keep: Keep, records: Path) -> None:
    (keep(1) / "plan.json").unlink()
    assert "stopped before it was planned" in reasons(records)["checksums/2026-03-01T120000Z"]


def test_the_study_of_a_search_stands_above_its_records(keep: Keep, records: Path) -> None:
    study = (keep(1) / "study.toml").read_text()
    (records / "search").mkdir()
    (records / "checksums").rename(records / "search" / "1-trial")
    (records / "search" / "study.toml").write_text(study)
    assert len(read_history(records).entries) == 1
    assert reasons(records) == {}


def test_a_weighing_without_a_verdict_is_listed_as_such(keep: Keep, records: Path) -> None:
    keep(1, verdict=False)
    [entry] = read_history(records).entries
    assert (entry.state, entry.readings) == ("no verdict", ())


def test_an_interrupted_weighing_is_listed_with_what_it_read(keep: Keep, records: Path) -> None:
    change(keep(1) / "verdict.json", lambda said: {**said, "interrupted": True})
    [entry] = read_history(records).entries
    assert (entry.state, len(entry.readings)) == ("interrupted", 1)


@pytest.mark.parametrize("name", ["plan.json", "verdict.json", "environment.json", "study.toml"])
def test_a_damaged_file_is_named_and_the_other_records_stand(
    keep: Keep, records: Path, name: str
) -> None:
    (keep(1) / name).write_text('{"torn')
    keep(2)
    found = read_history(records)
    assert [one.path for one in found.entries] == ["checksums/2026-03-02T120000Z"]
    [refused] = found.unread
    assert refused.path == "checksums/2026-03-01T120000Z"
    assert name in refused.reason
    assert "\n" not in refused.reason


@pytest.mark.parametrize("shape", ['{"queries": 5}', "[1]", "null", '{"contrasts": {}}', "\xff"])
def test_a_verdict_of_another_shape_is_named(keep: Keep, records: Path, shape: str) -> None:
    (keep(1) / "verdict.json").write_text(shape, encoding="latin-1")
    keep(2)
    found = read_history(records)
    assert len(found.entries) == 1
    assert [one.path for one in found.unread] == ["checksums/2026-03-01T120000Z"]


def test_a_folder_whose_index_cannot_be_written_is_read_all_the_same(
    keep: Keep, records: Path
) -> None:
    keep(1)
    (records / INDEX).mkdir()
    assert len(read_history(records).entries) == 1
    assert not list(records.glob(".history*"))


def test_a_verdict_of_another_weighing_is_named(keep: Keep, records: Path) -> None:
    change(keep(1) / "verdict.json", lambda said: {**said, "seed": 99})
    change_contrast(keep(2), arm="somebody")
    said = [*reasons(records).values()]
    assert "its seed is 99, that of the plan 1" in said[0]
    assert "somebody against on is no contrast of its plan" in said[1]


def test_a_contrast_of_two_arms_that_the_study_does_not_compare_is_of_another_weighing(
    keep: Keep, records: Path
) -> None:
    def with_pair(verdict: dict[str, Any]) -> dict[str, Any]:
        [line] = verdict["contrasts"]
        return {**verdict, "pairs": [{**line, "arm": line["control"], "control": line["arm"]}]}

    change(keep(1) / "verdict.json", with_pair)
    [said] = reasons(records).values()
    assert "on against off is no contrast of its plan" in said


@pytest.mark.parametrize("name", ["plan.json", "study.toml", "verdict.json"])
def test_a_file_that_changed_since_it_was_read_makes_the_record_altered(
    keep: Keep, records: Path, name: str
) -> None:
    directory = keep(1)
    keep(2)
    assert len(read_history(records).entries) == 2
    text = (directory / name).read_text()
    (directory / name).write_text(text + ("\n" if name.endswith("json") else "# more\n"))
    for _ in range(2):  # it is not forgotten
        said = reasons(records)["checksums/2026-03-01T120000Z"]
        assert said.startswith(f"altered: {name} is not the file that was read before (SHA-256 ")
    assert len(read_history(records).entries) == 1
    rebuilt = read_history(records, rebuild=True)
    assert (len(rebuilt.entries), rebuilt.unread) == (2, ())


def test_a_folder_that_cannot_be_listed_is_named_and_what_is_known_of_it_stays_known(
    keep: Keep, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of a weighing that was made as root."""
    keep(1)
    altered = keep(2, study="roots")
    assert len(read_history(records).entries) == 2
    with monkeypatch.context() as patched:
        close_folder(records / "roots", patched)
        history = read_history(records)
    assert [entry.path for entry in history.entries] == ["checksums/2026-03-01T120000Z"]
    [closed] = history.unread
    assert closed.path == "roots"
    assert closed.reason == "could not read this folder: permission denied"
    with (altered / "verdict.json").open("a") as stream:
        stream.write("\n")
    assert "altered: verdict.json" in reasons(records)["roots/2026-03-02T120000Z"]


def test_a_file_systems_own_folder_is_none_of_records(
    keep: Keep, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(1)
    (records / "lost+found").mkdir()
    close_folder(records / "lost+found", monkeypatch)
    assert reasons(records) == {}


def test_a_verdict_that_is_gone_is_named(keep: Keep, records: Path) -> None:
    directory = keep(1)
    read_history(records)
    (directory / "verdict.json").unlink()
    assert "gone now" in reasons(records)["checksums/2026-03-01T120000Z"]


def test_measurements_that_became_fewer_are_named(keep: Keep, records: Path) -> None:
    directory = keep(1)
    read_history(records)
    lines = (directory / "slices.jsonl").read_text().splitlines(keepends=True)
    (directory / "slices.jsonl").write_text("".join(lines[:-3]))
    assert "but only grows" in reasons(records)["checksums/2026-03-01T120000Z"]


def test_a_resumed_weighing_is_no_altered_one(keep: Keep, records: Path) -> None:
    directory = keep(1)
    change(directory / "verdict.json", lambda said: {**said, "interrupted": True})
    read_history(records)
    with (directory / "slices.jsonl").open("a") as stream:
        stream.write((directory / "slices.jsonl").read_text().splitlines()[-1] + "\n")
    change(directory / "verdict.json", lambda said: {**said, "interrupted": False})
    [entry] = read_history(records).entries
    assert entry.state == "judged"


def test_the_index_is_made_anew_from_the_folders(keep: Keep, records: Path) -> None:
    keep(1)
    gone = keep(2)
    before = read_history(records)
    index = records / INDEX
    assert len(index.read_text().splitlines()) == 2
    (index).write_text("nonsense\n[]\n" + json.dumps({"format": 99}) + "\n")
    assert read_history(records) == before
    for file in gone.iterdir():
        file.unlink()
    gone.rmdir()
    assert [one.path for one in read_history(records).entries] == ["checksums/2026-03-01T120000Z"]
    assert len(index.read_text().splitlines()) == 1


def test_an_index_of_an_older_format_is_made_anew(keep: Keep, records: Path) -> None:
    """The first one did not have the boot that a host is known by."""
    keep(1, machine={"hostname": "pod-1", "boot_id": "the node's"})
    before = read_history(records)
    assert before.entries[0].boot == "the node's"
    index = records / INDEX
    told = {**json.loads(index.read_text()), "format": 1}
    del told["boot"]
    index.write_text(json.dumps(told) + "\n")
    assert read_history(records) == before
    assert json.loads(index.read_text())["boot"] == "the node's"


def test_points_of_a_sweep_are_records_that_know_their_sweep(records: Path) -> None:
    sweep = records / "checksums-by-clients" / "2026-03-04T101500Z"
    for clients in (8, 32):
        keep_record(sweep / "points" / str(clients), clients=clients)
    (sweep / "sweep.json").write_text(
        json.dumps({"key": "workload.clients", "values": ["8", "32"], "order": [1, 0], "seed": 1,
                    "study": "checksums"})
    )  # fmt: skip
    (sweep / "swept.json").write_text("{")
    found = read_history(records)
    assert [one.sweep for one in found.entries] == [sweep.relative_to(records).as_posix()] * 2
    assert {one.at for one in found.entries} == {"2026-03-04T101500Z"}
    [refused] = found.unread
    assert refused.path.endswith("swept.json")


def test_records_of_the_first_format_are_read_beside_new_ones(keep: Keep, records: Path) -> None:
    keep(1)
    for name in ("aa", "calibrate", "interrupted", "three-arms"):
        (records / name).mkdir()
        with tarfile.open(KEPT / f"{name}.tar.xz") as archive:
            # Python 3.11.4 and newer ask for it, older ones do not know it.
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(records / name)
    found = read_history(records)
    assert found.unread == ()
    assert {one.record_format for one in found.entries} == {1, 2}
    by_path = {one.path: one for one in found.entries}
    assert by_path["interrupted"].state == "interrupted"
    assert by_path["calibrate"].known_truth
    assert by_path["aa"].at_from == "file"
    assert len(by_path["three-arms"].readings) == 2


def test_an_index_of_an_earlier_version_is_read_anew_and_still_says_what_was_altered(
    keep: Keep, records: Path
) -> None:
    altered = keep(2)
    keep(1)
    read_history(records)
    lines = [json.loads(line) for line in (records / INDEX).read_text().splitlines()]
    for line in lines:
        line["format"] = 2
        for reading in line["readings"]:
            del reading["arm_values"], reading["control_values"]
    (records / INDEX).write_text("".join(json.dumps(line) + "\n" for line in lines))
    plan = (altered / "plan.json").read_text()
    (altered / "plan.json").write_text(plan + " ")
    for _ in range(2):
        history = read_history(records)
        [entry] = history.entries
        assert entry.readings[0].arm_values.throughput is not None
        assert "altered: plan.json" in history.unread[0].reason
    (altered / "plan.json").write_text(plan)
    assert all(x.readings[0].arm_values.throughput for x in read_history(records).entries)


@pytest.mark.parametrize(
    "name",
    [
        "2026-02-30T120000Z",
        "2026-13-01T120000Z",
        "2026-03-01T250000Z",
        "0000-00-00T000000Z",
        "２０２６-03-01T120000Z",
    ],
)
def test_a_name_that_is_no_time_dates_no_record(keep: Keep, records: Path, name: str) -> None:
    """Such a folder would end every list, export and filter of all the others."""
    keep(2)
    keep(1).rename(records / "checksums" / name)
    history = read_history(records)
    assert {entry.at_from for entry in history.entries} == {"name", "file"}
    assert all(time_of(entry.at) is not None for entry in history.entries)
    assert len(matching_entries(history.entries, Filter(since=day("2026-03-01")))) == 2


@given(st.text(st.sampled_from("0123456789-TZ."), max_size=20) | st.datetimes().map(str))
def test_a_time_is_one_that_can_be_written_again(text: str) -> None:
    time = time_of(text)
    assert time is None or time.strftime(STAMP) == text


def test_a_line_of_the_index_without_a_time_is_read_anew(keep: Keep, records: Path) -> None:
    keep(1)
    read_history(records)
    index = records / INDEX
    index.write_text(index.read_text().replace('"at": "2026-03-01T120000Z"', '"at": "yesterday"'))
    [entry] = read_history(records).entries
    assert entry.at == "2026-03-01T120000Z"


@pytest.mark.parametrize("name", [b"caf\xe9", b"a\x1b[31m", b"a\nb", "a\u202eb".encode()])
def test_a_folder_whose_name_is_no_text_is_named_with_what_to_do(
    keep: Keep, records: Path, name: bytes
) -> None:
    """Exports, feeds and pages are UTF-8: its name could be in none of them."""
    keep(2)
    folder = records / os.fsdecode(name)
    folder.mkdir()
    keep(1).rename(folder / "2026-03-01T120000Z")
    history = read_history(records)
    assert [entry.path for entry in history.entries] == ["checksums/2026-03-02T120000Z"]
    [refused] = history.unread
    assert refused.reason.endswith("rename it")
    json.dumps(refused.to_json(), ensure_ascii=False).encode()


@pytest.mark.parametrize("price", ["0 USD/h", "-1/h", "free", ""])
def test_a_price_that_is_none_is_named_and_ends_nothing(
    keep: Keep, records: Path, price: str
) -> None:
    """Rankings and exports compute with it."""
    cost = {"arm": "off", "price": price, "currency": "USD", "per_million": 1.0, "epochs": 8}
    ends = {"low_per_million": 0.9, "high_per_million": 1.1}
    change(keep(1) / "verdict.json", lambda verdict: {**verdict, "costs": [{**cost, **ends}]})
    keep(2)
    history = read_history(records)
    assert [entry.path for entry in history.entries] == ["checksums/2026-03-02T120000Z"]
    [refused] = history.unread
    assert "invalid price" in refused.reason
    with pytest.raises(RecordError, match="invalid price"):
        compare_records(*(records / "checksums" / f"2026-03-0{n}T120000Z" for n in (1, 2)))
