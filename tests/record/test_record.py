"""A record keeps every whole line whatever happens, and says what is damaged."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.model.errors import RecordError
from steelyard.record.record import Record, folder_name


def test_a_new_record_gets_a_place_of_its_own_and_once_planned_the_latest_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    latest = tmp_path / "records/aa/latest"
    first, second = Record.create(None, "aa"), Record.create(None, "aa")
    assert first.directory != second.directory
    assert not latest.is_symlink()
    for record in (first, second):
        record.write("plan.json", {"seed": 1})
        record.point_latest()
        assert latest.resolve() == record.directory.resolve()
    assert Record.open(Path("records/aa/latest")).directory == second.directory


@pytest.mark.parametrize(
    "study",
    ["a/b", "../aa", "/tmp/aa", "", " ", ".", "..", ".aa", "a\0b", "a\tb", "8/16 clients", "é ü"],
)
def test_a_study_of_any_name_has_a_folder_of_its_own_below_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, study: str
) -> None:
    monkeypatch.chdir(tmp_path)
    record = Record.create(None, study)
    folder = record.directory.parent
    assert folder.parent == Path("records")
    assert folder.name.isprintable()
    assert not folder.name.startswith(".")
    assert [one.name for one in tmp_path.iterdir()] == ["records"]
    assert folder_name("checksums-rw") == "checksums-rw"
    record.write("plan.json", {"seed": 1})
    record.point_latest()
    assert (folder / "latest" / "plan.json").is_file()


def test_a_record_whose_place_was_named_moves_no_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Record.create(tmp_path / "r" / "own", "aa").point_latest()
    assert [one.name for one in (tmp_path / "r").iterdir()] == ["own"]


def test_a_directory_that_holds_a_weighing_is_not_overwritten(tmp_path: Path) -> None:
    record = Record.create(tmp_path / "r", "aa")
    record.write("plan.json", {"seed": 1})
    with pytest.raises(RecordError, match="already holds a weighing"):
        Record.create(tmp_path / "r", "aa")


def test_nothing_that_is_written_or_read_holds_a_secret(tmp_path: Path) -> None:
    record = Record.create(tmp_path / "r", "aa")
    said = {"error": "role: password=hunter2", "lines": [{"ALTER ROLE a PASSWORD 'hunter2'": 1}]}
    record.write("plan.json", said)
    record.append("slices.jsonl", said)
    record.close()
    kept = [(tmp_path / "r" / name).read_text() for name in ("plan.json", "slices.jsonl")]
    assert not [text for text in kept if "hunter2" in text]
    (tmp_path / "r" / "plan.json").write_text(json.dumps(said))  # by an earlier version
    assert "hunter2" not in str(record.read("plan.json"))


def test_lines_come_back_in_order_and_a_torn_last_one_is_left_out(tmp_path: Path) -> None:
    record = Record.create(tmp_path / "r", "aa")
    for number in range(5):
        record.append("slices.jsonl", {"n": number})
    with (tmp_path / "r" / "slices.jsonl").open("a") as stream:
        stream.write('{"n": 5, "torn')
    assert [line["n"] for line in Record(tmp_path / "r").lines("slices.jsonl")] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("long", [10, 200_000])
def test_appending_after_a_kill_cuts_the_torn_line_first(tmp_path: Path, long: int) -> None:
    record = Record.create(tmp_path / "r", "aa")
    record.append("slices.jsonl", {"n": 0})
    record.close()
    with (tmp_path / "r" / "slices.jsonl").open("a") as stream:
        stream.write("x" * long)
    record.append("slices.jsonl", {"n": 1})
    assert [line["n"] for line in record.lines("slices.jsonl")] == [0, 1]


@pytest.mark.parametrize("before", [0, 1, 3])
@pytest.mark.parametrize("long", [1, 200_000])
def test_a_whole_last_line_without_its_newline_is_read_and_stays(
    tmp_path: Path, before: int, long: int
) -> None:
    record, file = Record(tmp_path), tmp_path / "slices.jsonl"
    for number in range(before):
        record.append("slices.jsonl", {"n": number})
    record.close()
    with file.open("a") as stream:
        stream.write(json.dumps({"n": before, "text": "x" * long}))
    assert [line["n"] for line in record.lines("slices.jsonl")] == [*range(before + 1)]
    record.append("slices.jsonl", {"n": before + 1})
    assert [line["n"] for line in record.lines("slices.jsonl")] == [*range(before + 2)]
    assert file.read_text().count("\n") == before + 2


def test_a_file_that_is_one_torn_line_is_emptied(tmp_path: Path) -> None:
    record = Record.create(tmp_path / "r", "aa")
    (tmp_path / "r" / "slices.jsonl").write_text("x" * 100_000)
    record.append("slices.jsonl", {"n": 1})
    assert [line["n"] for line in record.lines("slices.jsonl")] == [1]


def test_a_damaged_line_in_the_middle_is_an_error_with_its_number(tmp_path: Path) -> None:
    record = Record.create(tmp_path / "r", "aa")
    (tmp_path / "r" / "slices.jsonl").write_text('{"n": 0}\nnonsense\n{"n": 2}\n')
    with pytest.raises(RecordError, match="damaged line 2"):
        list(record.lines("slices.jsonl"))


def test_a_killed_writer_loses_at_most_the_line_it_was_writing(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from steelyard.record.record import Record\n"
        "record = Record(Path(sys.argv[1])); n = 0\n"
        "while True:\n record.append('slices.jsonl', {'n': n}); n += 1; print(n, flush=True)\n"
    )
    (tmp_path / "r").mkdir()
    writer = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "r")], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    told = 0
    while told < 200:
        told = int(writer.stdout.readline())
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    kept = [line["n"] for line in Record(tmp_path / "r").lines("slices.jsonl")]
    assert len(kept) >= told
    assert kept == list(range(len(kept)))


def test_a_directory_without_a_plan_is_no_record(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="not a record"):
        Record.open(tmp_path)


def test_a_record_of_a_newer_steelyard_is_refused(tmp_path: Path) -> None:
    Record(tmp_path).write("plan.json", {"format": 999})
    with pytest.raises(RecordError, match="newer Steelyard"):
        Record.open(tmp_path)


def test_a_disk_that_takes_no_more_is_said_with_what_is_kept(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.append("slices.jsonl", {"n": 1})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))  # for a file, as a full disk for all
    try:
        with pytest.raises(RecordError, match="could not append") as failure:
            record.append("slices.jsonl", {"n": 2})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "--resume" in (failure.value.hint or "")
    assert [line["n"] for line in record.lines("slices.jsonl")] == [1]


def test_a_folder_that_holds_something_else_is_no_place_for_a_record(tmp_path: Path) -> None:
    (tmp_path / "backup").mkdir()
    with pytest.raises(RecordError, match="something else") as refused:
        Record.create(tmp_path, "aa")
    assert "--record DIR" in (refused.value.hint or "")
    assert [one.name for one in tmp_path.iterdir()] == ["backup"]


def test_a_weighing_that_was_stopped_before_its_plan_says_how_it_is_begun_anew(
    tmp_path: Path,
) -> None:
    Record(tmp_path).write("study.toml", "")
    with pytest.raises(RecordError, match="not a record") as refused:
        Record.open(tmp_path)
    assert f"steelyard weigh {tmp_path / 'study.toml'}" in (refused.value.hint or "")


HOLDING = (
    "import sys, time; from pathlib import Path; from steelyard.record.record import Record\n"
    "Record(Path(sys.argv[1])).hold(); print(flush=True); time.sleep(600)\n"
)


def test_one_process_writes_into_a_record_and_a_killed_one_holds_it_no_longer(
    tmp_path: Path,
) -> None:
    holding = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(tmp_path)], stdout=subprocess.PIPE
    )
    assert holding.stdout is not None
    holding.stdout.readline()
    with pytest.raises(RecordError, match="record is in use") as refused:
        Record(tmp_path).hold()
    assert "type the command again" in (refused.value.hint or "")
    holding.kill()
    holding.wait()
    record = Record(tmp_path)
    record.hold()
    record.close()
    again = Record(tmp_path)
    again.hold()
    again.close()
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_made_is_refused_with_what_to_type() -> None:
    with pytest.raises(RecordError, match="could not create the record") as refused:
        Record.create(Path("/proc/nowhere/record"), "aa")
    assert "--record DIR" in (refused.value.hint or "")
