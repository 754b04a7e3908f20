"""What a scrub read elsewhere than below the directory that was named is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from integrity.made_files import empty_page, mapped_cluster_at
from steelyard.integrity.scrub.outcome import ScrubRequest
from steelyard.integrity.scrub.scrub import scrub

VERSION = "PG_18_202506291"
LABEL = "START WAL LOCATION: 0/2000028 (file 000000010000000000000002)\n"
DAMAGED = b"\xff" * 8192


def notes_of(data: Path) -> tuple[list[str], list[str]]:
    """Notes on links, and the files with damage."""
    outcome = scrub(ScrubRequest(data, max_rate=0.0), lambda *_: None)
    notes = [note for note in outcome.notes if "link" in note]
    return notes, [finding.path for finding in outcome.bad]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    made = mapped_cluster_at(tmp_path / "data")
    space = tmp_path / f"original/space/{VERSION}/5"
    space.mkdir(parents=True)
    (space / "16500").write_bytes(DAMAGED)
    return made


@pytest.mark.parametrize("copy", ["base backup", "stopped"])
def test_a_copy_says_that_its_tablespaces_may_be_the_originals(
    copy: str, data: Path, tmp_path: Path
) -> None:
    assert notes_of(data) == ([], [])
    if copy == "base backup":
        (data / "backup_label").write_text(LABEL, encoding="utf-8")
    (data / "pg_tblspc/16400").symlink_to(tmp_path / "original/space")
    [note], bad = notes_of(data)
    assert bad == [f"pg_tblspc/16400/{VERSION}/5/16500"]
    assert f"lead, pg_tblspc/16400 to {tmp_path.resolve()}/original/space: of a copy" in note


def test_a_tablespace_in_its_place_is_no_link(data: Path) -> None:
    home = data / f"pg_tblspc/16400/{VERSION}/5"
    home.mkdir(parents=True)
    (home / "16500").write_bytes(empty_page())
    assert notes_of(data) == ([], [])


def test_relation_files_and_databases_that_are_links_are_named(data: Path, tmp_path: Path) -> None:
    (data / "base/5/16390").symlink_to(tmp_path / f"original/space/{VERSION}/5/16500")
    (data / "base/7").symlink_to(tmp_path / f"original/space/{VERSION}/5")
    [note], bad = notes_of(data)
    assert note == "symbolic links were followed: base/5/16390, base/7"
    assert bad[:2] == ["base/5/16390", "base/7/16500"]
