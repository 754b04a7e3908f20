"""What a resumed weighing must find as it was: other rows are refused, and the same rows loaded
anew are said."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from steelyard.model.errors import UsageError
from steelyard.record.environment import Environment
from steelyard.record.record import Record
from steelyard.running.preparing.planning import (
    changes_of_loads,
    files_of_loads,
    require_same_work,
)
from steelyard.workloads.loading.template import FORMAT, TemplateDescription

FIRST = TemplateDescription(
    format=FORMAT,
    version="18.4",
    builder="gcc",
    workload="pgbench",
    options={"partitions": 0},
    digest="d1",
    scale=5,
    rows=500_000,
    tables={"accounts": 500_000},
    digests={"accounts": "b1"},
    database_bytes=80_000_000,
    bytes=110_000_000,
    load_seconds=2.5,
    system_identifier=7_001,
    made="2026-11-29T10:00:00Z",
    seconds=4.5,
    files="f1",
)
ANEW = replace(FIRST, system_identifier=7_002, made="2026-11-29T11:00:00Z", seconds=9.9)
CONTROL_FILE = "template pg_control"


def environment_of(directory: Path, **arms: tuple[TemplateDescription, ...]) -> Environment:
    """Of arms with these loads."""
    templates = {}
    for arm, loads in arms.items():
        templates[arm] = [directory / f"{arm}-{number}" / "data" for number in range(len(loads))]
        for data, described in zip(templates[arm], loads, strict=True):
            data.mkdir(parents=True, exist_ok=True)
            (data.parent / "template.json").write_text(json.dumps(asdict(described)))
    return Environment(files=files_of_loads(templates))


def test_the_same_loads_are_no_change(tmp_path: Path) -> None:
    before, now = (environment_of(tmp_path, on=(FIRST, ANEW), off=(FIRST,)) for _ in range(2))
    assert len(before.files) == 4
    assert changes_of_loads(before, now) == []
    require_same_work(Record(tmp_path), before, now)


@pytest.mark.parametrize(
    ("loads", "said"),
    [
        ({"on": (ANEW,), "off": (ANEW,)}, "the data were loaded anew"),
        ({"on": (FIRST,), "off": (ANEW,)}, "the data of off were loaded anew"),
        ({"on": (replace(FIRST, files="f2"),), "off": (FIRST,)}, "the data of on were loaded anew"),
    ],
)
def test_the_same_rows_loaded_anew_are_said(
    tmp_path: Path, loads: dict[str, tuple[TemplateDescription, ...]], said: str
) -> None:
    before = environment_of(tmp_path / "before", on=(FIRST,), off=(FIRST,))
    now = environment_of(tmp_path / "now", **loads)
    assert changes_of_loads(before, now) == [said]
    require_same_work(Record(tmp_path), before, now)


@pytest.mark.parametrize(
    "other",
    [
        {"digest": "d2"},
        {"scale": 6},
        {"options": {"partitions": 4}},
        {"tables": {"accounts": 500_001}},
        {"digests": {"accounts": "b2"}},
        {"sql": ["VACUUM FULL accounts"]},
        {"source": {"database": "shop"}},
    ],
)
def test_other_rows_are_refused(tmp_path: Path, other: dict[str, object]) -> None:
    before = environment_of(tmp_path / "before", on=(FIRST, FIRST), off=(FIRST,))
    changed = replace(ANEW, **other)  # type: ignore[arg-type]
    now = environment_of(tmp_path / "now", on=(FIRST, changed), off=(FIRST,))
    with pytest.raises(UsageError, match='the data of arm "on" hold other rows') as refused:
        require_same_work(Record(tmp_path), before, now)
    assert "weigh anew: steelyard weigh" in (refused.value.hint or "")


def test_an_older_record_knows_the_control_file_of_one_load_alone(tmp_path: Path) -> None:
    now = environment_of(tmp_path, on=(FIRST,), off=(FIRST,))
    older = Environment(files={CONTROL_FILE: "c1"})
    for control, said in (("c1", []), ("c2", ["the data were loaded anew"])):
        here = now.model_copy(update={"files": {**now.files, CONTROL_FILE: control}})
        assert changes_of_loads(older, here) == said
        require_same_work(Record(tmp_path), older, here)
    assert changes_of_loads(Environment(), now) == []
    require_same_work(Record(tmp_path), Environment(), now)


def test_a_load_of_which_nothing_is_known_is_of_no_digest(tmp_path: Path) -> None:
    assert files_of_loads({"on": [tmp_path / "none" / "data"]}) == {}
