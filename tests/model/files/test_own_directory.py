"""What is made here can be used here whatever the umask: it is open to no other account."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from steelyard.cli.weighing.sweep import SWEEP
from steelyard.engines.cache import open_cache
from steelyard.fleet.matrix.run import MatrixState
from steelyard.history.index import read_history
from steelyard.model.files.own_directory import OwnDirectory, write_whole
from steelyard.record.epoch import LedgerBalance
from steelyard.record.ledger import Ledger, LedgerMachine
from steelyard.record.record import Record
from steelyard.site.pages import build_site

CLOSED = LedgerBalance(
    e_value=1.0, weighings=1, largest_e_value=1.0, off_balance=False, ledgers=1,
    skipped_lines=0, path="ledger.jsonl",
)  # fmt: skip


def keep_record(place: Path) -> None:
    for study in ("aa", "aa", "checksums"):
        record = Record.create(None, study)
        record.hold()
        record.write("plan.json", {"seed": 1})
        record.append("slices.jsonl", {"n": 1})
        record.point_latest()
        record.close()


def keep_named_record(place: Path) -> None:
    record = Record.create(place / "a" / "b" / f"{len([*place.rglob('*')])}", "aa")
    record.write("plan.json", {"seed": 1})
    record.close()


def keep_ledger(place: Path) -> None:
    Ledger(place / "kept" / "records" / "ledger.jsonl").begin_anew(LedgerMachine(), CLOSED)


def open_own_cache(place: Path) -> None:
    open_cache()


def keep_campaign(place: Path) -> None:
    folder = place / "sweeps" / f"{len([*place.rglob('*')])}"
    with SWEEP.begin(folder, "sweep", {"key": "a"}).resumable():
        pass


def keep_matrix(place: Path) -> None:
    MatrixState(place / "matrices" / "one", "digest").save()


def make_site(place: Path) -> None:
    (place / "none").mkdir(mode=0o755, exist_ok=True)
    build_site(read_history(place / "none"), place / "site" / "pages")


MAKERS = (
    keep_record, keep_named_record, keep_ledger, open_own_cache, keep_campaign, keep_matrix,
    make_site,
)  # fmt: skip


@pytest.fixture
def with_umask() -> Iterator[Callable[[int], None]]:
    def take(umask: int) -> None:
        os.umask(umask)

    before = os.umask(0o022)
    try:
        yield take
    finally:
        os.umask(before)


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o020, 0o022, 0o077])
@pytest.mark.parametrize("make", MAKERS)
def test_what_is_made_is_open_to_nobody_else_and_taken_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    with_umask: Callable[[int], None],
    make: Callable[[Path], None],
    umask: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "caches" / "own"))
    with_umask(umask)
    for _ in range(2):
        make(tmp_path)
    made = [path for path in tmp_path.rglob("*") if not path.is_symlink()]
    assert len(made) > 1
    open_to_others = {path: oct(path.stat().st_mode) for path in made if _is_open(path)}
    assert open_to_others == {}


def _is_open(path: Path) -> bool:
    return bool(path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def test_a_directory_that_is_there_stays_as_it_is(
    tmp_path: Path, with_umask: Callable[[int], None]
) -> None:
    with_umask(0o000)
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o777)
    for _ in range(2):
        OwnDirectory.make(shared / "own" / "inner")
    assert stat.S_IMODE(shared.stat().st_mode) == 0o777
    assert stat.S_IMODE((shared / "own").stat().st_mode) == 0o755
    write_whole(shared / "own" / "inner" / "file", "text")


def test_where_a_file_stands_none_is_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        OwnDirectory.make(tmp_path / "file" / "below")
