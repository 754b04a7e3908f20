"""Clones of real clusters: used, changed, and put back to the byte."""

from __future__ import annotations

import filecmp
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from steelyard.engines.engine import Slot
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.life.cluster import CONTROL_FILE, Cluster

pytestmark = pytest.mark.postgres
Slots = Callable[[int], Slot]


def differences(one: Path, other: Path) -> list[str]:
    """Paths that only one has, or whose bytes differ."""
    names = {
        str(p.relative_to(root)) for root in (one, other) for p in root.rglob("*")
    }  # fmt: skip
    return sorted(name for name in names if not _same(one / name, other / name))


def _same(one: Path, other: Path) -> bool:
    if one.is_dir() or other.is_dir():
        return one.is_dir() and other.is_dir()
    return one.exists() and other.exists() and filecmp.cmp(one, other, shallow=False)


def write_something(cluster: Cluster) -> None:
    with psycopg.connect(conninfo_of(cluster.address), autocommit=True) as connection:
        connection.execute("CREATE TABLE filled AS SELECT generate_series(1, 50000) AS n")
        connection.execute("DELETE FROM filled WHERE n % 2 = 0")
        connection.execute("VACUUM filled")
        connection.execute("CREATE DATABASE another")
        connection.execute("CHECKPOINT")


@pytest.mark.long
def test_a_used_clone_is_put_back_to_the_byte(
    template: Cluster, cluster: Cluster, slot_of: Slots
) -> None:
    for _ in range(2):
        cluster.start(slot_of(0), {})
        write_something(cluster)
        cluster.stop()
        assert differences(template.directory, cluster.directory)
        cluster.restore(template.directory)
        assert differences(template.directory, cluster.directory) == []


@pytest.mark.long
def test_a_clone_that_crashed_is_put_back_to_the_byte(
    template: Cluster, cluster: Cluster, slot_of: Slots
) -> None:
    cluster.start(slot_of(0), {})
    write_something(cluster)
    cluster.crash()
    cluster.restore(template.directory)
    assert differences(template.directory, cluster.directory) == []
    cluster.start(slot_of(0), {})
    assert "not properly shut down" not in cluster.last_words()


def test_a_clone_that_was_only_read_costs_little_to_put_back(
    template: Cluster, cluster: Cluster, slot_of: Slots
) -> None:
    cluster.start(slot_of(0), {})
    cluster.settings()
    cluster.stop()
    copied = cluster.restore(template.directory)
    total = sum(p.stat().st_size for p in template.directory.rglob("*") if p.is_file())
    segment = 16 * 1024 * 1024  # the write-ahead log segment that holds the last checkpoint
    assert 0 < copied < segment + (total - segment) / 4


def test_checksums_are_switched_by_the_control_file_alone(
    template: Cluster, cluster: Cluster, slot_of: Slots
) -> None:
    cluster.protect("none")
    assert differences(template.directory, cluster.directory) == [CONTROL_FILE]
    cluster.start(slot_of(0), {})
    assert cluster.settings()["data_checksums"] == "off"
    cluster.stop()
    cluster.protect("checksums")
    cluster.start(slot_of(0), {})
    assert cluster.settings()["data_checksums"] == "on"
    cluster.stop()
    cluster.protect("none")
    cluster.restore(template.directory)
    assert differences(template.directory, cluster.directory) == []


def test_a_clone_that_moved_is_still_put_back_cheaply(
    template: Cluster, cluster: Cluster, slot_of: Slots
) -> None:
    home = cluster.directory
    cluster.move(slot_of(1).path / "data")
    assert not home.exists()
    cluster.start(slot_of(1), {})
    cluster.stop()
    total = sum(p.stat().st_size for p in template.directory.rglob("*") if p.is_file())
    assert cluster.restore(template.directory) < total
    assert differences(template.directory, cluster.directory) == []
    cluster.move(home)


@pytest.mark.long
def test_a_log_that_was_put_elsewhere_works_there_and_comes_back(
    template: Cluster, cluster: Cluster, slot_of: Slots
) -> None:
    elsewhere = cluster.directory.parent / "log"
    for _ in range(2):
        cluster.move_log(elsewhere)
        assert (cluster.directory / "pg_wal").resolve() == elsewhere
        before = {path.name for path in elsewhere.iterdir()}
        cluster.move_log(elsewhere)
        assert {path.name for path in elsewhere.iterdir()} == before
        cluster.start(slot_of(0), {})
        write_something(cluster)
        cluster.stop()
        assert {path.name for path in elsewhere.iterdir()} != before
        cluster.restore(template.directory)
        assert differences(template.directory, cluster.directory) == []
    assert cluster.log_directory == elsewhere
    assert template.log_directory is None
