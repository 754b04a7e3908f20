"""A long copy says how far it is, in bytes of bytes, and what is left of its time; none is made of
what it would hold in part."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from integrity.made_files import control_file, mapped_cluster_at, relation_map
from integrity.scrub.test_links import page_of_names
from steelyard.engines.postgres.intake.copying import CopyProgress, linked_tablespace_doubts
from steelyard.engines.postgres.intake.place import inspect_source
from steelyard.model.errors import EngineError, UsageError


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_bytes_of_bytes_and_the_time_left_are_said_every_few_seconds() -> None:
    said: list[str] = []
    clock = Clock()
    progress = CopyProgress(said.append, 200_000_000, clock)
    for _ in range(40):
        clock.now_s += 0.5
        progress.add(5_000_000)
    assert said[0] == "copy the data: 20 of 200 MB, 18 s left"
    assert said[1] == "copy the data: 40 of 200 MB, 16 s left"
    assert said[-1] == "copy the data: 200 MB"
    assert len(said) == 10


def test_a_short_copy_says_nothing_and_one_of_unknown_size_what_it_has() -> None:
    said: list[str] = []
    clock = Clock()
    CopyProgress(said.append, 1000, clock).add(1000)
    assert said == []
    progress = CopyProgress(said.append, None, clock)
    clock.now_s = 3.0
    progress.reach(7_000_000)
    assert said == ["copy the data: 7 MB"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("orioledb_data/5/16384", 'OrioleDB keeps tables in "orioledb_data"'),
        ("cstore_fdw/5/16384", "cstore_fdw keeps tables in"),
        ("mooncake_local_tables/shop/orders", "pg_mooncake keeps tables in"),
        ("pg_tde/16384_keys", "pg_tde may have encrypted its tables"),
        ("pg_tde/16384_keys/principal", "pg_tde may have encrypted its tables"),
        ("pg_tde/1664_keys", None),  # of the log
        ("mooncake_local_tables", None),  # made by every start
        ("conf.d/orioledb_data", None),
    ],
)
def test_tables_that_an_extension_keeps_in_files_of_its_own_are_not_left_out_of_a_copy(
    tmp_path: Path, name: str, words: str | None
) -> None:
    data = mapped_cluster_at(tmp_path / "data")
    (data / name).mkdir(parents=True)
    if words is None:
        assert inspect_source(data).kind == "data directory"
        return
    with pytest.raises(UsageError, match=words) as refused:
        inspect_source(data)
    assert "pg_dump -Fc --no-table-access-method" in str(refused.value.hint)


NAMES = {1663: "pg_default", 1664: "pg_global", 16400: "fast"}
STOPPED, CRASHED = 1, 6


@pytest.mark.parametrize(
    ("state", "copied", "refused"),
    [
        (STOPPED, "without links", True),
        (STOPPED, "linked", False),
        (STOPPED, "within", False),
        (CRASHED, "without links", False),  # its log may have dropped it
    ],
)
def test_a_tablespace_whose_link_a_copy_lost_is_named_before_anything_is_copied(
    tmp_path: Path, state: int, copied: str, refused: bool
) -> None:
    data = mapped_cluster_at(tmp_path / "data")
    (data / "global/pg_control").write_bytes(control_file(state=state))
    (data / "global/pg_filenode.map").write_bytes(relation_map((1213, 1213)))
    (data / "global/1213").write_bytes(page_of_names(NAMES))
    place = data / "pg_tblspc/16400"
    (tmp_path / "space/PG_18_202506291").mkdir(parents=True)
    if copied == "linked":
        place.symlink_to(tmp_path / "space")
    elif copied == "within":
        (place / "PG_18_202506291").mkdir(parents=True)
    if not refused:
        assert inspect_source(data).major == "18"
        return
    with pytest.raises(EngineError, match="it is not whole") as error:
        inspect_source(data)
    assert "tablespace fast (16400), of which" in str(error.value.detail)
    assert "rsync -aL" in str(error.value.hint)


@pytest.mark.parametrize(
    ("later_s", "copied", "log_elsewhere", "doubted"),
    [
        (7200, "linked", False, True),
        (7200, "linked", True, True),  # the original's log has moved on with it
        (200, "linked", False, False),  # a checkpoint takes so long
        (-7200, "linked", False, False),
        (7200, "within", False, False),
    ],
)
def test_a_tablespace_that_was_written_after_all_else_is_perhaps_the_originals(
    tmp_path: Path, later_s: int, copied: str, log_elsewhere: bool, doubted: bool
) -> None:
    """`cp -a` of a data directory keeps its links; the server that it was of went on."""
    data, space = mapped_cluster_at(tmp_path / "data"), tmp_path / "space"
    place = data / "pg_tblspc/16400"
    home = place if copied == "within" else space
    (home / "PG_18_202506291/5").mkdir(parents=True)
    (home / "PG_18_202506291/5/16401").write_bytes(bytes(8192))
    if copied == "linked":
        place.symlink_to(space)
    for path in data.rglob("*"):
        os.utime(path, (1_000_000, 1_000_000), follow_symlinks=False)
    os.utime(home / "PG_18_202506291/5/16401", (0, 1_000_000 + later_s))
    if log_elsewhere:
        (data / "pg_wal").rename(tmp_path / "log")
        (data / "pg_wal").symlink_to(tmp_path / "log")
        (tmp_path / "log/000000010000000000000001").write_bytes(bytes(8))
    doubts = list(linked_tablespace_doubts(data))
    assert [f'"{space}", written 2 h after all else' in doubt for doubt in doubts] == (
        [True] * doubted
    )
