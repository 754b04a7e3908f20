"""A long copy says how far it is, in bytes of bytes, and what is left of its time; none is made of
what it would hold in part."""

from __future__ import annotations

from pathlib import Path

import pytest

from integrity.made_files import mapped_cluster_at
from steelyard.engines.postgres.intake.copying import CopyProgress
from steelyard.engines.postgres.intake.place import inspect_source
from steelyard.model.errors import UsageError


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
