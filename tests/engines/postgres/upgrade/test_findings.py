"""What copies show of an upgrade is said: extensions, warnings, slots, what is resolved in them."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from integrity.made_files import cluster_at, control_file
from steelyard.engines.intake import DataPlace, Overridden, ServerSettings
from steelyard.engines.postgres.upgrade import rehearsal
from steelyard.engines.postgres.upgrade.facts import ClusterFacts, DatabaseFacts
from steelyard.engines.postgres.upgrade.findings import (
    copy_findings,
    extension_findings,
    offered_findings,
    warned_findings,
)
from steelyard.engines.postgres.upgrade.original_state import (
    OriginalState,
    read_state,
    state_findings,
)
from steelyard.engines.postgres.upgrade.outcome import Attempt, warnings_of
from steelyard.model.errors import EngineError

FACTS = ClusterFacts({}, (), (), (), ("UTF8", "C", "C"))
CLEAN = OriginalState("shut down", False, 8192, 131072, 16 << 20, False, (), ())


def with_extension(name: str, version: str) -> ClusterFacts:
    return replace(FACTS, databases={"shop": DatabaseFacts(1, 1, 0, 0, 0, {name: version})})


@pytest.mark.parametrize(
    ("old", "new", "level", "older"),
    [
        ("1.9", "1.10", "do", False),
        ("1.10", "1.9", "do", True),
        ("3.4.2", "3.4", "do", True),
        ("3.4", "3.4.0", "do", False),
        ("2.14.2", "2.11.1", "do", True),
        ("1.0", "unpackaged", "do", False),
        ("1.2", None, "blocks", False),
    ],
)
def test_an_extension_that_the_new_build_has_older_is_not_to_be_updated(
    old: str, new: str | None, level: str, older: bool
) -> None:
    available = {} if new is None else {"feed": new}
    [finding] = extension_findings(with_extension("feed", old), replace(FACTS, available=available))
    assert finding.level == level
    assert any("UPDATE" in command for command in finding.commands) is (
        new is not None and not older
    )
    assert ("only" in finding.what) is older


def test_the_same_version_is_no_finding() -> None:
    there = replace(FACTS, available={"feed": "1.2"})
    assert list(extension_findings(with_extension("feed", "1.2"), there)) == []


def test_what_is_resolved_in_the_copy_blocks_with_what_to_type() -> None:
    facts = replace(FACTS, invalid=("half gone",), closed=("shut",), prepared=(("g", "shut"),))
    by_what = {each.what.split('"')[1]: each for each in copy_findings(facts)}
    assert {each.level for each in by_what.values()} == {"blocks"}
    assert by_what["half gone"].commands == ("psql -c 'DROP DATABASE \"half gone\"'",)
    assert "ALLOW_CONNECTIONS" in by_what["shut"].commands[0]


STEPS = {
    "Checking database user is the install user": "ok",
    "Checking for objects affected by Unicode update": "warning",
    "Checking for hash indexes": "warning",
    "Checking for extension updates": "notice",
    "Checking for presence of required libraries": "ok",
}
WORDS = {
    "Checking for objects affected by Unicode update": (
        "Your installation contains relations that might be affected.",
        "A list is in the file:",
        "    NEW_DATA/pg_upgrade_output.d/unicode_update.txt",
    ),
    "Checking for hash indexes": ("Your installation contains hash indexes.",),
    "Checking for extension updates": ("Your installation contains extensions.",),
}


def output(width: int, end: str, blank: str) -> str:
    """Of pg_upgrade, whose steps are padded to 60 letters before 16, and to 62 since."""
    lines = ["Performing Consistency Checks", "-" * 29]
    for step, status in STEPS.items():
        lines += [f"{step:<{width}}{status}"]
        lines += [blank, *WORDS[step], blank] if step in WORDS else []
    return "\n".join([*lines, end]) + "\n"


@pytest.mark.parametrize("width", [60, 62])
@pytest.mark.parametrize("blank", ["", "  "])
@pytest.mark.parametrize(
    "end", ["\n*Clusters are compatible*", "Performing Upgrade\n--", "", "*x*"]
)
def test_what_pg_upgrade_warns_of_is_found_with_its_words(width: int, blank: str, end: str) -> None:
    expected = [
        (step, "\n".join(word.strip() for word in WORDS[step]))
        for step, status in STEPS.items()
        if status == "warning"
    ]
    assert warnings_of(output(width, end, blank)) == expected


def test_a_warning_that_stands_last_is_found_too() -> None:
    last = f"{'Checking for hash indexes':<60}warning\n\nThey must be made anew.\n"
    assert warnings_of(last) == [("Checking for hash indexes", "They must be made anew.")]
    attempt = Attempt("copy", False, True, True, 1.0, {}, 0, last, "")
    [finding] = warned_findings(attempt)
    assert finding.level == "do"
    assert "made anew" in finding.detail
    assert list(warned_findings(replace(attempt, output="Checking x      ok\n"))) == []


def slot(data: Path, name: str, database: int, lasts: int) -> None:
    (data / "pg_replslot" / name).mkdir()
    content = struct.pack("=IIII64sIi", 0x1051CA1, 0, 5, 180, name.encode(), database, lasts)
    (data / "pg_replslot" / name / "state").write_bytes(content + bytes(120))


def test_slots_that_no_server_keeps_over_a_start_are_none(tmp_path: Path) -> None:
    data = cluster_at(tmp_path / "data", control=control_file(1700, state=6))
    for name, database, lasts in (("feed", 16384, 0), ("standby", 0, 0), ("pg_basebackup_7", 0, 2)):
        slot(data, name, database, lasts)
    slot(data, "half_made", 16384, 1)
    state = read_state(DataPlace(data, "data directory", "17", 1, "digest"))
    assert state.slots == (("feed", True), ("standby", False))


def test_a_tablespace_is_found_where_its_link_leads_whatever_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = cluster_at(tmp_path / "data", "17")
    for oid, leads in (("16400", "../../spaces/one"), ("16401", str(tmp_path / "spaces/two"))):
        (data / "pg_tblspc" / oid).symlink_to(leads)
    monkeypatch.chdir("/")
    place = DataPlace(data, "data directory", "17", 1, "digest")
    assert read_state(place).tablespaces == (
        ("16400", str(tmp_path / "spaces/one")),
        ("16401", str(tmp_path / "spaces/two")),
    )


def test_a_tablespace_within_the_data_blocks_until_pg_upgrade_takes_it(tmp_path: Path) -> None:
    data = cluster_at(tmp_path / "data", "17")
    (data / "pg_tblspc/16400/PG_17_202406281").mkdir(parents=True)
    (data / "pg_tblspc/notes").mkdir()
    place = DataPlace(data, "data directory", "17", 1, "digest")
    state = read_state(place)
    assert [oid for oid, _ in state.tablespaces] == ["16400"]
    [finding] = state_findings(place, state, 17, 18)
    assert (finding.level, "16400" in finding.what) == ("blocks", True)
    assert state_findings(place, state, 17, 19) == []
    assert state_findings(replace(place, kind="base backup"), state, 17, 18) == []


def test_a_damaged_control_file_is_said_to_be(tmp_path: Path) -> None:
    content = bytearray(control_file())
    content[216] ^= 1
    data = cluster_at(tmp_path / "data", control=bytes(content))
    with pytest.raises(EngineError, match="wrong CRC") as refused:
        read_state(DataPlace(data, "data directory", "18", 1, "digest"))
    assert "from a backup" in str(refused.value.hint)


def test_room_is_counted_for_the_log_of_new_clusters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    place = DataPlace(tmp_path, "data directory", "17", 1 << 20, "digest")
    monkeypatch.setattr(rehearsal, "free_bytes", lambda _: 1 << 30)
    rehearsal._require_space(place, CLEAN, 2)
    large = replace(CLEAN, wal_segment_bytes=1 << 30)
    with pytest.raises(EngineError, match="are needed"):
        rehearsal._require_space(place, large, 2)


def test_settings_that_count_more_than_a_named_file_are_noted() -> None:
    automatic = "postgresql.auto.conf of the data"
    offered = ServerSettings(
        {"work_mem": "8MB"},
        missing='main.conf includes "more.conf" if it exists, and it does not exist here',
        overridden=(Overridden("work_mem", "4MB", automatic), Overridden("jit", "on", automatic)),
    )
    lacking, above = offered_findings(offered)
    assert (lacking.level, lacking.what) == ("note", offered.missing)
    assert above.what.startswith(f"{automatic} says otherwise than --config")
    assert "work_mem, jit" in above.detail
    assert offered_findings(ServerSettings({"work_mem": "8MB"})) == []
