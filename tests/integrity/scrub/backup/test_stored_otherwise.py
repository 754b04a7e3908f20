"""What stands in a backup's archives otherwise than as plain files is said not to be read."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from integrity.made_files import cluster_at, control_file, empty_page, mapped_cluster_at
from steelyard.integrity.scrub.backup.archive_paths import archives_of
from steelyard.integrity.scrub.outcome import ScrubOutcome, ScrubRequest
from steelyard.integrity.scrub.scrub import scrub
from steelyard.model.errors import UsageError

LABEL = b"START WAL LOCATION: 0/2000028 (file 000000010000000000000002)\n"
SPACE = "PG_18_202506291"
DAMAGED = b"\xff" * 8192
HOLES = 200 * 8192
FORMATS = ("ustar", "gnu", "pax")


def scrubbed(path: Path) -> ScrubOutcome:
    return scrub(ScrubRequest(path, max_rate=0.0), lambda *_: None)


def archive(*members: tarfile.TarInfo | tuple[str, bytes]) -> bytes:
    """A base.tar with a sound relation file, and these."""
    written = io.BytesIO()
    sound = (("backup_label", LABEL), ("PG_VERSION", b"18\n"), ("base/5/16384", empty_page()))
    with tarfile.open(fileobj=written, mode="w", format=tarfile.USTAR_FORMAT) as opened:
        for member in (*sound, *members, ("global/pg_control", control_file())):
            if isinstance(member, tuple):
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                opened.addfile(info, io.BytesIO(member[1]))
            else:
                opened.addfile(member)
    return written.getvalue()


def link(name: str, kind: bytes, to: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, to
    return info


@pytest.mark.parametrize(
    ("name", "denied"),
    [
        ("base/5/16390", True),
        ("base/5/16390_vm.1", True),
        ("global/1262", True),
        ("base/7", True),
        ("pg_tblspc/16400", True),
        ("base/5/notes", False),
        ("base/5/pg_filenode.map", False),
        ("pg_wal", False),
        ("elsewhere/16390", False),
    ],
)
@pytest.mark.parametrize("kind", [tarfile.LNKTYPE, tarfile.SYMTYPE])
def test_a_link_in_the_place_of_pages_is_named(
    kind: bytes, name: str, denied: bool, tmp_path: Path
) -> None:
    (tmp_path / "base.tar").write_bytes(archive(link(name, kind, "base/5/16384")))
    outcome = scrubbed(tmp_path)
    assert [label for label, _ in outcome.denied] == ([name] if denied else [])
    assert (outcome.exit_status, outcome.files) == (3 if denied else 0, 1)


@pytest.mark.parametrize("name", ["base/5/16390", "base/5/16390_vm", "base/5/16390.1"])
def test_a_segment_that_is_not_read_is_not_called_missing_too(name: str, tmp_path: Path) -> None:
    data = mapped_cluster_at(tmp_path / "data")
    (data / "global/pg_control").write_bytes(control_file(segment_blocks=1))
    (data / "base/5/16384").write_bytes(empty_page())
    fork = name.partition(".")[0]
    for label in {fork, f"{fork}.1", f"{fork}.2"} - {name}:
        (data / label).write_bytes(empty_page())
    (data / name).symlink_to(Path(name).name)  # leads to itself
    (tmp_path / "backup").mkdir()
    with tarfile.open(tmp_path / "backup/base.tar", "w") as opened:
        opened.add(data, ".")
    for path in (data, tmp_path / "backup"):
        outcome = scrubbed(path)
        assert [label for label, _ in outcome.denied] == [name]
        assert (outcome.bad, outcome.exit_status) == ((), 3)
    (data / name).unlink()
    assert [each.reason for each in scrubbed(data).bad] == ["missing segment"]


@pytest.fixture
def original(tmp_path: Path) -> Path:
    """A cluster with a tablespace, and a file of holes about a damaged page."""
    if shutil.which("tar") is None:
        pytest.skip("no tar here")
    data = cluster_at(tmp_path / "data")
    (data / "backup_label").write_bytes(LABEL)
    holed = data / "base/5/16390"
    with holed.open("wb") as file:
        file.seek(HOLES)
        file.write(DAMAGED)
        for _ in range(60):  # more holes than one header names
            file.seek(HOLES, os.SEEK_CUR)
            file.write(empty_page())
    (tmp_path / f"space/{SPACE}/5").mkdir(parents=True)
    (tmp_path / f"space/{SPACE}/5/16500").write_bytes(DAMAGED)
    (data / "pg_tblspc/16400").symlink_to(tmp_path / "space")
    return data


def packed(source: Path, target: Path, options: Sequence[str]) -> Path:
    target.parent.mkdir(exist_ok=True)
    command = ["tar", *options, "-cf", str(target), "-C", str(source), "."]
    subprocess.run(command, check=True, capture_output=True)
    return target


@pytest.mark.parametrize("form", FORMATS)
def test_a_plain_file_is_read_in_every_format(form: str, original: Path, tmp_path: Path) -> None:
    backup = packed(original, tmp_path / "backup/base.tar", [f"--format={form}"])
    outcome = scrubbed(backup.parent)
    assert [(each.path, each.block) for each in outcome.bad] == [("base/5/16390", 200)]
    assert [label for label, _ in outcome.denied] == ["pg_tblspc/16400"]


@pytest.mark.parametrize("gzipped", [False, True])
@pytest.mark.parametrize("options", [["--format=gnu"], *(
    ["--format=pax", f"--sparse-version={version}"] for version in ("0.0", "0.1", "1.0")
)])  # fmt: skip
def test_a_sparse_file_is_said_not_to_be_read_and_all_behind_it_is(
    options: list[str], gzipped: bool, original: Path, tmp_path: Path
) -> None:
    backup = packed(original, tmp_path / "backup/base.tar", ["--sparse", *options])
    if gzipped:
        backup.with_suffix(".tar.gz").write_bytes(gzip.compress(backup.read_bytes(), 1))
        backup.unlink()
    outcome = scrubbed(backup.parent)
    denied = dict(outcome.denied)
    assert sorted(denied) == ["base/5/16390", "pg_tblspc/16400"]
    assert "a sparse file" in denied["base/5/16390"]
    assert (outcome.files, outcome.bad, outcome.exit_status) == (1, (), 3)


def test_a_tablespace_is_read_in_its_own_archive_or_where_a_tar_followed_its_link(
    original: Path, tmp_path: Path
) -> None:
    damaged = ("base/5/16390", f"pg_tblspc/16400/{SPACE}/5/16500")
    followed = packed(original, tmp_path / "followed/base.tar", ["--dereference"])
    beside = packed(original, tmp_path / "beside/base.tar", [])
    packed(tmp_path / "space", tmp_path / "beside/16400.tar", [])
    for backup in (followed, beside):
        outcome = scrubbed(backup.parent)
        assert tuple(each.path for each in outcome.bad) == damaged
        assert outcome.denied == ()


@pytest.mark.parametrize("suffix", ["tar.zst", "tar.lz4", "tar.xz"])
@pytest.mark.parametrize("mapped", [b"", b"16400 /srv/space\n"])
def test_an_archive_beside_it_that_cannot_be_unpacked_is_named_once(
    suffix: str, mapped: bytes, tmp_path: Path
) -> None:
    (tmp_path / "base.tar").write_bytes(archive(("tablespace_map", mapped)))
    (tmp_path / f"16400.{suffix}").write_bytes(b"packed")
    outcome = scrubbed(tmp_path)
    assert [label for label, _ in outcome.denied] == [f"16400.{suffix}"]
    assert "unpack it first" in outcome.denied[0][1]
    assert outcome.exit_status == 3


def test_of_an_archive_that_is_there_twice_the_one_like_base_is_read(tmp_path: Path) -> None:
    for stem in ("base", "16400", "pg_wal"):
        for suffix in ("tar", "tar.gz", "tgz"):
            (tmp_path / f"{stem}.{suffix}").write_bytes(archive() if suffix == "tar" else b"")
    for suffix in ("tar", "tar.gz", "tgz"):
        names = [path.name for path in archives_of(tmp_path / f"base.{suffix}")]
        assert names == [f"{stem}.{suffix}" for stem in ("base", "16400", "pg_wal")]
    (tmp_path / "base.tgz").unlink()
    skipped = dict(scrubbed(tmp_path).skipped)
    assert skipped["base.tar.gz"] == "base.tar was read in its place"


@pytest.mark.parametrize("name", ["base.tar", "base.tar.gz", "base.tgz", "base.tar.zst"])
def test_a_directory_into_which_its_archive_was_unpacked_is_read_itself(
    name: str, tmp_path: Path
) -> None:
    """The archive that still stands there is another copy: sound, where the files are damaged."""
    data = mapped_cluster_at(tmp_path / "data")
    (data / "base/5/16384").write_bytes(empty_page() + DAMAGED)
    content = archive()
    (data / name).write_bytes(content if name == "base.tar" else gzip.compress(content))
    outcome = scrubbed(data)
    assert [(each.path, each.block) for each in outcome.bad] == [("base/5/16384", 1)]
    assert outcome.run_state.value == "stopped"
    ((label, why),) = outcome.skipped
    assert (label, "name it to scrub it" in why) == (name, True)
    if name != "base.tar.zst":
        assert scrubbed(data / name).bad == ()


def test_a_rate_that_cannot_be_kept_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "base.tar").write_bytes(archive())
    request = ScrubRequest(tmp_path, max_rate=1e8)
    assert scrub(request, lambda *_: None).exit_status == 0
    (tmp_path / "16400.tar.gz").write_bytes(gzip.compress(archive()))
    with pytest.raises(UsageError, match=r"--max-rate cannot be kept to .*16400\.tar\.gz"):
        scrub(request, lambda *_: None)
    assert scrubbed(tmp_path).exit_status == 0
