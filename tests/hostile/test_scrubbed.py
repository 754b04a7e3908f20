"""Directories made to mislead or hold up `scrub`: it reads, ends, and says what it has read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from hostile.conftest import SECRET, Call, Ended
from own_cache import own_run
from steelyard.engines.postgres.selection import find_postgres
from thinned import thinned

pytestmark = pytest.mark.postgres

Untouched = Callable[..., AbstractContextManager[None]]
LIMIT_S = 60
"""Far more than a scrub of 30 MB takes, and far less than what has no end."""
TERABYTE = 1 << 40


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """A cluster that was made and never started."""
    with own_run() as run, pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEELYARD_CACHE", str(run.directory.parent.parent))
        slot = run.slot(1)
        yield find_postgres("18").create(slot.path / "made", protection="checksums").directory


@pytest.fixture
def directory(made: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may spoil."""
    copy = tmp_path / "directory"
    shutil.copytree(made, copy)
    return copy


@pytest.fixture
def scrub(steelyard: Call, directory: Path) -> Callable[..., Ended]:
    def call(*options: str) -> Ended:
        return steelyard("scrub", str(directory), *options, limit_s=LIMIT_S)

    return call


def sparse(path: Path, size: int = TERABYTE) -> None:
    """A file of zeroes that takes no room."""
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        file.truncate(size)


def home(directory: Path) -> Path:
    return directory / "base/1"


@pytest.mark.long
def test_the_copy_is_sound(scrub: Callable[..., Ended], directory: Path) -> None:
    ended = scrub()
    assert (ended.status, "no damage found" in ended.output) == (0, True), ended.output


def test_a_link_to_a_file_outside_is_named_and_nothing_of_its_content_is_shown(
    scrub: Callable[..., Ended], directory: Path, victim: Path, untouched: Untouched
) -> None:
    """docs/reference/scrub.md: links are followed, and named."""
    (home(directory) / "99999").symlink_to(victim)
    with untouched(directory, victim):
        ended = scrub()
    assert ended.status == 1
    assert "note: symbolic links were followed: base/1/99999" in ended.output
    assert SECRET not in ended.output


@thinned("name", ["base/1/99999", "base/1", "base/77", "pg_tblspc/1"], 1)
def test_links_in_circles_end(scrub: Callable[..., Ended], directory: Path, name: str) -> None:
    """SAFETY.md: it opens files for reading and nothing else."""
    place = directory / name
    if place.is_dir():
        shutil.rmtree(place)
    place.symlink_to(place.name)
    ended = scrub()
    assert ended.status in (1, 3)
    assert name in ended.output


@thinned(
    ("name", "status"),
    [
        ("base/1/99999", 0),
        ("base/1/pg_filenode.map", 1),
        ("base/99999", 0),
        ("pg_xact/0000", 0),
        ("global/pg_filenode.map", 1),
        ("PG_VERSION", 2),
        ("global/pg_control", 2),
        ("postmaster.pid", 2),
        ("backup_label", 0),
        ("ibdata1", 0),
    ],
    3,
)
def test_a_pipe_in_place_of_a_file_blocks_nothing(
    scrub: Callable[..., Ended], directory: Path, name: str, status: int
) -> None:
    """SAFETY.md: a scrub takes no lock and waits for nothing."""
    place = directory / name
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    ended = scrub()
    assert ended.status == status, ended.output
    assert "Traceback" not in ended.output


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make devices")
@thinned("name", ["base/1/99999", "PG_VERSION", "global/pg_filenode.map"], 1)
def test_a_device_is_not_read(scrub: Callable[..., Ended], directory: Path, name: str) -> None:
    """docs/reference/scrub.md: what is no regular file is not opened as one."""
    place = directory / name
    place.unlink(missing_ok=True)
    try:
        os.mknod(place, 0o20666, os.makedev(1, 5))  # /dev/zero, without end
    except PermissionError:
        pytest.skip("devices cannot be made here")
    ended = scrub()
    assert ended.status in (0, 1, 2)
    assert "not a regular file" in ended.output


@thinned("name", ["base/1/1259", "PG_VERSION", "backup_manifest", "postmaster.pid"], 1)
def test_a_file_of_a_terabyte_of_nothing_ends(
    scrub: Callable[..., Ended], directory: Path, name: str
) -> None:
    """docs/reference/scrub.md: a segment ends after a gigabyte, and what goes on is not read."""
    sparse(directory / name)
    if name == "backup_manifest":
        ended = scrub("--base-backup")
        assert ended.status == 0
    else:
        ended = scrub()
        assert ended.status in (1, 2)
    assert "Traceback" not in ended.output
    if name == "base/1/1259":
        assert f"it has {TERABYTE} bytes, and a segment 1073741824" in ended.output


@thinned(
    "name", ["\x1b[31mred", "line\nbreak", "\x9b2J", "right\u202eleft", "bell\x07", "\udcff"], 2
)
def test_names_do_nothing_to_a_terminal(
    scrub: Callable[..., Ended], directory: Path, name: str
) -> None:
    """docs/reference/scrub.md: control characters of names are shown escaped."""
    (home(directory) / name).write_bytes(b"")
    ended = scrub()
    assert ended.status == 0
    [line] = [line for line in ended.output.split("\n") if line.startswith("skipped: ")]
    assert not any(sign in ended.output for sign in "\x1b\x9b\u202e\x07")
    assert line.endswith("not the name of a relation file")
    assert json.loads(scrub("--json").output)["skipped"]


@thinned(
    "manifest",
    [
        "[" * 100_000,
        '{"WAL-Ranges": [{"Start-LSN": "0/0"}], "Files": 7}',
        '{"Files": [{"Path": "../../../../etc/passwd", "Size": 1e999}]}',
        "null",
    ],
    1,
    ids=["deep", "no list", "infinite", "null"],
)
def test_a_manifest_that_is_none_is_left_out(
    scrub: Callable[..., Ended], directory: Path, manifest: str
) -> None:
    """docs/reference/scrub.md: a manifest counts where it is that of this very backup."""
    (directory / "backup_manifest").write_text(manifest)
    ended = scrub("--base-backup")
    assert ended.status == 0
    assert "no backup_manifest" in ended.output


def test_what_stands_in_catalogues_is_shown_escaped_and_leads_nowhere(
    scrub: Callable[..., Ended], directory: Path, untouched: Untouched
) -> None:
    """SAFETY.md: it opens files for reading and nothing else."""
    for file in (directory / "global").glob("1262"):
        content = file.read_bytes()
        assert content.count(b"template0" + bytes(55)) >= 1
        spoilt = content.replace(b"template0", b"\x1b[2J/../.")
        file.write_bytes(spoilt)
    with untouched(directory):
        ended = scrub()
    assert ended.status == 1
    assert "\x1b" not in ended.output


def test_a_tablespace_of_another_version_alone_is_named_as_not_read(
    scrub: Callable[..., Ended], directory: Path, open_home: Path
) -> None:
    """docs/reference/scrub.md: a tablespace without this version's directory gives status 3."""
    place = open_home / "space"
    (place / "PG_12_201909212/1").mkdir(parents=True)
    (place / "PG_12_201909212/1/1259").write_bytes(b"x" * 5)
    (directory / "pg_tblspc/16400").symlink_to(place)
    ended = scrub()
    assert ended.status == 3
    assert "not read: pg_tblspc/16400/PG_18" in ended.output


@pytest.mark.long
def test_a_tablespace_that_leads_back_into_the_directory_is_read_once(
    scrub: Callable[..., Ended], directory: Path
) -> None:
    """docs/reference/scrub.md: every page is read, once."""
    version = json.loads(scrub("--json").output)
    loop = directory / "loop"
    loop.mkdir()
    catalogue = subprocess.run(
        ["od", "-An", "-td4", "-j12", "-N4", directory / "global/pg_control"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    (loop / f"PG_18_{catalogue}").symlink_to(directory / "base")
    (directory / "pg_tblspc/16400").symlink_to(loop)
    ended = json.loads(scrub("--json").output)
    assert ended["blocks"] == version["blocks"]
