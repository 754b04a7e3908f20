"""Page by page scrub and innochecksum agree on healthy and on damaged files.

innochecksum is that of MariaDB 10.11. It knows neither `innodb` nor `none`, and gives up at their
first page: for those MySQL's own import of a tablespace is the oracle (test_import.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from integrity.innodb.damage import damaged, free_pages, split
from integrity.innodb.instances import Instance, Trees, bad_pages, fill, instance, unpack
from own_cache import open_directory
from steelyard._core import InnodbFile, scan_innodb, walk_innodb

pytestmark = pytest.mark.long

BAD_PLACES = {"misplaced", "other tablespace"}
"""innochecksum compares neither number nor tablespace with the page's place, and passes over pages
that the extent descriptors call free."""


@dataclass(frozen=True)
class Kind:
    """A server with options, and the sizes of compressed pages in kB."""

    maria: bool
    options: tuple[str, ...]
    compressed: tuple[int, ...]
    carried: str


KINDS = {
    "mysql crc32": Kind(
        False,
        ("--innodb-checksum-algorithm=crc32", "--innodb-undo-tablespaces=2"),
        (1, 2, 4, 8, 16),
        "crc32",
    ),
    "mysql crc32, 4 kB": Kind(
        False, ("--innodb-checksum-algorithm=crc32", "--innodb-page-size=4k"), (2, 4), "crc32"
    ),
    "mysql crc32, 8 kB, two files": Kind(
        False,
        (
            "--innodb-checksum-algorithm=crc32",
            "--innodb-page-size=8k",
            "--innodb-data-file-path=ibdata1:10M;ibdata2:10M:autoextend",
        ),
        (4,),
        "crc32",
    ),
    "mysql crc32, 64 kB": Kind(
        False, ("--innodb-checksum-algorithm=crc32", "--innodb-page-size=64k"), (), "crc32"
    ),
    "mysql innodb": Kind(False, ("--innodb-checksum-algorithm=innodb",), (8,), "innodb"),
    "mysql none": Kind(False, ("--innodb-checksum-algorithm=none",), (4,), "none"),
    "mariadb crc32": Kind(True, ("--innodb-checksum-algorithm=crc32",), (1, 8), "crc32"),
    "mariadb full_crc32": Kind(True, ("--innodb-checksum-algorithm=full_crc32",), (), "full_crc32"),
    "mariadb full_crc32, 4 kB": Kind(
        True,
        ("--innodb-checksum-algorithm=full_crc32", "--innodb-page-size=4k"),
        (),
        "full_crc32",
    ),
    "mariadb full_crc32, 32 kB": Kind(
        True,
        ("--innodb-checksum-algorithm=full_crc32", "--innodb-page-size=32k"),
        (),
        "full_crc32",
    ),
}
READ_BY_ORACLE = [name for name, kind in KINDS.items() if kind.carried not in ("innodb", "none")]


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """An open directory."""
    with open_directory() as made:
        yield made


@pytest.fixture(scope="module")
def trees(home: Path) -> Trees:
    """Both servers, unpacked."""
    return unpack(home)


_made: dict[str, Instance] = {}


def made(trees: Trees, home: Path, name: str) -> Instance:
    """A stopped instance of a kind with its tables, made once."""
    if name not in _made:
        kind = KINDS[name]
        number = str(len(_made))
        one = instance(trees, home / number, *kind.options, maria=kind.maria)
        with one.running() as connection:
            fill(connection, compressed=kind.compressed)
        _made[name] = one
    return _made[name]


def scanned(directory: Path) -> tuple[list[InnodbFile], dict[str, dict[int, str]], list[set[str]]]:
    """The files of a directory, wrong pages by file with their reasons, what files carry."""
    files, _, denied = walk_innodb(directory)
    assert not denied
    asked = {"threads": 2, "max_rate": None, "idle": False, "gaps_s": []}
    found = scan_innodb(files, asked, lambda *_: None)  # type: ignore[arg-type]
    wrong: dict[str, dict[int, str]] = {file.label: {} for file in files}
    for index, page, reason, *_ in found["wrong"]:
        wrong[files[index].label][page] = reason
    return files, wrong, [{name for name, _ in pages} for pages in found["carried"]]


@pytest.mark.parametrize("name", KINDS)
def test_healthy_files_are_sound(trees: Trees, home: Path, name: str) -> None:
    kind, data = KINDS[name], made(trees, home, name).data
    files, wrong, carried = scanned(data)
    assert not any(wrong.values())
    # The constant in the place of a checksum, and pages that were never written.
    beside = {"zero", "not verified: doublewrite"}
    assert {kind.carried} <= set().union(*carried) <= {kind.carried, *beside, "crc32"}
    for file, pages in zip(files, carried, strict=True):
        assert "not verified: doublewrite" not in pages or file.label.startswith("ibdata")
        if name not in READ_BY_ORACLE:
            assert bad_pages(trees, file.path) is None
        elif file.first_page == 0:
            theirs = bad_pages(trees, file.path)
            # It judges copies in the doublewrite area as pages of that place.
            extent = max(64, (1 << 20) // file.logical_bytes)
            doublewrite = range(extent, 3 * extent) if file.label == "ibdata1" else range(0)
            assert theirs is not None
            assert theirs <= set(doublewrite), file.label


@pytest.mark.parametrize("name", READ_BY_ORACLE)
def test_damaged_pages_are_the_same_but_for_misplaced_ones(
    trees: Trees, home: Path, tmp_path: Path, name: str
) -> None:
    kind, data = KINDS[name], made(trees, home, name).data
    files, _, _ = scanned(data)
    tables = {file.label: file for file in files if file.label.startswith("d/")}
    assert len(tables) == 2 * (1 + len(kind.compressed))
    work = tmp_path / "work"
    (work / "d").mkdir(parents=True)
    done: dict[str, dict[int, str]] = {}
    for label, file in tables.items():
        if label.endswith("b.ibd"):
            continue
        pages = split(file.path.read_bytes(), file.page_bytes)
        beside = file.path.with_name(f"{file.path.stem}b.ibd")
        foreign = [page for page in split(beside.read_bytes(), file.page_bytes)[1:] if any(page)]
        for seed in range(3):
            changed, what = damaged(pages, foreign, seed, 2)
            copy = work / f"{label.removesuffix('.ibd')}-{seed}.ibd"
            copy.write_bytes(b"".join(changed))
            done[f"d/{copy.name}"] = what
    _, wrong, _ = scanned(work)
    for label, what in done.items():
        theirs = bad_pages(trees, work / label)
        assert theirs is not None
        ours = wrong[label]
        assert set(ours) <= set(what), label
        file = tables[label.rpartition("-")[0] + ".ibd"]
        free = free_pages(split(file.path.read_bytes(), file.page_bytes), file.logical_bytes)
        # What it sees we see; what we see beyond that lies in a wrong place, or is free.
        assert theirs <= set(ours), (label, {n: what.get(n) for n in theirs - set(ours)})
        beyond = {number: ours[number] for number in set(ours) - theirs - free}
        assert set(beyond.values()) <= BAD_PLACES, (label, beyond)
        missed = {kind for number, kind in what.items() if number not in ours}
        # Zeroes are a page that was never written. Compressed pages have no trailer, and their
        # checksum leaves the LSN out.
        assert missed <= {"zeroed", *(["lsn_bit"] if file.zip else [])}, (label, missed)


def test_a_lost_first_page_and_an_early_end_are_seen(
    trees: Trees, home: Path, tmp_path: Path
) -> None:
    """Where innochecksum gives up, or sees nothing: the other pages are judged all the same."""
    file = made(trees, home, "mysql crc32").data / "d/plain.ibd"
    content = file.read_bytes()
    (tmp_path / "d").mkdir()
    damage = {
        "flipped": content[:100] + bytes([content[100] ^ 1]) + content[101:],
        "zeroed": bytes(16384) + content[16384:],
        "cut": content[: -3 * 16384],
        "torn": content[:-1000],
    }
    for name, changed in damage.items():
        (tmp_path / f"d/{name}.ibd").write_bytes(changed)
    pages = len(content) // 16384
    _, wrong, _ = scanned(tmp_path)
    assert wrong == {
        "d/flipped.ibd": {0: "checksum"},
        "d/zeroed.ibd": {0: "header"},
        "d/cut.ibd": {pages - 3: "short"},
        "d/torn.ibd": {pages - 1: "short"},
    }
    assert bad_pages(trees, tmp_path / "d/flipped.ibd") is None
    assert bad_pages(trees, tmp_path / "d/cut.ibd") == set()
