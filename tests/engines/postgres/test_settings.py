"""What real servers report differs only where their arms were told to differ."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from own_cache import open_directory
from steelyard.engines.capabilities.settings import Tunable
from steelyard.engines.differences import builds_differ, compare
from steelyard.engines.engine import Instance, Slot
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.postgres.settings import SETTING_RULES
from thinned import thinned

pytestmark = pytest.mark.by_version


@pytest.fixture
def home() -> Iterator[Path]:
    with open_directory() as made:
        yield made


def _reported(instance: Instance, slot: Slot, settings: dict[str, str]) -> dict[str, str]:
    assert isinstance(instance, Tunable)
    try:
        instance.start(slot, settings)
        return instance.settings()
    finally:
        instance.stop()


@pytest.mark.postgres
@thinned("version", ["18", "16"], 1)
def test_what_a_server_computes_from_a_declared_setting_is_derived(
    version: str, home: Path
) -> None:
    instance = find_postgres(version).create(home / "data", protection="checksums")
    slots = [Slot(n, home / f"slot{n}", home / f"socket{n}", 5432 + n) for n in (0, 1)]
    control = _reported(instance, slots[0], {})
    same = compare(control, _reported(instance, slots[1], {}), set(), SETTING_RULES)
    assert (same.declared, same.undeclared, same.derived) == ([], [], [])
    told = {"shared_buffers": "512MB", "max_connections": "300", "huge_pages": "off"}
    found = compare(control, _reported(instance, slots[1], told), set(told), SETTING_RULES)
    assert {name for name, _, _ in found.declared} == set(told)
    assert found.undeclared == []
    assert {"wal_buffers", "shared_memory_size"} <= {name for name, _, _ in found.derived}


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("name", "reported"),
    [
        ("default_transaction_isolation", "transaction_isolation"),
        ("default_transaction_read_only", "transaction_read_only"),
        ("default_transaction_deferrable", "transaction_deferrable"),
        ("archive_mode", "archive_command"),
    ],
)
def test_what_is_reported_by_another_name_too_follows_from_what_is_set(
    name: str, reported: str
) -> None:
    control, arm = {name: "a", reported: "a"}, {name: "b", reported: "b"}
    differences = compare(control, arm, {name}, SETTING_RULES)
    assert [each for each, *_ in differences.derived] == [reported]
    assert differences.undeclared == []
    for declared in ({"jit"}, {"default_transaction_other"}):
        alone = compare({reported: "a"}, {reported: "b"}, declared, SETTING_RULES)
        assert [each for each, *_ in alone.undeclared] == [reported]


def test_the_two_bundled_versions_come_from_one_builder() -> None:
    newer, older = (find_postgres(build).identity for build in ("bundle-18", "bundle-16"))
    assert newer.version != older.version
    assert builds_differ(newer, older) == []


def test_the_log_is_timed_unless_the_settings_say_otherwise() -> None:
    engine = find_postgres("18")
    assert engine.log_timing({"work_mem": "4MB"}) == {"track_wal_io_timing": "on"}
    assert engine.log_timing({"TRACK_WAL_IO_TIMING": "off"}) == {}
