"""A search can be resumed from what it was begun with, and begins in no folder of another."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.model.errors import RecordError, UsageError
from steelyard.tuning.search.search_plan import SearchPlan, keep_plan, read_plan
from tuning.search.raced import BASIS, STUDY

PLAN = SearchPlan(seed=4, trials=8, durability=(), basis=BASIS, first={"work_mem": "64MB"})


def test_what_it_was_begun_with_is_read_back(tmp_path: Path) -> None:
    keep_plan(tmp_path / "search", PLAN, STUDY)
    plan, study = read_plan(tmp_path / "search")
    assert plan == PLAN
    assert study == STUDY


def test_it_begins_in_an_empty_folder_and_resumes_its_own(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("")
    with pytest.raises(UsageError, match="not empty"):
        keep_plan(tmp_path, PLAN, STUDY)
    with pytest.raises(UsageError, match="there is no search"):
        read_plan(tmp_path)
    (tmp_path / "search.json").write_text("{")
    with pytest.raises(RecordError):
        read_plan(tmp_path)
