"""Defaults that differ between builds are found, whatever their units, and set alike."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from steelyard.engines import differences
from steelyard.engines.differences import ABSENT, Alignment, written
from steelyard.engines.postgres.settings import SETTING_RULES
from steelyard.model.identity import Default


def compare_defaults(
    control: dict[str, Default], arms: dict[str, dict[str, Default]], fixed: Collection[str]
) -> Alignment:
    """What sets builds of PostgreSQL alike."""
    return differences.compare_defaults(control, arms, fixed, SETTING_RULES)


def default(value: str | None, unit: str = "", context: str = "user") -> Default:
    return Default(value, unit, context)


OLD = {
    "effective_io_concurrency": default("1"),
    "work_mem": default("4096", "kB"),
    "vacuum_buffer_usage_limit": default("256", "kB"),
    "old_snapshot_threshold": default("-1", "min", "postmaster"),
    "server_version": default("16.14", context="internal"),
    "port": default("5432", context="postmaster"),
    "dynamic_library_path": default("$libdir"),
}
NEW = {
    "effective_io_concurrency": default("16"),
    "work_mem": default("4096", "kB"),
    "vacuum_buffer_usage_limit": default("2048", "kB"),
    "io_method": default("worker", context="postmaster"),
    "server_version": default("18.4", context="internal"),
    "port": default("5433", context="postmaster"),
    "dynamic_library_path": default("/elsewhere"),
}


def test_changed_defaults_are_set_as_the_control_has_them() -> None:
    found = compare_defaults(OLD, {"new": NEW}, ())
    assert found.settings == {
        "effective_io_concurrency": "1",
        "vacuum_buffer_usage_limit": "256kB",
    }
    assert found.changed["new"] == (
        ("effective_io_concurrency", "1", "16"),
        ("vacuum_buffer_usage_limit", "256kB", "2MB"),
    )
    turned = compare_defaults(NEW, {"old": OLD}, ())
    assert turned.settings["effective_io_concurrency"] == "16"


def test_what_only_one_build_knows_is_told_and_left() -> None:
    found = compare_defaults(OLD, {"new": NEW}, ())
    assert found.added["new"] == ("io_method",)
    assert found.removed["new"] == ("old_snapshot_threshold",)
    assert not {"io_method", "old_snapshot_threshold"} & {*found.settings}


def test_what_the_study_sets_for_every_arm_is_no_default() -> None:
    found = compare_defaults(OLD, {"new": NEW}, {"effective_io_concurrency"})
    assert [name for name, _, _ in found.changed["new"]] == ["vacuum_buffer_usage_limit"]


def test_with_several_arms_each_is_compared_and_all_are_set_alike() -> None:
    middle = {**OLD, "work_mem": default("8192", "kB")}
    found = compare_defaults(OLD, {"middle": middle, "new": NEW}, ())
    assert found.settings["work_mem"] == "4MB"
    assert found.settings["effective_io_concurrency"] == "1"
    assert [name for name, _, _ in found.changed["middle"]] == ["work_mem"]


@pytest.mark.parametrize(
    ("ours", "theirs", "alike"),
    [
        (default("16", "8kB"), default("128", "kB"), True),
        (default("60", "s"), default("1", "min"), True),
        (default("1", "MB"), default("1", "kB"), False),
        (default("-1", "kB"), default("-1", "MB"), True),
        (default("off"), default("off", ""), True),
        (default(None), default(""), False),
    ],
)
def test_another_unit_of_the_same_size_is_no_other_default(
    ours: Default, theirs: Default, alike: bool
) -> None:
    assert (compare_defaults({"x": ours}, {"arm": {"x": theirs}}, ()).changed["arm"] == ()) == alike


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (default("16384", "8kB"), "128MB"),
        (default("256", "kB"), "256kB"),
        (default("1", "8kB"), "8kB"),
        (default("300", "s"), "5min"),
        (default("-1", "kB"), "-1"),
        (default("0", "ms"), "0"),
        (default("0.5"), "0.5"),
        (default("on"), "on"),
        (default(None), ABSENT),
    ],
)
def test_a_default_is_written_as_in_a_configuration_file(value: Default, text: str) -> None:
    assert written(value) == text


def test_a_default_that_is_unset_in_the_control_cannot_be_set_alike() -> None:
    found = compare_defaults({"x": default(None)}, {"arm": {"x": default("a")}}, ())
    assert found.settings == {}
    assert found.changed["arm"] == (("x", ABSENT, "a"),)
