"""Archives are held to what the same backup is held to as a directory: maps, and its manifest."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from integrity.made_files import mapped_cluster_at, relation_map
from steelyard.cli.views.scrubbed import render
from steelyard.integrity.scrub.outcome import ScrubOutcome, ScrubRequest
from steelyard.integrity.scrub.scrub import scrub

LABEL = "START WAL LOCATION: 0/2000028 (file 000000010000000000000002)\n"
MAP = "pg_filenode.map"
NOT_SEEN = "not seen: relation files that are missing: there is no backup_manifest"


def scrubbed(path: Path) -> ScrubOutcome:
    return scrub(ScrubRequest(path, max_rate=0.0), lambda *_: None)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A base backup as a directory."""
    made = mapped_cluster_at(tmp_path / "data")
    (made / "backup_label").write_text(LABEL, encoding="utf-8")
    (made / "pg_xact/0000").write_bytes(bytes(8192))
    return made


def listed(data: Path, start: str = "0/2000028") -> str:
    """Its manifest."""
    files = [p for p in sorted(data.rglob("*")) if p.is_file()]
    entries = [{"Path": str(p.relative_to(data)), "Size": p.stat().st_size} for p in files]
    ranges = [{"Timeline": 1, "Start-LSN": start, "End-LSN": "0/2000100"}]
    return json.dumps({"Files": entries, "WAL-Ranges": ranges})


def packed(data: Path, suffix: str = "tar") -> Path:
    """The same as an archive, alone in a directory."""
    place = data.parent / "backup"
    place.mkdir(exist_ok=True)
    with tarfile.open(place / f"base.{suffix}", "w:gz" if suffix != "tar" else "w") as opened:
        for path in sorted(data.rglob("*")):
            opened.add(path, str(path.relative_to(data)), recursive=False)
    return place


@pytest.mark.parametrize("suffix", ["tar", "tar.gz"])
@pytest.mark.parametrize("home", ["global", "base/5"])
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (bytes(524), "it does not begin with the magic number"),
        (relation_map((1259, 1))[:100], "it is cut off: 100 of 524 bytes are there"),
        (relation_map((1259, 1))[:-1] + b"?", "is stored"),
    ],
)
def test_a_map_that_the_server_would_refuse_is_damage_in_an_archive_too(
    content: bytes, why: str, home: str, suffix: str, data: Path
) -> None:
    assert scrubbed(packed(data, suffix)).exit_status == 0
    (data / home / MAP).write_bytes(content)
    for path in (data, packed(data, suffix)):
        outcome = scrubbed(path)
        assert [(f.path, f.reason) for f in outcome.bad] == [(f"{home}/{MAP}", "relation map")]
        assert why in outcome.bad[0].guess_detail
        assert (outcome.bad_files, outcome.exit_status) == (1, 1)
        cannot = "the server cannot start" if home == "global" else "the database cannot open"
        assert cannot in render(outcome)


@pytest.mark.parametrize("name", [f"base/5/{MAP}", "base/5/16384", "pg_xact/0000"])
def test_what_a_manifest_lists_and_an_archive_lacks_is_not_read(name: str, data: Path) -> None:
    manifest = listed(data)
    (data / name).unlink()
    place = packed(data)
    (place / "backup_manifest").write_text(manifest, encoding="utf-8")
    outcome = scrubbed(place)
    assert [label for label, _ in outcome.denied] == [name]
    assert (outcome.bad, outcome.exit_status) == ((), 3)
    assert not any(note.startswith(NOT_SEEN) for note in outcome.notes)


def test_without_a_manifest_of_this_backup_an_archive_says_what_is_not_seen(data: Path) -> None:
    place = packed(data)
    for manifest, known in ((None, False), ("0/2000028", True), ("0/1000028", False)):
        if manifest is not None:
            (place / "backup_manifest").write_text(listed(data, manifest), encoding="utf-8")
        outcome = scrubbed(place)
        assert (outcome.denied, outcome.exit_status) == ((), 0)
        assert any(note.startswith(NOT_SEEN) for note in outcome.notes) is not known
