"""What stands in the place of a file that a cluster names, and is none or only its beginning."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from integrity.made_files import empty_page, mapped_cluster_at, relation_map
from steelyard.cli.views.scrubbed import render
from steelyard.integrity.scrub.outcome import ScrubOutcome, ScrubRequest
from steelyard.integrity.scrub.scrub import scrub

CATALOGUE = "base/5/16500"
COMMITS = "pg_xact/0000"


def scrubbed(path: Path) -> ScrubOutcome:
    return scrub(ScrubRequest(path, max_rate=0.0), lambda *_: None)


def reasons(outcome: ScrubOutcome) -> list[tuple[str, str]]:
    return [(finding.path, finding.reason) for finding in outcome.bad]


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_is_missing_where_the_cluster_names_one(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    data = mapped_cluster_at(tmp_path / "data")
    (data / "base/5/pg_filenode.map").write_bytes(relation_map((1259, 16500)))
    (data / CATALOGUE).write_bytes(empty_page())
    assert scrubbed(data).exit_status == 0
    (data / CATALOGUE).unlink()
    make(data / CATALOGUE)
    outcome = scrubbed(data)
    assert (reasons(outcome), outcome.exit_status) == ([(CATALOGUE, "missing file")], 1)
    assert outcome.skipped == ((CATALOGUE, "not a regular file"),)


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """With a manifest."""
    data = mapped_cluster_at(tmp_path / "data")
    label = "START WAL LOCATION: 0/2000028 (file 000000010000000000000002)\n"
    (data / "backup_label").write_text(label, encoding="utf-8")
    (data / COMMITS).write_bytes(bytes(8192))
    files = [path for path in sorted(data.rglob("*")) if path.is_file()]
    entries = [{"Path": str(p.relative_to(data)), "Size": p.stat().st_size} for p in files]
    ranges = [{"Timeline": 1, "Start-LSN": "0/2000028", "End-LSN": "0/2000100"}]
    manifest = json.dumps({"Files": entries, "WAL-Ranges": ranges})
    (data / "backup_manifest").write_text(manifest, encoding="utf-8")
    return data


@pytest.mark.parametrize("left", [0, 100, 8191])
def test_a_file_without_pages_is_as_long_as_the_manifest_says(left: int, backup: Path) -> None:
    """As after a copy that was interrupted, or onto a full disk."""
    assert scrubbed(backup).exit_status == 0
    os.truncate(backup / COMMITS, left)
    outcome = scrubbed(backup)
    assert (reasons(outcome), outcome.exit_status) == ([(COMMITS, "cut off")], 1)
    assert outcome.bad[0].guess_detail.endswith(f"of which {8192 - left} are missing")
    assert (outcome.bad_blocks, outcome.bad_files) == (0, 1)
    words = render(outcome)
    assert f"{COMMITS}: the end of the file is missing" in words
    assert "restore the file from a backup" in words


def test_a_longer_file_and_a_map_that_is_cut_off_are_called_as_before(backup: Path) -> None:
    with (backup / COMMITS).open("ab") as file:
        file.write(b"more")
    os.truncate(backup / "base/5/pg_filenode.map", 100)
    assert reasons(scrubbed(backup)) == [("base/5/pg_filenode.map", "relation map")]


def test_a_directory_in_the_place_of_a_listed_file_is_a_missing_one(backup: Path) -> None:
    (backup / COMMITS).unlink()
    (backup / COMMITS).mkdir()
    assert reasons(scrubbed(backup)) == [(COMMITS, "missing file")]
