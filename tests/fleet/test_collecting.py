"""Records from elsewhere are taken when they arrived as they were and their verdict follows from
what was measured; whatever else is named, and nothing of the source is changed."""

from __future__ import annotations

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from history.made import change, close_folder
from records.conftest import unpack
from steelyard.fleet import collecting
from steelyard.fleet.collecting import Collected, collect
from steelyard.history.entry import Entry
from steelyard.history.index import read_history
from steelyard.history.reading import COLLECTED
from steelyard.model.errors import RecordError

RECORD = "checksums/2026-03-01T120000Z"


def files(folder: Path) -> dict[str, bytes]:
    return {
        one.relative_to(folder).as_posix(): one.read_bytes()
        for one in sorted(folder.rglob("*"))
        if one.is_file()
    }


def the_entry(records: Path) -> Entry:
    [entry] = read_history(records).entries
    return entry


def test_a_folder_that_cannot_be_listed_is_named(
    theirs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (theirs / "roots").mkdir()
    close_folder(theirs / "roots", monkeypatch)
    why = "could not read this folder: permission denied"
    collected = collect([theirs], tmp_path / "records")
    assert len(collected.taken) == 1
    assert collected.skipped == ((str(theirs / "roots"), why),)
    shutil.rmtree(theirs / "checksums")
    with pytest.raises(RecordError, match="no record below") as refused:
        collect([theirs], tmp_path / "records")
    assert f'"{theirs / "roots"}": {why}' in str(refused.value)


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A folder with one kept record, whose verdict follows from it."""
    (tmp_path / "theirs" / "checksums").mkdir(parents=True)
    unpack("settings", tmp_path).rename(tmp_path / "theirs" / RECORD)
    return tmp_path / "theirs"


def test_a_record_is_copied_to_its_host_and_listed_there(theirs: Path, tmp_path: Path) -> None:
    before, ours = files(theirs), tmp_path / "records"
    found = collect([theirs], ours)
    assert files(theirs) == before
    [(_, place)] = found.taken
    assert Path(place).is_relative_to(ours / "fleet")
    assert Path(place).parent.name == "settings"
    told = json.loads((Path(place) / COLLECTED).read_text())
    assert "slices.jsonl" in told["files"]
    entry = the_entry(ours)
    assert (entry.at, entry.kind) == ("2026-03-01T120000Z", "")
    again = collect([theirs], ours)
    assert again == Collected(known=found.taken)
    assert [one.name for one in (ours / "fleet").iterdir() if one.name.startswith(".")] == []


def test_it_is_known_again_whatever_folder_it_comes_in(theirs: Path, tmp_path: Path) -> None:
    ours = tmp_path / "records"
    [(_, place)] = collect([theirs], ours).taken
    elsewhere = tmp_path / ".hidden" / "artefacts" / "record"
    shutil.copytree(theirs / RECORD, elsewhere)
    assert collect([elsewhere], ours).known == ((str(elsewhere), place),)
    assert collect([ours], ours).known == ((place, place),)
    assert len(read_history(ours).entries) == 1


def test_a_weighing_of_ones_own_that_comes_back_is_known(theirs: Path, tmp_path: Path) -> None:
    """As through a folder that several share; it would count once more, as that of another host."""
    ours = tmp_path / "records"
    shutil.copytree(theirs, ours)
    place = str(ours / RECORD)
    assert collect([theirs], ours).known == ((str(theirs / RECORD), place),)
    assert collect([ours], ours, {ours: "small"}).known == ((place, place),)
    somebody = tmp_path / "somebody"
    collect([theirs], somebody, {theirs: "small"})
    [(_, known)] = collect([somebody], ours).known
    assert known == place
    assert [one.path for one in read_history(ours).entries] == [RECORD]
    change(theirs / RECORD / "verdict.json", lambda said: {**said, "command": "another"})
    assert collect([theirs], ours).refused == (
        (str(theirs / RECORD), f"another record of this weighing stands at {place}"),
    )


def test_two_weighings_of_one_name_are_both_taken(theirs: Path, tmp_path: Path) -> None:
    """As those of two matrices are, whose cells have the same names."""
    ours, home = tmp_path / "records", tmp_path / "home" / "aa-any-1"
    (theirs / RECORD).rename(tmp_path / "first")
    shutil.copytree(tmp_path / "first", home)
    assert len(collect([home], ours).taken) == 1
    plan = json.loads((home / "plan.json").read_text())
    (home / "plan.json").write_text(json.dumps({**plan, "at": "2026-05-05T050505Z"}))
    found = collect([home], ours)
    assert (len(found.taken), found.refused) == (1, ())
    assert len(read_history(ours).entries) == 2


def test_a_record_keeps_its_time_where_no_folder_has_it(theirs: Path, tmp_path: Path) -> None:
    plain = tmp_path / "artefact"
    (theirs / RECORD).rename(plain)
    os.utime(plain / "plan.json", (1_700_000_000, 1_700_000_000))
    [(_, place)] = collect([plain], tmp_path / "records").taken
    assert Path(place).name.startswith("2023-11-14T221320Z-")
    assert the_entry(tmp_path / "records").at == "2023-11-14T221320Z"
    assert (Path(place) / "plan.json").stat().st_mtime == 1_700_000_000


def test_the_kind_of_its_host_is_kept_with_it(theirs: Path, tmp_path: Path) -> None:
    ours = tmp_path / "records"
    [(_, place)] = collect([theirs], ours, {theirs: "small"}).taken
    assert the_entry(ours).kind == "small"
    note = Path(place) / COLLECTED
    note.write_text("[]")
    assert [one.path for one in read_history(ours).unread] == [
        Path(place).relative_to(ours).as_posix()
    ]


def test_a_record_keeps_its_kind_where_it_is_collected_again(theirs: Path, tmp_path: Path) -> None:
    """As from a folder of records that somebody else has collected."""
    collect([theirs], tmp_path / "first", {theirs: "small"})
    collect([tmp_path / "first"], tmp_path / "second")
    assert the_entry(tmp_path / "second").kind == "small"
    first = tmp_path / "first"
    collect([first], tmp_path / "third", {first: "large"})
    assert the_entry(tmp_path / "third").kind == "large", "what is said now"


@pytest.mark.parametrize(
    ("kind", "later", "said"),
    [
        ("small", "large", 'of kind "small", not "large"'),
        ("", "large", 'without a kind, not "large"'),
    ],
)
def test_a_kind_that_contradicts_what_stands_is_refused(
    theirs: Path, tmp_path: Path, kind: str, later: str, said: str
) -> None:
    """As known it would be shown among hosts of another kind than was said."""
    ours = tmp_path / "records"
    [(_, place)] = collect([theirs], ours, {theirs: kind}).taken
    [(_, why)] = collect([theirs], ours, {theirs: later}).refused
    assert why == f"it stands at {place} {said}: remove it there to take it anew"
    assert the_entry(ours).kind == kind
    assert len(collect([theirs], ours, {theirs: kind}).known) == 1
    assert len(collect([theirs], ours).known) == 1
    shutil.rmtree(place)
    assert len(collect([theirs], ours, {theirs: later}).taken) == 1


def test_its_page_is_made_here(theirs: Path, tmp_path: Path) -> None:
    (theirs / RECORD / "report.html").write_text("<script>alert(1)</script>")
    [(_, place)] = collect([theirs], tmp_path / "records").taken
    page = (Path(place) / "report.html").read_text()
    assert "<script" not in page
    assert "Content-Security-Policy" in page
    assert "report.html" not in json.loads((Path(place) / COLLECTED).read_text())["files"]


def test_what_is_being_weighed_is_left_until_it_is_finished(theirs: Path, tmp_path: Path) -> None:
    ours = tmp_path / "records"
    verdict = (theirs / RECORD / "verdict.json").read_text()
    (theirs / RECORD / "verdict.json").unlink()
    found = collect([theirs], ours)
    assert (found.taken, found.refused) == ((), ())
    [(where, why)] = found.skipped
    assert where.endswith(RECORD)
    assert why.startswith("it has no verdict")
    assert not (ours / "fleet").exists()
    (theirs / RECORD / "verdict.json").write_text(verdict)
    assert len(collect([theirs], ours).taken) == 1


def test_what_others_collect_at_the_same_time_is_left_alone_and_not_listed(
    theirs: Path, tmp_path: Path
) -> None:
    ours = tmp_path / "records"
    others = ours / "fleet" / ".incoming-of-another" / "0" / "record"
    others.parent.mkdir(parents=True)
    shutil.copytree(theirs / RECORD, others)
    collect([theirs], ours)
    assert (others / "verdict.json").is_file()
    assert len(read_history(ours).entries) == 1
    assert len(collect([ours], tmp_path / "more").taken) == 1


def test_two_that_collect_the_same_take_it_once(theirs: Path, tmp_path: Path) -> None:
    ours = tmp_path / "records"
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: collect([theirs], ours), range(2)))
    assert sum(len(one.taken) for one in found) == 1
    assert sum(len(one.known) for one in found) == 1
    assert len(read_history(ours).entries) == 1


def test_one_that_is_faster_leaves_a_record_that_is_known(
    theirs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, pages = tmp_path / "records", collecting._write_pages

    def collected_meanwhile(*arguments: object) -> None:
        monkeypatch.setattr(collecting, "_write_pages", pages)
        collect([theirs], ours)

    monkeypatch.setattr(collecting, "_write_pages", collected_meanwhile)
    assert len(collect([theirs], ours).known) == 1


def test_an_altered_record_is_refused_and_the_others_are_taken(
    theirs: Path, tmp_path: Path
) -> None:
    bad = theirs / "checksums" / "2026-03-02T120000Z"
    shutil.copytree(theirs / RECORD, bad)
    verdict = json.loads((bad / "verdict.json").read_text())
    verdict["contrasts"][0]["estimate_percent"] += 1
    (bad / "verdict.json").write_text(json.dumps(verdict))
    found = collect([theirs], tmp_path / "records")
    assert len(found.taken) == 1
    [(where, why)] = found.refused
    assert where.endswith("2026-03-02T120000Z")
    assert "does not follow from what was measured" in why


@pytest.mark.parametrize("how", ["changed", "vanished", "removed"])
def test_a_record_that_is_changed_or_removed_meanwhile_is_refused_and_the_others_are_taken(
    theirs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    bad = theirs / "checksums" / "2026-02-01T120000Z"  # found first
    shutil.copytree(theirs / RECORD, bad)
    copy = shutil.copyfile

    def meddle(file: Path, to: Path) -> None:
        if bad in file.parents and how == "vanished":
            (bad / "verdict.json").unlink(missing_ok=True)
        if bad in file.parents and how == "removed":
            shutil.rmtree(bad)
        copy(file, to)
        if file == bad / "slices.jsonl" and how == "changed":
            file.write_text("")

    monkeypatch.setattr(shutil, "copyfile", meddle)
    ours = tmp_path / "records"
    found = collect([theirs], ours)
    [(where, why)] = found.refused
    assert where == str(bad)
    assert "changed while it was copied" in why if how == "changed" else "No such file" in why
    assert [one for one, _ in found.taken] == [str(theirs / RECORD)]
    assert not list((ours / "fleet").glob(".incoming*"))


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ("[1]", "AttributeError"),
        ('{"type": "epoch", "host": {}, "arms": {"x": {"parts": [{}]}}}', "KeyError"),
        ('{"type": "epoch", "host": {}, "arms": {"x": {"cpu_ns": "one"}}}', "TypeError"),
    ],
)
def test_a_record_of_another_shape_is_refused_and_the_others_are_taken(
    theirs: Path, tmp_path: Path, odd: str, said: str
) -> None:
    bad = theirs / "checksums" / "2026-02-01T120000Z"  # found first
    shutil.copytree(theirs / RECORD, bad)
    lines = (bad / "telemetry.jsonl").read_text()
    (bad / "telemetry.jsonl").write_text(f"{odd}\n{lines}")
    found = collect([theirs], tmp_path / "records")
    [(where, why)] = found.refused
    assert where == str(bad)
    assert why.startswith(f"record does not hold together: {said}: ")
    assert len(found.taken) == 1


def test_another_record_in_its_place_is_never_overwritten(theirs: Path, tmp_path: Path) -> None:
    ours = tmp_path / "records"
    [(_, place)] = collect([theirs], ours).taken
    (theirs / RECORD / "note.txt").write_text("longer by this")
    before = files(ours / "fleet")
    found = collect([theirs], ours)
    assert [why for _, why in found.refused] == [
        f"another record of this weighing stands at {place}"
    ]
    assert files(ours / "fleet") == before


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_folder_without_records_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecordError, match=r"no (folder of records|record below)"):
        collect([tmp_path / name], tmp_path / "records")
