"""What a folder says wrongly is said by file and statement, and no load passes over it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from folders import write_folder

from steelyard.engines.cache import open_cache
from steelyard.engines.engine import Slot
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.sql.database import PostgresDatabase
from steelyard.engines.registry import open_run
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import SteelyardError
from steelyard.workloads.checks import count_work
from steelyard.workloads.loading.load import LoadReport, load
from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.workload import Workload
from thinned import thinned

Load = Callable[[Workload], LoadReport]


@pytest.fixture(scope="module")
def address(engine18: Postgres) -> Iterator[Endpoint]:
    """A server that is loaded into again and again."""
    with open_run(open_cache(), engine18.account) as registered:
        cluster = engine18.create(registered.directory / "data", protection="checksums")
        slot = Slot(0, registered.directory / "slot0", registered.sockets, 5432)
        cluster.start(slot, {"fsync": "off"})
        try:
            yield cluster.address
        finally:
            cluster.stop()


def refused(address: Endpoint, folder: Path) -> str:
    with pytest.raises(SteelyardError) as told:
        load(find_workload(str(folder)), PostgresDatabase(address), 3, replacing=True)
    return str(told.value)


@pytest.mark.postgres
@thinned(
    ("file", "text", "words"),
    [
        ("schema", "CREATE TABLE things (n itn);", ('type "itn" does not exist', "(n itn)")),
        ("load", "INSERT INTO thing SELECT 1;", ('"thing" does not exist', "INTO thing SELECT")),
        ("keys", "CREATE INDEX ON things (m);", ('"m" does not exist', "ON things (m)")),
        ("constraints", "ALTER TABLE things ADD\n  PRIMARY KEY (m);", ("ADD PRIMARY KEY (m)",)),
        ("routines", "SELECT 1; SELECT nothing();", ("nothing() does not exist",)),
        ("checks", "SELECT n FROM thing;", ('"thing" does not exist', "SELECT n FROM thing")),
        ("last", "INSERT INTO things VALUES (now());", ("is of type integer", "VALUES (now())")),
    ],
    2,
)
def test_a_statement_that_fails_is_named_with_its_file(
    address: Endpoint, tmp_path: Path, file: str, text: str, words: tuple[str, ...]
) -> None:
    said = refused(address, write_folder(tmp_path, **{file: text}))
    assert said.startswith(f'error: workload "mine": {file}.sql: ')
    for word in words:
        assert word in said


@pytest.mark.postgres
def test_a_schema_that_makes_another_table_is_told_so(address: Endpoint, tmp_path: Path) -> None:
    said = refused(address, write_folder(tmp_path, schema="CREATE TABLE thing (n int);"))
    assert 'workload "mine": schema.sql: it makes no table "things"' in said


@pytest.mark.postgres
@thinned(
    ("query", "words"),
    [
        ("SELECT 'job 1'", "job 1"),
        ("SELECT max(n) FROM things WHERE n < 0", "NULL"),
        ("SELECT n FROM things WHERE n < 0", "Rows: 0"),
        ("SELECT n FROM things", "Rows: 3; the first: 1"),
        ("SELECT 1, 2", "1, 2"),
        ("SELECT 'nan'::float8", "nan"),
        ("SELECT nothing FROM things", '"nothing" does not exist'),
    ],
    2,
)
def test_a_count_that_is_not_one_number_is_found_by_the_load(
    address: Endpoint, tmp_path: Path, query: str, words: str
) -> None:
    said = refused(address, write_folder(tmp_path, toml=f'[counts]\ndone = "{query}"\n'))
    assert said.startswith('error: workload "mine": key "counts.done": ')
    assert words in said


@pytest.mark.postgres
@pytest.mark.parametrize("kind", ["int", "bigint", "numeric", "float8"])
def test_a_count_may_be_of_any_type_of_numbers(
    address: Endpoint, tmp_path: Path, kind: str
) -> None:
    query = f"SELECT count(*)::{kind} FROM things"
    workload = find_workload(str(write_folder(tmp_path, toml=f'[counts]\ndone = "{query}"\n')))
    load(workload, PostgresDatabase(address), 3, replacing=True)
    assert count_work(workload, PostgresDatabase(address)) == {"done": 3.0}


TOLD = """
[[tables]]
name = "others"
rows_per_scale = 0
last_per_scale = "2 * :more"
[options.more]
title = "rows inserted last"
default = 5
loads = true
"""
SCHEMA = "CREATE TABLE things (n int); CREATE TABLE others (n int);"
LAST = "SET synchronous_commit = on; INSERT INTO others SELECT generate_series(1, {});"


@pytest.mark.postgres
def test_rows_inserted_last_are_counted_by_their_command_tag(
    address: Endpoint, tmp_path: Path
) -> None:
    last = LAST.format("2 * :scale * :more - 1") + " INSERT INTO public.others VALUES (0);"
    folder = write_folder(tmp_path, toml=TOLD, schema=SCHEMA, last=last)
    report = load(
        find_workload(str(folder), {"more": 7}), PostgresDatabase(address), 3, replacing=True
    )
    assert report.tables == {"things": 3, "others": 42}
    assert report.rows == 45


@pytest.mark.postgres
def test_other_rows_inserted_last_than_were_said_are_an_error(
    address: Endpoint, tmp_path: Path
) -> None:
    folder = write_folder(tmp_path, toml=TOLD, schema=SCHEMA, last=LAST.format("29"))
    assert "last.sql inserted 29 rows, not 30" in refused(address, folder)


def test_what_is_ignored_in_closing_a_connection_is_no_message() -> None:
    script = (
        "import logging, steelyard.engines.postgres.sql.database; "
        "logging.getLogger('psycopg').warning('error ignored')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
