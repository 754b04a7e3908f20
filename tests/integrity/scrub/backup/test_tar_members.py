"""All readable members of a broken archive are listed, and the broken parts are reported."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
from pathlib import Path

import pytest

from steelyard.integrity.scrub.backup.tar_members import BrokenArchiveError, members

SIZES = {"a": 8192, "b": 0, "c": 700, "d": 16384, "e": 512}


def content_of(name: str) -> bytes:
    return random.Random(name).randbytes(SIZES[name])


def packed() -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, size in SIZES.items():
            member = tarfile.TarInfo(name)
            member.size = size
            archive.addfile(member, io.BytesIO(content_of(name)))
    return written.getvalue()


ARCHIVE = packed()
LAST = 512 * (5 + 16 + 2 + 32 + 1)
"""Where the last member ends: headers and content."""


def read(path: Path, content: bytes) -> tuple[list[str], BrokenArchiveError | None]:
    """Names of the members that are whole, and what is said of the rest."""
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)
    names = []
    try:
        for member in members(path):
            assert b"".join(member.pages(8192)) == content_of(member.name)
            names.append(member.name)
    except BrokenArchiveError as broken:
        return names, broken
    return names, None


@pytest.fixture(params=["x.tar", "x.tar.gz"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


@pytest.mark.parametrize("end", [LAST + 1024, len(ARCHIVE), len(ARCHIVE) + 3000])
def test_a_whole_archive_is_read_however_long_its_end_is(path: Path, end: int) -> None:
    names, broken = read(path, ARCHIVE.ljust(end, b"\0")[:end])
    assert (names, broken) == (list(SIZES), None)


@pytest.mark.parametrize("number", range(len(SIZES)))
@pytest.mark.parametrize("how", ["zeroed", "bit"])
def test_a_member_that_lost_its_header_takes_no_other_with_it(
    path: Path, number: int, how: str
) -> None:
    headers = [0, 8704, 9216, 10752, 27648]
    content = bytearray(ARCHIVE)
    at = headers[number]
    if how == "zeroed":
        content[at : at + 512] = bytes(512)
    else:
        content[at + 110] ^= 4
    names, broken = read(path, bytes(content))
    assert names == [name for name in SIZES if name != list(SIZES)[number]]
    assert broken is not None
    assert f"{at}" in str(broken)


@pytest.mark.parametrize("cut", range(0, LAST + 1024, 512))
def test_an_archive_that_was_cut_is_called_so(path: Path, cut: int) -> None:
    for end in (cut, cut + 100):
        names, broken = read(path, ARCHIVE[:end])
        assert names == list(SIZES)[: len(names)]
        assert broken is not None, end
        assert broken.within in (None, *list(SIZES)[len(names) : len(names) + 1])


def test_what_cannot_be_unpacked_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "x.tar.gz"
    whole = gzip.compress(ARCHIVE, 1)
    for damage in (whole[: len(whole) // 2], whole[:-6] + b"????" + whole[-2:], whole[:-3], b""):
        path.write_bytes(damage)
        with pytest.raises(BrokenArchiveError):
            list(members(path))
    with pytest.raises(BrokenArchiveError, match="No such file"):
        list(members(tmp_path / "nowhere.tar"))


def test_members_of_gzip_that_follow_each_other_are_one_archive(tmp_path: Path) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(ARCHIVE[:9000]) + gzip.compress(ARCHIVE[9000:]))
    assert [member.name for member in members(path)] == list(SIZES)
