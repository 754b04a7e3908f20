"""What pg_upgrade refuses, or does not carry over, shows in the original's files."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.engines.intake import DataPlace
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.postgres.upgrade import rehearsal
from steelyard.engines.postgres.upgrade.original_state import (
    OriginalState,
    read_state,
    slot_findings,
    state_findings,
)
from steelyard.model.errors import EngineError

PLACE = DataPlace(Path("/srv/data"), "data directory", "16", 1, "digest")
CLEAN = OriginalState("shut down", False, 8192, 131072, 16 << 20, False, (), ())


def test_a_cluster_that_was_stopped_is_read_as_it_is(template: Cluster) -> None:
    place = replace(PLACE, path=template.directory)
    state = read_state(place)
    assert (state.state, state.checksums) == ("shut down", True)
    assert (state.block_bytes, state.wal_segment_bytes) == (8192, 16 << 20)
    assert state_findings(place, state, 16, 18) == []


def test_a_slot_of_a_database_is_logical(template: Cluster, tmp_path: Path) -> None:
    for name, database in (("standby", 0), ("feed", 16384)):
        slot = template.directory / "pg_replslot" / name
        slot.mkdir()
        header = struct.pack("=IIII64sI", 0x1051CA1, 0, 5, 100, name.encode(), database)
        (slot / "state").write_bytes(header + bytes(100))
        template.account.own_tree(slot)
    try:
        assert read_state(replace(PLACE, path=template.directory)).slots == (
            ("feed", True),
            ("standby", False),
        )
    finally:
        for name in ("standby", "feed"):
            (template.directory / "pg_replslot" / name / "state").unlink()
            (template.directory / "pg_replslot" / name).rmdir()


def test_what_was_not_shut_down_blocks_and_says_what_to_type() -> None:
    crashed = replace(CLEAN, state="in production")
    [finding] = state_findings(PLACE, crashed, 16, 18)
    assert finding.level == "blocks"
    assert finding.commands[-1] == "pg_ctl -D /srv/data -m fast -w stop"
    assert state_findings(replace(PLACE, kind="base backup"), crashed, 16, 18) == []


def test_a_server_with_its_configuration_elsewhere_is_started_with_it() -> None:
    debian = "/etc/postgresql/16/main/postgresql.conf"
    crashed = replace(CLEAN, state="in production")
    [finding] = state_findings(PLACE, crashed, 16, 18, debian)
    assert finding.commands[0] == (f"pg_ctl -D /srv/data -o '-c config_file={debian}' -w start")


def test_a_standby_blocks() -> None:
    [finding] = state_findings(PLACE, replace(CLEAN, standby=True), 16, 18)
    assert (finding.level, "standby" in finding.what) == ("blocks", True)


def test_logical_slots_are_carried_over_from_17_on() -> None:
    slots = (("feed", True), ("standby", False))
    physical, logical = slot_findings(slots, 16)
    assert "standby" in physical.what
    assert "not carried over from 16" in logical.what
    assert "on conditions" in slot_findings(slots, 17)[1].what


def test_slots_of_a_data_directory_are_rehearsed_from_17_on() -> None:
    [finding] = slot_findings((("feed", True),), 17, rehearsed=True)
    assert "is carried over by pg_upgrade" in finding.what
    [finding] = slot_findings((("feed", True),), 16, rehearsed=True)
    assert "not carried over from 16" in finding.what


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"block_bytes": 4096}, "its block_size is 8192 bytes, the cluster's 4096 bytes"),
        ({"segment_blocks": 1024}, "its segment_size is 1024 MB, the cluster's 8192 kB"),
    ],
)
def test_a_build_of_another_block_or_segment_size_is_refused(
    changes: dict[str, int], words: str
) -> None:
    engine = find_postgres("18")
    rehearsal._require_layout(engine, CLEAN, "--new-bindir")
    with pytest.raises(EngineError, match=words) as refused:
        rehearsal._require_layout(engine, replace(CLEAN, **changes), "--new-bindir")
    assert "--new-bindir DIR" in str(refused.value.hint)


def test_a_tablespace_with_remains_of_the_new_version_blocks(tmp_path: Path) -> None:
    (tmp_path / "PG_16_202307071").mkdir()
    state = replace(CLEAN, tablespaces=(("16390", str(tmp_path)),))
    [finding] = state_findings(PLACE, state, 16, 18)
    assert finding.level == "note"
    (tmp_path / "PG_18_202506291").mkdir()
    [finding] = state_findings(PLACE, state, 16, 18)
    assert finding.level == "blocks"
    assert finding.commands == (f"ls {tmp_path}/PG_18_202506291",)
