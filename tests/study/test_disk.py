"""Rates of a disk are read as people write them, and refused with what to type."""

from __future__ import annotations

import pytest

from steelyard.model.errors import StudyError
from steelyard.study.read import read_study


@pytest.mark.parametrize(
    ("change", "key", "value"),
    [
        ("read_iops=3000", "read_iops", 3000),
        ("write_iops=1_000", "write_iops", 1000),
        ("read_rate=125MB", "read_rate", 125 << 20),
        ("read_rate=125MB/s", "read_rate", 125 << 20),
        ("write_rate=125 MiB/s", "write_rate", 125 << 20),
        ("write_rate=64k", "write_rate", 64 << 10),
        ("read_rate=131072B", "read_rate", 131072),
    ],
)
def test_a_rate_is_read_with_its_unit(change: str, key: str, value: int) -> None:
    disk = read_study("io-method", [f"disk.{change}"]).disk
    assert disk is not None
    assert disk.model_dump(exclude_none=True) == {key: value}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("read_iops=0", "greater than or equal to 1"),
        ("read_iops=3k", "accepted: a whole number"),
        ("read_iops=99999999999999999999", "less than or equal to 1000000000"),
        ("read_rate=125", "125 has no unit: 125MB"),
        ("read_rate=1Gbit", "accepted: 64kB, 200MB"),
        ("read_rate=60kB", "accepted: 64kB to 1024TB a second"),
        ("read_rate=99999999TB", "accepted: 64kB to 1024TB a second"),
        ("read_rate=125MB/min", "accepted: 64kB, 200MB"),
        ("read_iops=none", "say what is held"),
        ("iops=3", 'unrecognized key: "disk.iops"'),
    ],
)
def test_what_is_no_rate_is_refused(change: str, words: str) -> None:
    with pytest.raises(StudyError, match=words):
        read_study("io-method", [f"disk.{change}"])


def test_a_rate_is_taken_back_by_itself() -> None:
    changes = ["disk.read_iops=3000", "disk.read_rate=125MB", "disk.read_iops=none"]
    disk = read_study("io-method", changes).disk
    assert disk is not None
    assert disk.model_dump(exclude_none=True) == {"read_rate": 125 << 20}
