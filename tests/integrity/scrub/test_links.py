"""What a scrub read elsewhere than below the directory that was named is said, and what it could
not, because the link that leads there is lost."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from integrity.made_files import control_file, empty_page, mapped_cluster_at, relation_map
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


def page_of_names(names: dict[int, str], page_bytes: int = 8192) -> bytes:
    """A page of pg_tablespace: rows that were frozen, with OID and name."""
    page, upper = bytearray(empty_page(page_bytes)), page_bytes
    for number, (oid, name) in enumerate(names.items()):
        row = struct.pack("<II4x6xHHBx", 2, 0, 1, 0x0B00, 24)
        row += struct.pack("<I64sI12x", oid, name.encode(), 10)
        upper -= len(row)
        page[upper : upper + len(row)] = row
        struct.pack_into("<I", page, 24 + 4 * number, upper | 1 << 15 | len(row) << 17)
    struct.pack_into("<HH", page, 12, 24 + 4 * len(names), upper)
    return bytes(page)


CRASHED, STOPPED, STANDBY = 6, 1, 2


@pytest.mark.parametrize(
    ("state", "copy", "lost"),
    [
        (CRASHED, "snapshot", True),
        (CRASHED, "of a server that ran", True),
        (STANDBY, "snapshot", True),
        (STOPPED, "base backup", True),
        (CRASHED, "linked", False),
        (CRASHED, "within", False),
        (CRASHED, "dangling", False),  # the walk says it
        (STOPPED, "base backup with a map", False),  # the map of the backup says it
        (STOPPED, "at rest", False),  # pg_class says what is missing
    ],
)
def test_a_tablespace_whose_link_was_lost_in_a_copy_is_not_read(
    state: int, copy: str, lost: bool, data: Path, tmp_path: Path
) -> None:
    (data / "global/pg_control").write_bytes(control_file(state=state))
    (data / "global/pg_filenode.map").write_bytes(relation_map((1213, 1213)))
    names = {1663: "pg_default", 1664: "pg_global", 16400: "fast"}
    (data / "global/1213").write_bytes(page_of_names(names))
    place = data / "pg_tblspc/16400"
    if copy == "linked":
        place.symlink_to(tmp_path / "original/space")
        (tmp_path / f"original/space/{VERSION}/5/16500").write_bytes(empty_page())
    elif copy == "within":
        (place / VERSION).mkdir(parents=True)
    elif copy == "dangling":
        place.symlink_to(tmp_path / "not mounted")
    elif copy.startswith("base backup"):
        (data / "backup_label").write_text(LABEL, encoding="utf-8")
        if copy.endswith("map"):
            (data / "tablespace_map").write_text("16400 /fast\n", encoding="utf-8")
    elif copy == "of a server that ran":
        (data / "postmaster.pid").write_text(f"4194304\n{data}\n4000000000\n", encoding="utf-8")
    outcome = scrub(ScrubRequest(data, max_rate=0.0, gaps_s=(0.01,)), lambda *_: None)
    reasons = [reason for label, reason in outcome.denied if label == "pg_tblspc/16400"]
    by_catalogue = [reason for reason in reasons if 'pg_tablespace names it, "fast"' in reason]
    assert (outcome.bad, len(by_catalogue), len(reasons) > 1) == ((), int(lost), False)
    if lost:
        assert outcome.exit_status == 3
