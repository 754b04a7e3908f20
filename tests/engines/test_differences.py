"""Two arms may differ where the study says so, in what follows from that, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from steelyard.engines import differences
from steelyard.engines.differences import ABSENT, SettingDifferences, apart, builds_differ
from steelyard.engines.postgres.settings import SETTING_RULES
from steelyard.model.errors import WeighingError
from steelyard.model.identity import Identity

CONTROL = {
    "data_checksums": "on",
    "port": "5432",
    "data_directory": "/a",
    "unix_socket_directories": "/a/s",
    "shared_buffers": "16384 8kB",
    "wal_buffers": "512 8kB",
    "work_mem": "4096 kB",
    "server_version": "18.4",
}
BUILD = Identity(
    kind="postgres",
    version="18.4",
    version_number=180004,
    builder="gcc 14.2.1",
    configure="'--prefix=/one' '--without-icu'",
    cflags="-Wall -Wshadow -O2",
    origin="bundle",
    bindir="/one/bin",
    assertions=False,
)


def compare(control: dict[str, str], arm: dict[str, str], declared: set[str]) -> SettingDifferences:
    """The differences of two PostgreSQL servers."""
    return differences.compare(control, arm, declared, SETTING_RULES)


def test_arms_that_differ_where_declared_are_accepted() -> None:
    found = compare(CONTROL, {**CONTROL, "data_checksums": "off"}, {"data_checksums"})
    assert found.declared == [("data_checksums", "on", "off")]
    assert (found.undeclared, found.derived) == ([], [])
    found.refuse_undeclared("on", "off")


def test_what_belongs_to_the_slot_is_no_difference() -> None:
    moved = {"port": "5433", "data_directory": "/b", "unix_socket_directories": "/b/s"}
    found = compare(CONTROL, {**CONTROL, **moved}, set())
    assert (found.declared, found.undeclared, found.derived) == ([], [], [])


def test_an_undeclared_difference_is_refused_by_name_and_value() -> None:
    found = compare(CONTROL, {**CONTROL, "work_mem": "65536 kB"}, {"data_checksums"})
    assert found.undeclared == [("work_mem", "4096 kB", "65536 kB")]
    with pytest.raises(WeighingError) as refusal:
        found.refuse_undeclared("on", "off")
    assert '"work_mem" is 4096 kB and 65536 kB' in (refusal.value.detail or "")
    assert '"off" against "on"' in refusal.value.primary


def test_a_setting_computed_from_a_declared_one_follows_from_it() -> None:
    arm = {**CONTROL, "shared_buffers": "65536 8kB", "wal_buffers": "2048 8kB"}
    assert compare(CONTROL, arm, {"shared_buffers"}).derived == [
        ("wal_buffers", "512 8kB", "2048 8kB")
    ]
    assert compare(CONTROL, arm, {"shared_buffers", "wal_buffers"}).derived == []
    # without its cause it is a difference nobody asked for
    other = {**CONTROL, "wal_buffers": "2048 8kB", "work_mem": "1 kB"}
    assert [name for name, _, _ in compare(CONTROL, other, {"work_mem"}).undeclared] == [
        "wal_buffers"
    ]


def test_what_only_one_version_knows_follows_from_a_declared_version_only() -> None:
    arm = {**CONTROL, "server_version": "16.14"}
    arm.pop("wal_buffers")
    assert [name for name, _, _ in compare(CONTROL, arm, {"version"}).derived] == [
        "server_version",
        "wal_buffers",
    ]
    assert compare(CONTROL, arm, set()).undeclared == [
        ("server_version", "18.4", "16.14"),
        ("wal_buffers", "512 8kB", ABSENT),
    ]


def test_a_changed_default_does_not_hide_behind_a_declared_version() -> None:
    found = compare(CONTROL, {**CONTROL, "work_mem": "1 kB"}, {"version"})
    assert found.undeclared == [("work_mem", "4096 kB", "1 kB")]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("builder", "gcc 7.5"),
        ("configure", "'--prefix=/one'"),
        ("cflags", "-Wall -Wshadow -Os"),
        ("origin", "system"),
        ("assertions", True),
    ],
)
def test_builds_of_other_makers_or_ways_differ(field: str, value: object) -> None:
    other = replace(BUILD, **{field: value})  # type: ignore[arg-type]
    assert [name for name, _, _ in builds_differ(BUILD, other)] == [field]


def test_place_version_and_warnings_do_not_make_another_builder() -> None:
    other = replace(
        BUILD,
        version="16.14",
        bindir="/two/bin",
        configure="'--prefix=/two' '--with-extra-version= (Debian 18.6-3)' '--without-icu'",
        cflags="-Wall -O2",
    )
    assert builds_differ(BUILD, other) == []


def test_what_was_compiled_in_and_where_files_are_follows_from_a_declared_version_only() -> None:
    arm = {**CONTROL, "ssl_library": "OpenSSL", "krb_server_keyfile": "FILE:/elsewhere"}
    control = {**CONTROL, "ssl_library": "", "krb_server_keyfile": "FILE:/here"}
    assert [name for name, _, _ in compare(control, arm, {"version"}).derived] == [
        "krb_server_keyfile",
        "ssl_library",
    ]
    assert len(compare(control, arm, set()).undeclared) == 2


def test_the_settings_of_a_preloaded_module_follow_from_preloading_it() -> None:
    arm = {**CONTROL, "auto_explain.log_analyze": "off", "work_mem": "1 kB"}
    found = compare(CONTROL, arm, {"shared_preload_libraries"})
    assert found.derived == [("auto_explain.log_analyze", ABSENT, "off")]
    assert [name for name, _, _ in found.undeclared] == ["work_mem"]
    assert [name for name, _, _ in compare(CONTROL, arm, {"jit"}).undeclared] == [
        "auto_explain.log_analyze",
        "work_mem",
    ]


def test_differing_builds_are_told_by_the_options_that_one_alone_has() -> None:
    other = replace(
        BUILD,
        builder="gcc 7.5",
        configure="'--prefix=/two' '--without-icu' '--with-openssl'",
        cflags="-Wall -fwrapv -Os",
        assertions=True,
    )
    ours = replace(BUILD, cflags="-Wall -fwrapv -O2")
    assert apart(builds_differ(ours, other)) == [
        ("builder", "gcc 14.2.1", "gcc 7.5"),
        ("configure", "nothing more", "'--with-openssl'"),
        ("cflags", "-O2", "-Os"),
        ("assertions", "False", "True"),
    ]
    unstated = apart(builds_differ(BUILD, replace(BUILD, configure="")))
    assert ("configure", "'--without-icu'", "unknown") in unstated


@pytest.mark.parametrize(
    ("name", "plans"),
    [
        ("random_page_cost", True),
        ("enable_nestloop", True),
        ("geqo_effort", True),
        ("work_mem", True),
        ("wal_compression", False),
        ("shared_buffers", False),
        ("data_checksums", False),
        ("version", False),
    ],
)
def test_settings_of_the_planner_are_meant_to_change_plans(name: str, plans: bool) -> None:
    assert SETTING_RULES.plans([name]) is plans


@pytest.mark.parametrize("declared", ["TimeZone", "timezone", "TIMEZONE"])
def test_a_setting_is_declared_however_it_is_spelt(declared: str) -> None:
    ours, theirs = {**CONTROL, "TimeZone": "UTC"}, {**CONTROL, "TimeZone": "Asia/Kolkata"}
    assert [name for name, *_ in compare(ours, theirs, {declared}).declared] == ["TimeZone"]
    assert compare(ours, theirs, {"work_mem"}).undeclared
