"""An arm's own data is the loaded data with its SQL executed, made once and whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.engines.cache import open_cache
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.sql.database import connected
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError, ServerError
from steelyard.workloads.loading import template
from steelyard.workloads.loading.template import key_after_sql, template_after_sql

Serve = Callable[[Cluster], AbstractContextManager[Endpoint]]
SQL = ("ALTER TABLE pgbench_branches SET (fillfactor = 42)", "VACUUM FULL pgbench_branches")


def silent(stage: str) -> None:
    """Says nothing."""


def test_other_statements_or_another_load_are_another_template(tmp_path: Path) -> None:
    first, second = tmp_path / "one" / "data", tmp_path / "two" / "data"
    assert key_after_sql(first, SQL) == key_after_sql(first, list(SQL))
    keys = {key_after_sql(first, SQL), key_after_sql(first, SQL[:1]), key_after_sql(second, SQL)}
    keys.add(key_after_sql(first, SQL, [7]))  # statistics gathered otherwise
    assert len(keys) == 4
    assert key_after_sql(first, SQL).startswith("one-sql-")


@pytest.mark.long
@pytest.mark.postgres
def test_the_loaded_data_stay_and_the_copy_is_made_once(
    engine: Postgres, loaded: Path, place: Path, serve: Serve
) -> None:
    before = (loaded / "global" / "pg_control").read_bytes()
    said: list[str] = []
    made = template_after_sql(engine, loaded, SQL, "42", said.append, copies=2)
    assert said[:2] == ['copy the data for arm "42"', 'execute the sql of arm "42"']
    assert (loaded / "global" / "pg_control").read_bytes() == before
    described = json.loads((made.parent / "template.json").read_text())
    assert described["sql"] == list(SQL)
    assert described["rows"] == 100_011
    said.clear()
    assert template_after_sql(engine, loaded, SQL, "other", said.append, copies=2) == made
    assert said == []
    query = b"SELECT reloptions FROM pg_class WHERE relname = 'pgbench_branches'"
    with (
        serve(engine.open(made).clone(place / "clone")) as address,
        connected(replace(address, database="steelyard")) as connection,
    ):
        found = connection.execute(query).fetchone()
    assert found is not None
    assert "fillfactor=42" in found[0]


@pytest.mark.long
@pytest.mark.postgres
def test_a_refused_statement_is_quoted_and_leaves_no_template(
    engine: Postgres, loaded: Path
) -> None:
    wrong = ("ALTER TABLE nowhere ADD a int",)
    with pytest.raises(ServerError, match='sql of arm "b"') as refused:
        template_after_sql(engine, loaded, wrong, "b", silent, copies=2)
    assert "nowhere" in " ".join(refused.value.lines())
    assert not (open_cache().templates / key_after_sql(loaded, wrong)).exists()


@pytest.mark.postgres
def test_too_little_room_is_said_before_anything_is_copied(
    engine: Postgres, loaded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(template, "free_bytes", lambda root: 1 << 20)
    with pytest.raises(EngineError, match="could not copy the data for an arm"):
        template_after_sql(engine, loaded, ("SELECT 1",), "b", silent, copies=2)
