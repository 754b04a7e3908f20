"""Which layout a weighing has, and what it charges its arms with: refused where another arm would
pay it."""

from __future__ import annotations

import pytest

from steelyard.model.errors import StudyError
from steelyard.record.plan import LayoutChoice
from steelyard.running.layout_choice import LAYOUTS, choose_layout
from steelyard.running.preparing.memory_room import MemoryRoom, memory_room
from steelyard.study.read import read_study
from steelyard.study.study import Study
from steelyard.workloads.reading.scripts import Script

READS, WRITES = (Script("s", "SELECT 1;", 1, 1, writes=writes) for writes in (False, True))


def on_sql_server(*changes: str) -> Study:
    return read_study("page-verify-sqlserver", ['address="sqlserver://sa@h"', *changes])


def test_databases_of_one_server_pay_for_their_own_pages() -> None:
    assert LAYOUTS["slices"].cost(on_sql_server(), (WRITES,))[0] == "whole"
    assert LAYOUTS["slices"].cost(on_sql_server("cost=whole"), (WRITES,))[0] == "whole"


def test_a_cost_that_another_database_would_pay_is_refused() -> None:
    study = on_sql_server("cost=foreground")
    with pytest.raises(StudyError, match="where arms are databases of one server") as refused:
        LAYOUTS["slices"].cost(study, (READS, WRITES))
    assert "in the slices of the others" in (refused.value.detail or "")
    assert LAYOUTS["slices"].cost(study, (READS,))[0] == "foreground"  # it leaves nothing


def versions_of(engine: str) -> Study:
    return read_study("versions", [f"engine={engine}", "workload.name=tpcb-like"])


ROOMY = MemoryRoom({"off": 1 << 30, "pglz": 1 << 30}, 8 << 30)
CROWDED = MemoryRoom({"off": 6 << 30, "pglz": 6 << 30}, 8 << 30)
LARGE = MemoryRoom({"off": 16 << 30, "pglz": 16 << 30}, 8 << 30)


def test_what_acts_through_checkpoints_is_weighed_over_cycles_where_they_can_be_seen() -> None:
    assert choose_layout(versions_of("postgres"), (WRITES,)).name == "cycles"
    for engine in ("mysql", "mariadb"):
        chosen = choose_layout(versions_of(engine), (WRITES,))
        assert chosen == LayoutChoice(
            name="slices", why=f"the checkpoints of {engine} are not seen"
        )


@pytest.mark.parametrize(
    "setting",
    ["wal_compression=pglz", "full_page_writes=off", "wal_log_hints=on", "max_wal_size=4GB",
     "checkpoint_timeout=30min", "shared_buffers=1GB", "synchronous_commit=off", "fsync=off",
     "wal_recycle=off", "wal_init_zero=off", "wal_level=minimal", "commit_delay=100",
     "bgwriter_delay=10ms", "autovacuum=off", "vacuum_cost_limit=1000", "archive_mode=on",
     "archive_timeout=10s", "summarize_wal=on", "debug_io_direct=data", "WAL_Compression=pglz"],
)  # fmt: skip
def test_what_acts_through_checkpoints_is_weighed_in_cycles_where_the_work_writes(
    setting: str,
) -> None:
    study = read_study("settings", [f"arm.settings.{setting}", "workload.name=tpcb-like"])
    assert choose_layout(study, (WRITES,)).name == "cycles"
    assert choose_layout(study, (READS,)).name == "slices"
    assert choose_layout(study, (READS, WRITES)).name == "cycles"


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("ALTER TABLE t SET (fillfactor = 50)", "fillfactor acts"),
        ("alter table t set unlogged", "unlogged acts"),
        ("ALTER TABLE t SET (autovacuum_enabled = off)", "autovacuum_enabled acts"),
        ("ALTER DATABASE d SET synchronous_commit = off", "synchronous_commit acts"),
        ("ALTER ROLE r SET Wal_Compression TO lz4", "wal_compression acts"),
        ("ALTER TABLE t SET (fillfactor=9, vacuum_truncate=off)", "fillfactor and vacuum_truncate"),
        ("CREATE INDEX ON versions (version)", ""),
        ("CHECKPOINT; VACUUM FREEZE t", ""),
        ("ALTER DATABASE d SET work_mem = '8MB'", ""),
    ],
)
@pytest.mark.parametrize("side", ["arm", "control"])
def test_what_acts_so_is_seen_in_sql_too_where_one_arm_alone_executes_it(
    side: str, statement: str, names: str
) -> None:
    study = read_study("settings", ["workload.name=tpcb-like", "arm.settings.work_mem=64MB"])

    def executing(*sides: str) -> Study:
        sql = {"sql": (statement,)}
        control, arm = (
            each.model_copy(update=sql) if name in sides else each
            for name, each in (("control", study.control), ("arm", study.arms[0]))
        )
        return study.model_copy(update={"control": control, "arms": (arm,)})

    chosen = choose_layout(executing(side), (WRITES,))
    assert chosen.name == ("cycles" if names else "slices")
    assert names in chosen.why
    assert choose_layout(executing("control", "arm"), (WRITES,)).name == "slices"
    assert choose_layout(executing(side), (READS,)).name == "slices"


def test_why_cycles_is_one_sentence() -> None:
    assert choose_layout(read_study("wal-compression"), (WRITES,), lambda: ROOMY).why == (
        "the work writes, and wal_compression acts through checkpoints; memory holds all 4 arms "
        "at once"
    )


@pytest.mark.parametrize(
    ("changes", "room", "why"),
    [
        (["memory=1GB"], ROOMY, "memory is capped"),
        (["bound=storage"], ROOMY, "the work is meant to wait for the storage"),
        ([], CROWDED, "memory has no room for 2 arms at once (12 GB needed, 8192 MB free)"),
        ([], LARGE, "what an arm works on is beyond memory (16 GB needed, 8192 MB free)"),
    ],
)
def test_arms_that_cannot_share_the_machine_take_turns(
    changes: list[str], room: MemoryRoom, why: str
) -> None:
    study = read_study("wal-compression", changes)
    chosen = choose_layout(study, (WRITES,), lambda: room)
    assert chosen.name == "turns"
    assert "; one arm at a time: " in chosen.why
    assert why in chosen.why
    assert choose_layout(study, (READS,), lambda: room).name == "slices"


def test_standbys_of_an_arm_take_memory_as_its_server_does() -> None:
    study = read_study("settings", ["arm.replication.standbys=2", "workload.clients=1"])
    room = memory_room(study, {arm.name: 1 << 30 for arm in study.every_arm}, 3 << 30, 20 << 30)
    control, arm = room.needed_bytes.values()
    assert 4 << 30 < control < 5 << 30
    assert arm - control == 8 << 30
    assert not room.lacks
    assert "no room for 2 arms at once" in MemoryRoom(room.needed_bytes, 15 << 30).lacks


def test_cycles_that_memory_has_no_room_for_are_refused_and_turns_offered() -> None:
    study = read_study("wal-compression", ["layout=cycles"])
    for room in (CROWDED, LARGE):
        with pytest.raises(StudyError, match="cannot weigh in cycles") as refused:
            choose_layout(study, (WRITES,), lambda room=room: room)
        assert "--set layout=turns" in (refused.value.hint or "")
    assert choose_layout(study, (WRITES,), lambda: ROOMY).why == "the study says so"


def test_eight_arms_are_weighed_in_cycles_and_nine_in_turns() -> None:
    def arms(count: int, *changes: str) -> Study:
        study = read_study("wal-compression", list(changes))
        every = tuple(
            study.arms[0].model_copy(update={"name": f"arm {number}"}) for number in range(count)
        )
        return study.model_copy(update={"arms": every})

    assert choose_layout(arms(7), (WRITES,)).name == "cycles"
    assert choose_layout(arms(8), (WRITES,)).name == "turns"
    with pytest.raises(StudyError, match="9 arms are too many for cycles: 8 at most"):
        choose_layout(arms(8, "layout=cycles", "budget.cycles=10h"), (WRITES,))


def test_what_acts_otherwise_stays_in_slices() -> None:
    study = read_study("settings", ["arm.settings.work_mem=64MB", "workload.name=tpcb-like"])
    assert choose_layout(study, (WRITES,)).name == "slices"
