"""The beginning of a control file is read whatever its version; a damaged one is trusted never."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.engines.engine import Slot
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.control import (
    CONTROL_FILE,
    LIMITS,
    SHUT_DOWN,
    ControlBeginning,
    limits_of,
    read_beginning,
    read_layout,
    stopped_identifier,
    stored_state,
)

UNKNOWN = 1999


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A cluster of a version that is not known yet, as far as it is looked at."""
    (tmp_path / "global").mkdir()
    (tmp_path / "pg_wal" / "archive_status").mkdir(parents=True)
    (tmp_path / "pg_wal" / f"{1:024X}").write_bytes(struct.pack("=H", 0xD999) + b"\0" * 100)
    write(tmp_path, UNKNOWN, state=1)
    return tmp_path


def write(directory: Path, version: int, state: int) -> None:
    content = struct.pack("=QIII", 7_000_000_001, version, 202611211, state)
    (directory / CONTROL_FILE).write_bytes(content.ljust(8192, b"\0"))


def test_identifier_versions_and_state_stand_at_the_beginning(directory: Path) -> None:
    found = read_beginning(directory)
    assert found == ControlBeginning(7_000_000_001, UNKNOWN, 202611211, 1)
    assert read_layout(directory) == {
        "pg_control": UNKNOWN,
        "catalogue": 202611211,
        "write-ahead log": 0xD999,
    }


def test_a_stopped_cluster_of_an_unknown_version_is_known_by_its_identifier(
    directory: Path,
) -> None:
    assert stopped_identifier(directory) == 7_000_000_001
    write(directory, UNKNOWN, state=6)  # in production
    assert stopped_identifier(directory) is None


def test_a_control_file_of_a_known_version_must_be_sound(directory: Path) -> None:
    write(directory, 1800, state=1)  # its sum is not right
    assert stopped_identifier(directory) is None


def test_no_control_file_or_half_of_one_is_no_cluster(directory: Path) -> None:
    (directory / CONTROL_FILE).write_bytes(b"short")
    assert stopped_identifier(directory) is None
    with pytest.raises(ValueError, match="too short"):
        read_beginning(directory)
    (directory / CONTROL_FILE).unlink()
    assert stopped_identifier(directory) is None


@pytest.mark.postgres
def test_limits_are_those_that_its_last_server_had(
    cluster: Cluster, slot_of: Callable[[int], Slot]
) -> None:
    for first in (11, 23):
        limits = {name: first + number for number, name in enumerate(LIMITS)}
        limits["max_connections"] = 100 + first
        cluster.start(slot_of(0), {name: str(value) for name, value in limits.items()})
        cluster.stop()
        assert limits_of(cluster.directory) == limits


def test_limits_of_an_unknown_version_are_not_known(directory: Path) -> None:
    assert limits_of(directory) == {}
    (directory / CONTROL_FILE).write_bytes(b"short")
    assert limits_of(directory) == {}
    (directory / CONTROL_FILE).unlink()
    assert limits_of(directory) == {}


def test_the_state_of_a_cluster_is_none_where_its_control_file_cannot_be_read(
    directory: Path,
) -> None:
    for state in (SHUT_DOWN, SHUT_DOWN + 4):
        write(directory, UNKNOWN, state=state)
        assert stored_state(directory) == state
    (directory / CONTROL_FILE).write_bytes(b"short")
    assert stored_state(directory) is None
    (directory / CONTROL_FILE).unlink()
    assert stored_state(directory) is None
