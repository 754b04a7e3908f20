"""Records from elsewhere are taken when they arrived as they were and their verdict follows from
what was measured; whatever else is named, and nothing of the source is changed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from records.conftest import unpack
from steelyard.fleet.collecting import MANIFEST, Collected, collect
from steelyard.history.index import read_history
from steelyard.model.errors import RecordError

RECORD = "checksums/2026-03-01T120000Z"


def files(folder: Path) -> dict[str, bytes]:
    return {
        one.relative_to(folder).as_posix(): one.read_bytes()
        for one in sorted(folder.rglob("*"))
        if one.is_file()
    }


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
    told = json.loads((Path(place) / MANIFEST).read_text())
    assert "slices.jsonl" in told["files"]
    assert len(read_history(ours).entries) == 1
    again = collect([theirs], ours)
    assert again == Collected(known=found.taken)
    assert [one.name for one in (ours / "fleet").iterdir() if one.name.startswith(".")] == []


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


def test_another_record_in_its_place_is_never_overwritten(theirs: Path, tmp_path: Path) -> None:
    ours = tmp_path / "records"
    [(_, place)] = collect([theirs], ours).taken
    (theirs / RECORD / "note.txt").write_text("longer by this")
    before = files(ours)
    found = collect([theirs], ours)
    assert [why for _, why in found.refused] == [f"another record stands at {place}"]
    assert files(ours) == before


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_folder_without_records_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecordError, match=r"no (folder of records|record below)"):
        collect([tmp_path / name], tmp_path / "records")
