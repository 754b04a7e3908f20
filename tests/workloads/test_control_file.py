"""Checksums are switched by the control file alone, exactly as PostgreSQL's own program does."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard._core import page_checksum, read_control, set_checksum_version
from steelyard.engines.postgres.postgres import Postgres

Call = Callable[..., str]

CONTROL = "global/pg_control"
PAGE = 8192

pytestmark = pytest.mark.postgres


def contents(directory: Path) -> dict[str, bytes]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def differing(first: Path, second: Path) -> list[str]:
    a, b = contents(first), contents(second)
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))


@pytest.mark.long
def test_a_control_file_reads_as_pg_controldata_prints_it(
    engine: Postgres, loaded: Path, call: Call
) -> None:
    words = call(engine, "pg_controldata", str(loaded))
    printed = dict(line.split(":", 1) for line in words.splitlines() if ":" in line)
    control = read_control(loaded / CONTROL)
    for name, value in (
        ("pg_control version number", control["pg_control_version"]),
        ("Catalog version number", control["catalog_version"]),
        ("Database system identifier", control["system_identifier"]),
        ("Database cluster state", control["state"]),
        ("Latest checkpoint's TimeLineID", control["timeline"]),
        ("wal_log_hints setting", "on" if control["wal_log_hints"] else "off"),
        ("Database block size", control["block_size"]),
        ("Blocks per segment of large relation", control["segment_blocks"]),
        ("Bytes per WAL segment", control["wal_segment_size"]),
        ("Data page checksum version", control["checksum_version"]),
    ):
        assert printed[name].strip() == str(value), name
    assert control["crc_ok"]


@pytest.mark.long
def test_switching_gives_byte_for_byte_what_pg_checksums_gives(
    engine: Postgres, loaded: Path, place: Path, call: Call
) -> None:
    ours = engine.open(loaded).clone(place / "ours").directory
    theirs = engine.open(loaded).clone(place / "theirs").directory
    assert differing(ours, theirs) == []
    for version, option in ((0, "--disable"), (1, "--enable")):
        call(engine, "pg_checksums", option, "--pgdata", str(theirs))
        # pg_checksums stamps the present time, which is given here: all else must be the same.
        stamp = read_control(theirs / CONTROL)["time"]
        set_checksum_version(ours / CONTROL, version, stamp)
        assert read_control(ours / CONTROL)["checksum_version"] == version
        assert differing(ours, theirs) == []


@pytest.mark.long
def test_switching_off_and_on_again_leaves_no_trace(
    engine: Postgres, loaded: Path, place: Path, call: Call
) -> None:
    clone = engine.open(loaded).clone(place / "clone")
    clone.protect("none")
    assert differing(loaded, clone.directory) == [CONTROL]
    assert "version: " in (words := call(engine, "pg_controldata", str(clone.directory)))
    assert "WARNING" not in words  # pg_controldata warns of a wrong CRC
    clone.protect("checksums")
    assert differing(loaded, clone.directory) == []
    call(engine, "pg_checksums", "--check", "--pgdata", str(clone.directory))


@pytest.mark.long
def test_a_server_starts_on_a_switched_clone_and_reports_checksums_off(
    engine: Postgres, loaded: Path, place: Path, serve: object
) -> None:
    clone = engine.open(loaded).clone(place / "clone")
    clone.protect("none")
    with serve(clone):  # type: ignore[operator]
        assert clone.settings()["data_checksums"] == "off"


def test_a_damaged_control_file_is_refused_and_left_alone(
    engine: Postgres, loaded: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "pg_control"
    shutil.copy(loaded / CONTROL, copy)
    damaged = bytearray(copy.read_bytes())
    damaged[100] ^= 4
    copy.write_bytes(damaged)
    assert not read_control(copy)["crc_ok"]
    with pytest.raises(ValueError, match="wrong CRC"):
        set_checksum_version(copy, 0)
    assert copy.read_bytes() == damaged


def test_page_checksums_are_those_the_server_wrote(engine: Postgres, loaded: Path) -> None:
    checked = 0
    for path in sorted((loaded / "base").glob("*/[0-9]*")):
        data = path.read_bytes()
        for block in range(len(data) // PAGE):
            page = data[block * PAGE : (block + 1) * PAGE]
            if page[14:16] != b"\0\0":  # pd_upper is 0 in a page that was never used
                stored = int.from_bytes(page[8:10], "little")
                assert page_checksum(page, block) == stored, (path.name, block)
                checked += 1
    assert checked > 2_000
