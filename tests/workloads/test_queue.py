"""The queue's jobs are each taken once, and its checks find one that was taken twice or lost."""

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
from steelyard.workloads.checks import check, count_work
from steelyard.workloads.loading.template import template
from steelyard.workloads.reading.folder import find_workload
from thinned import thinned

Serve = Callable[[Cluster], AbstractContextManager[Endpoint]]

pytestmark = pytest.mark.postgres

EACH = 150


def ask(address: Endpoint, query: str) -> int:
    with connected(replace(address, database=DATABASE)) as connection:
        [(answer,)] = connection.execute(query.encode()).fetchall()
    return int(str(answer))


@pytest.mark.parametrize("style", ["client", "statement"])
def test_every_job_is_taken_once(style: str, engine18: Postgres, place: Path, serve: Serve) -> None:
    workload = find_workload("queue", {"style": style})
    with serve(engine18.open(template(engine18, workload, 1)).clone(place / "clone")) as address:
        database = PostgresDatabase(address)
        for turn in (1, 2):  # clients of another load are other producers
            line, scripts = drive(workload, address, 1, EACH, clients=8)
            assert check(workload, database, 1, scripts) == []
            done = {script.name: script.transactions for script in line.scripts}
            assert ask(address, "SELECT last_value FROM producers") == 8 * turn
            taken = ask(address, "SELECT count(DISTINCT id) FROM finished")
            assert count_work(workload, database) == {"finished": taken}
            waiting = ask(address, "SELECT count(*) FROM jobs")
            assert taken + waiting == 1000 + ask(
                address, "SELECT last_value - 1000 FROM jobs_id_seq"
            )
            assert sum(done.values()) == 8 * EACH


@thinned("style", ["client", "statement"], 1)
def test_an_empty_queue_is_no_error(
    style: str, engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = find_workload("queue", {"style": style})
    with serve(engine18.open(template(engine18, workload, 1)).clone(place / "clone")) as address:
        with connected(replace(address, database=DATABASE)) as connection:
            connection.execute(b"DELETE FROM jobs")
        line, _ = drive(workload, address, 1, 50, clients=8)
        taken = ask(address, "SELECT count(*) FROM finished")
        dequeues = next(one.transactions for one in line.scripts if one.name.startswith("deq"))
        assert 0 < taken < dequeues


DAMAGE = [
    (
        "INSERT INTO finished (id, producer, number, consumer)"
        " SELECT id, producer, number, 9 FROM finished ORDER BY id LIMIT 1",
        "was taken 2 times",
    ),
    ("DELETE FROM jobs WHERE id = 999", "999 of the 1000 jobs of the load are there"),
    (
        "DELETE FROM jobs WHERE (producer, number) IN"
        " (SELECT producer, min(number) FROM jobs WHERE producer > 0 GROUP BY producer)",
        "but ",
    ),
    (
        "INSERT INTO jobs SELECT id, producer, number, 'x' FROM finished ORDER BY id LIMIT 1",
        "is finished and waits still",
    ),
]


@pytest.mark.parametrize(("statement", "words"), DAMAGE)
def test_checks_find_jobs_that_were_taken_twice_or_lost(
    statement: str, words: str, engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = find_workload("queue")
    with serve(engine18.open(template(engine18, workload, 1)).clone(place / "clone")) as address:
        drive(workload, address, 1, 60)
        assert check(workload, PostgresDatabase(address), 1) == []
        with connected(replace(address, database=DATABASE)) as connection:
            connection.execute(statement.encode())
        violations = check(workload, PostgresDatabase(address), 1)
    assert any(words in text for text in violations), violations


@pytest.mark.long
def test_a_dequeue_without_skip_locked_that_does_not_lock_is_found(
    engine18: Postgres, place: Path, serve: Serve
) -> None:
    """Two clients that read the oldest job before either deletes it both finish it."""
    workload = find_workload("queue")
    with serve(engine18.open(template(engine18, workload, 1)).clone(place / "clone")) as address:
        own = replace(address, database=DATABASE)
        with connected(own) as one, connected(own) as other:
            for connection in (one, other):
                connection.execute(
                    b"INSERT INTO finished (id, producer, number, consumer)"
                    b" SELECT id, producer, number, 1 FROM jobs ORDER BY id LIMIT 1"
                )
            one.execute(b"DELETE FROM jobs WHERE id = 1")
        violations = check(workload, PostgresDatabase(address), 1)
    assert "job 1 was taken 2 times" in violations
