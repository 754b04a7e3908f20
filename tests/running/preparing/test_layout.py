"""What a weighing charges its arms with: refused where another arm would pay it."""

from __future__ import annotations

import pytest

from steelyard.model.errors import StudyError
from steelyard.running.preparing.layout import which_cost
from steelyard.study.read import read_study
from steelyard.study.study import Study
from steelyard.workloads.reading.scripts import Script

READS, WRITES = (Script("s", "SELECT 1;", 1, 1, writes=writes) for writes in (False, True))


def on_sql_server(*changes: str) -> Study:
    return read_study("page-verify-sqlserver", ['address="sqlserver://sa@h"', *changes])


def test_databases_of_one_server_pay_for_their_own_pages() -> None:
    assert which_cost(on_sql_server(), (WRITES,), "slices")[0] == "whole"
    assert which_cost(on_sql_server("cost=whole"), (WRITES,), "slices")[0] == "whole"


def test_a_cost_that_another_database_would_pay_is_refused() -> None:
    study = on_sql_server("cost=foreground")
    with pytest.raises(StudyError, match="where arms are databases of one server") as refused:
        which_cost(study, (READS, WRITES), "slices")
    assert "in the slices of the others" in (refused.value.detail or "")
    assert which_cost(study, (READS,), "slices")[0] == "foreground"  # it leaves nothing
