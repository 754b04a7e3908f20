"""The sysbench workload does what sysbench does, statement for statement."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from math import log
from pathlib import Path
from random import Random
from statistics import fmean, pstdev

import pytest
from driven import drive

from steelyard._core import script_statements
from steelyard.engines.loading import DATABASE
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.sql.counters import wait_until_flushed
from steelyard.engines.postgres.sql.database import PostgresDatabase, connected
from steelyard.model.endpoint import Endpoint
from steelyard.workloads.checks import check
from steelyard.workloads.loading.template import template
from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.scripts import script_variables
from steelyard.workloads.reading.workload import Workload
from thinned import thinned

Serve = Callable[[Cluster], AbstractContextManager[Endpoint]]

SYSBENCH = shutil.which("sysbench")
TESTS = sorted(find_workload("sysbench").options["test"].values, key="oltp_delete".__eq__)
"""In an order in which the one after finds enough rows."""
OTHERS = ["uniform", "gaussian", "pareto"]
LONG = pytest.mark.long
EVENTS = 300
DRAWS = 2000
ROWS = 1000
COUNTERS = """
    SELECT n_tup_ins, n_tup_upd, n_tup_del, seq_scan,
           (SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'sbtest1_pkey'),
           (SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'k_1'),
           n_tup_ins + n_tup_upd + n_tup_del + idx_tup_fetch
      FROM pg_stat_user_tables WHERE relname = 'sbtest1'"""
LAYOUT = """
    SELECT string_agg(format('%s %s %s %s', attname, format_type(atttypid, atttypmod), attnotnull,
                             pg_get_expr(adbin, adrelid)), ', ' ORDER BY attnum)
           || (SELECT string_agg(replace(indexdef, ' public.', ' '), ', ' ORDER BY indexdef)
                 FROM pg_indexes WHERE tablename = 'sbtest1')
      FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
     WHERE attrelid = 'sbtest1'::regclass AND attnum > 0"""
NUMBERS = """
    SELECT count(*) FILTER (WHERE k BETWEEN 4951 AND 5050)::float8 / count(*),
           count(*) FILTER (WHERE k <= 2000)::float8 / count(*),
           avg(k)::float8, stddev(k)::float8, avg(length(c))::float8, avg(length(pad))::float8
      FROM sbtest1"""


def fields(address: Endpoint, query: str) -> tuple[object, ...]:
    with connected(address) as connection:
        [row] = connection.execute(query.encode()).fetchall()
    return tuple(row)


def moved(address: Endpoint, do: Callable[[], object]) -> list[int]:
    """How far the counters of `sbtest1` are moved by what is done."""
    seen = []
    for action in (lambda: None, do):
        action()
        wait_until_flushed(conninfo_of(address), 180000)
        seen.append([int(str(field)) for field in fields(address, COUNTERS)])
    return [after - before for before, after in zip(*seen, strict=True)]


def sysbench(address: Endpoint, *words: str) -> str:
    assert SYSBENCH is not None
    command = [
        SYSBENCH,
        "--db-driver=pgsql",
        f"--pgsql-host={address.host}",
        f"--pgsql-port={address.port}",
        f"--pgsql-user={address.user}",
        f"--pgsql-db={address.database}",
        f"--table-size={ROWS}",
        *words,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def reported(said: str) -> tuple[int, int]:
    """Reads of an event, and its statements, as sysbench sums them up."""
    read, total = (re.search(rf"{word}: +(\d+)", said) for word in ("read", "total"))
    assert read is not None
    assert total is not None
    return int(read[1]) // EVENTS, int(total[1]) // EVENTS


def sent(workload: Workload) -> tuple[int, int]:
    """Reads of one execution of the workload's script, and its statements."""
    [name] = workload.mix()
    text = workload.script(name).text()
    given = {"clients": "1", "client_id": "0"}
    given |= {key: str(value) for key, value in workload.variables(1).items()}
    statements = script_statements(name, text, given)
    return sum(one.startswith("SELECT") for one in statements), len(statements)


def beside(address: Endpoint) -> Endpoint:
    """Another database of the same server."""
    with connected(replace(address, database=DATABASE)) as connection:
        connection.execute(b"CREATE DATABASE beside")
    return replace(address, database="beside")


def drawn(random: Random, rand: str) -> int:
    """A row of ten thousand, as sysbench's documentation of --rand-type has it."""
    bell = 1 + int(sum(random.random() for _ in range(12)) / 12 * 10_000)
    match rand:
        case "uniform":
            return random.randint(1, 10_000)
        case "pareto":
            return 1 + int(10_000 * random.random() ** (log(0.2) / log(0.8)))
        case "special" if random.random() < 0.75:
            return random.randint(4951, 5050)
    return bell


def shape(numbers: list[int]) -> list[float]:
    """Shares of the middle hundredth and the first fifth, mean and deviation, of ten thousand."""
    middle = sum(4951 <= number <= 5050 for number in numbers) / len(numbers)
    first = sum(number <= 2000 for number in numbers) / len(numbers)
    return [middle, first, fmean(numbers) / 10_000, pstdev(numbers) / 10_000]


@pytest.mark.parametrize(
    ("test", "rand"),
    [(test, "special") for test in TESTS] + [("oltp_point_select", rand) for rand in OTHERS],
)
def test_a_script_draws_rows_as_sysbench_does(test: str, rand: str) -> None:
    workload = find_workload("sysbench", {"test": test, "rand": rand})
    text = workload.script(test).text()
    given = script_variables(workload, 10, {})
    numbers = []
    for seed in range(DRAWS):
        statements = script_statements(test, text, given, seed)
        first = next(one for one in statements if one != "BEGIN;")
        match = re.search(r"(?:id = |VALUES \(|IN \(|BETWEEN )(\d+)", first)
        assert match is not None, first
        numbers.append(int(match[1]))
    random = Random(7)
    assert shape(numbers) == pytest.approx(
        shape([drawn(random, rand) for _ in range(DRAWS)]), abs=0.035
    )


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.parametrize("rand", ["special", *(pytest.param(r, marks=LONG) for r in OTHERS)])
def test_each_script_does_its_work_with_each_distribution_and_passes_the_checks(
    rand: str, engine18: Postgres, place: Path, serve: Serve
) -> None:
    loaded = template(engine18, find_workload("sysbench", {"rand": rand}), 1)
    with serve(engine18.open(loaded).clone(place / "clone")) as address:
        for test in TESTS:
            workload = find_workload("sysbench", {"test": test, "rand": rand})
            line, scripts = drive(workload, address, 1, 100, clients=1)
            assert check(workload, PostgresDatabase(address), 1, scripts) == [], test
            changes_alone = test.startswith(("oltp_update", "oltp_insert", "oltp_delete"))
            assert (line.rows == 0) == (changes_alone or test == "oltp_write_only"), test


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.skipif(SYSBENCH is None, reason="sysbench is not installed")
def test_counts_are_those_of_sysbench(engine18: Postgres, place: Path, serve: Serve) -> None:
    loaded = template(engine18, find_workload("sysbench", {"rand": "uniform"}), 1)
    with serve(engine18.open(loaded).clone(place / "clone")) as address:
        other, own = beside(address), replace(address, database=DATABASE)
        sysbench(other, "oltp_read_write", "prepare")
        assert fields(other, LAYOUT) == fields(own, LAYOUT)
        with connected(other) as connection:  # for the same plans
            connection.execute(b"VACUUM ANALYZE sbtest1")
        for test in TESTS:
            workload = find_workload("sysbench", {"test": test, "rand": "uniform"})
            words = ("--threads=1", "--time=0", f"--events={EVENTS}", "--rand-type=uniform")
            said = []
            run = partial(sysbench, other, test, *words, "run")
            theirs = moved(other, lambda run=run, said=said: said.append(run()))
            assert sent(workload) == reported(said[0]), test
            ours = moved(own, partial(drive, workload, address, 1, EVENTS, clients=1))
            compare(test, ours, theirs)


def compare(test: str, ours: list[int], theirs: list[int]) -> None:
    """Counters that both moved: equal, but where random keys decide them."""
    inserted, updated, deleted, *scans, rows = zip(ours, theirs, strict=True)
    assert inserted[0] == inserted[1], test
    assert updated[0] == updated[1], test
    if test == "oltp_delete":  # of rows that are drawn again there is nothing left
        assert deleted[0] == pytest.approx(deleted[1], rel=0.2)
    else:
        assert deleted[0] == deleted[1], test
    if not test.startswith("select_random"):  # whose plans follow the statistics of the moment
        for ours_of, theirs_of in scans:  # the planner looks an end of the index up now and then
            assert ours_of == pytest.approx(theirs_of, rel=0.01), (test, scans)
    assert rows[0] == pytest.approx(rows[1], rel=0.2), (test, rows)


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.skipif(SYSBENCH is None, reason="sysbench is not installed")
@pytest.mark.parametrize("rand", ["special", *(pytest.param(r, marks=LONG) for r in OTHERS)])
def test_rows_are_distributed_as_sysbenchs(
    rand: str, engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = find_workload("sysbench", {"rand": rand})
    with serve(engine18.open(template(engine18, workload, 10)).clone(place / "clone")) as address:
        other = beside(address)
        sysbench(other, f"--rand-type={rand}", "--table-size=10000", "oltp_insert", "prepare")
        theirs = [float(str(field)) for field in fields(other, NUMBERS)]
        ours = [float(str(f)) for f in fields(replace(address, database=DATABASE), NUMBERS)]
    assert ours[:2] == pytest.approx(theirs[:2], abs=0.03), "shares of the middle and of the first"
    assert ours[2:4] == pytest.approx(theirs[2:4], rel=0.06), "mean and deviation"
    assert ours[4:] == theirs[4:] == [119, 59], "lengths"


DAMAGE = [
    ("oltp_read_write", "DELETE FROM sbtest1 WHERE id = 7", "has 999 rows, not 1000"),
    ("oltp_read_write", "UPDATE sbtest1 SET id = 5000 WHERE id = 7", "ids from 1 to 5000"),
    ("oltp_read_write", "UPDATE sbtest1 SET c = 'x' WHERE id = 7", 'row 7 of sbtest1 has c "x'),
    ("oltp_insert", "DELETE FROM sbtest1 WHERE id < 900", "rows, but ids up to"),
]


@pytest.mark.postgres
@thinned(("test", "statement", "words"), DAMAGE, 1)
def test_checks_find_rows_that_are_wrong(
    test: str, statement: str, words: str, engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = find_workload("sysbench", {"test": test})
    with serve(engine18.open(template(engine18, workload, 1)).clone(place / "clone")) as address:
        _, scripts = drive(workload, address, 1, 20, clients=1)
        assert check(workload, PostgresDatabase(address), 1, scripts) == []
        with connected(replace(address, database=DATABASE)) as connection:
            connection.execute(statement.encode())
        violations = check(workload, PostgresDatabase(address), 1, scripts)
    assert any(words in text for text in violations), violations
