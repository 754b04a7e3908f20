"""Edited documents and time series pass their checks, which find an edit or a reading too few."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from driven import drive

from steelyard.engines.loading import DATABASE
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.sql.database import PostgresDatabase, connected
from steelyard.model.endpoint import Endpoint
from steelyard.workloads.checks import check
from steelyard.workloads.loading.template import template
from steelyard.workloads.reading.folder import find_workload
from thinned import thinned

Serve = Callable[[Cluster], AbstractContextManager[Endpoint]]

pytestmark = pytest.mark.postgres


def rows(address: Endpoint, query: str) -> list[tuple[object, ...]]:
    with connected(replace(address, database=DATABASE)) as connection:
        return [tuple(row) for row in connection.execute(query.encode()).fetchall()]


@pytest.mark.parametrize("gin", ["jsonb_path_ops", "jsonb_ops"])
def test_every_edit_of_a_document_is_there(
    gin: str, engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = find_workload("jsonb", {"gin": gin})
    with serve(engine18.open(template(engine18, workload, 1)).clone(place / "clone")) as address:
        [(size, distinct)] = rows(
            address, "SELECT avg(length(doc::text))::int, count(DISTINCT doc) FROM documents"
        )
        assert 500 < int(str(size)) < 700
        assert distinct == 1000
        line, scripts = drive(workload, address, 1, 100, clients=8)
        assert check(workload, PostgresDatabase(address), 1, scripts) == []
        done = {script.name: script.transactions for script in line.scripts}
        edits = done["edit"] + done["move"]
        assert rows(address, "SELECT sum(edits) FROM documents") == [(edits,)]
        assert line.rows == done["read"] + 10 * done["contains"]
        [(moved,)] = rows(address, "SELECT count(DISTINCT doc ->> 'status') FROM documents")
        assert moved == 5
        of_class = rows(
            address,
            "SELECT count(*) FROM pg_opclass o JOIN pg_index i ON o.oid = i.indclass[0]"
            f" WHERE indexrelid = 'documents_doc'::regclass AND opcname = '{gin}'",
        )
        assert of_class == [(1,)]


@pytest.mark.parametrize("index", ["brin", "btree"])
@pytest.mark.parametrize("devices", [10, 100])
def test_every_tick_is_there_whole(
    index: str, devices: int, engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = find_workload("time-series", {"time_index": index, "devices": devices})
    with serve(engine18.open(template(engine18, workload, 4)).clone(place / "clone")) as address:
        line, scripts = drive(workload, address, 4, 50, clients=4)
        assert check(workload, PostgresDatabase(address), 4, scripts) == []
        done = {script.name: script.transactions for script in line.scripts}
        [(ticks, number, seconds)] = rows(
            address,
            "SELECT count(DISTINCT at), count(*), extract(epoch FROM max(at) - min(at))::int"
            " FROM readings",
        )
        assert ticks == 400 + done["insert"]
        assert number == devices * int(str(ticks))
        assert seconds == 10 * (int(str(ticks)) - 1)
        [(kind,)] = rows(
            address,
            "SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = relam"
            " WHERE relname = 'readings_at'",
        )
        assert kind == index
        expected = 10 * done["overview"] + devices * done["last"]
        slots = line.rows - expected
        assert 12 * done["range"] <= slots <= 13 * done["range"]


DAMAGE = [
    ("jsonb", "UPDATE documents SET edits = edits + 1 WHERE id = 7", "was edited 1 times"),
    (
        "jsonb",
        "UPDATE documents SET doc = jsonb_set(doc, '{customer}', '9') WHERE id = 7",
        "document 7 is not what it was",
    ),
    ("jsonb", "DELETE FROM documents WHERE id = 7", "has 999 rows"),
    ("time-series", "UPDATE readings SET value = value + 1 WHERE device = 3", "device 3 reads"),
    (
        "time-series",
        "DELETE FROM readings WHERE device = 3 AND at < '2026-01-01 00:00:05+00'",
        "99 readings of the tick",
    ),
    ("time-series", "DELETE FROM readings WHERE at < '2026-01-01 00:00:05+00'", "rows, but"),
]


@thinned(("name", "statement", "words"), DAMAGE, 1)
def test_checks_find_what_is_wrong(
    name: str, statement: str, words: str, engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = find_workload(name)
    with serve(engine18.open(template(engine18, workload, 1)).clone(place / "clone")) as address:
        assert check(workload, PostgresDatabase(address), 1) == []
        with connected(replace(address, database=DATABASE)) as connection:
            connection.execute(statement.encode())
        violations = check(workload, PostgresDatabase(address), 1)
    assert any(words in text for text in violations), violations
