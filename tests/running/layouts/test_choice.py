"""Which layout a weighing has, and what it charges its arms with: refused where another arm would
pay it."""

from __future__ import annotations

import pytest

from steelyard.model.errors import StudyError
from steelyard.running.layouts.choice import LAYOUTS, choose_layout
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


def test_only_engines_whose_checkpoints_are_seen_take_turns_by_themselves() -> None:
    assert choose_layout(versions_of("postgres"), (WRITES,))[0].name == "turns"
    for engine in ("mysql", "mariadb"):
        layout, why = choose_layout(versions_of(engine), (WRITES,))
        assert (layout.name, why) == ("slices", f"the checkpoints of {engine} are not seen")


@pytest.mark.parametrize(
    "setting",
    ["wal_compression=pglz", "full_page_writes=off", "wal_log_hints=on", "max_wal_size=4GB",
     "checkpoint_timeout=30min", "shared_buffers=1GB", "synchronous_commit=off", "fsync=off",
     "wal_recycle=off", "wal_init_zero=off", "wal_level=minimal", "commit_delay=100",
     "bgwriter_delay=10ms", "autovacuum=off", "vacuum_cost_limit=1000"],
)  # fmt: skip
def test_what_acts_through_checkpoints_is_weighed_in_turns_where_the_work_writes(
    setting: str,
) -> None:
    study = read_study("settings", [f"arm.settings.{setting}", "workload.name=tpcb-like"])
    assert choose_layout(study, (WRITES,))[0].name == "turns"
    assert choose_layout(study, (READS,))[0].name == "slices"
    assert choose_layout(study, (READS, WRITES))[0].name == "turns"


def test_what_acts_otherwise_stays_in_slices() -> None:
    study = read_study("settings", ["arm.settings.work_mem=64MB", "workload.name=tpcb-like"])
    assert choose_layout(study, (WRITES,))[0].name == "slices"
