"""Loads and drives a workload on MySQL or MariaDB, and compares its rows with PostgreSQL's."""

from __future__ import annotations

from dataclasses import replace

from driven import plan_of

from driver.mysqld import Mysqld
from steelyard.driver.answer import SliceAnswer
from steelyard.driver.client import Driver
from steelyard.driver.plan import SliceRequest
from steelyard.engines.loading import WorkloadDatabase
from steelyard.engines.mysql.sql.database import MysqlDatabase
from steelyard.engines.mysql.uri import read_uri
from steelyard.model.endpoint import POSTGRES
from steelyard.workloads.loading.load import load
from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.scripts import Script
from steelyard.workloads.reading.workload import Workload

Rows = dict[str, tuple[int, int]]
"""Table → how many rows it has, and the sum of their checksums."""


def loaded(
    server: Mysqld, name: str, scale: int, options: dict[str, object] | None = None
) -> tuple[MysqlDatabase, Workload]:
    """A workload, freshly loaded into a server."""
    database = MysqlDatabase(read_uri(server.uri()))
    workload = find_workload(name, options, database.kind)
    load(workload, database, scale, replacing=True)
    return database, workload


def drive_there(
    server: Mysqld, database: MysqlDatabase, workload: Workload, scale: int, each: int, clients: int
) -> tuple[SliceAnswer, list[Script]]:
    """The line of one slice of the workload's own mix, and its scripts; deadlocks are tried again,
    and nothing else may have failed."""
    plan, scripts = plan_of(workload, read_uri(server.uri()), scale, clients)
    arms = tuple(replace(arm, session=database.session) for arm in plan.arms)
    with Driver.start(replace(plan, arms=arms, max_tries=50)) as driver:
        [line] = driver.run([SliceRequest(arm=0, each=each, length_ns=600_000_000_000)])
    assert (line.errors, line.failed, line.wrong_rows) == ({}, 0, 0), line
    assert line.transactions == each * clients
    return line, scripts


def rows_in(database: WorkloadDatabase, workload: Workload, *, days: bool) -> Rows:
    """The tables of a workload. Of times their days, or only whether there is one."""
    found = {}
    with database.loader() as loader:
        for table in workload.tables:
            schema = "current_schema()" if database.kind == POSTGRES else "DATABASE()"
            columns = loader.rows(
                "SELECT column_name, data_type FROM information_schema.columns "
                f"WHERE table_name = '{table.name}' AND table_schema = {schema} "
                "ORDER BY ordinal_position",
                table.name,
            )
            texts = [_text(database.kind, name, kind, days=days) for name, kind in columns]
            line = f"concat_ws('|', {', '.join(texts)})"
            if database.kind == POSTGRES:
                line = f"convert_to({line}, 'UTF8')"
            query = f"SELECT count(*), sum(crc32({line})) FROM {table.name}"
            [(rows, total)] = loader.rows(query, table.name)
            found[table.name] = (int(rows), int(total))
    return found


def _text(engine: str, column: str, kind: str, *, days: bool) -> str:
    """A column as a text that is the same on all engines; spaces at its end, which
    char(n) has on one of them, are left out."""
    value = column
    if kind.startswith(("timestamp", "datetime")):
        present = f"CASE WHEN {column} IS NULL THEN 'none' ELSE 'some' END"
        value = f"cast({column} AS date)" if days else present
    shown = f"({value})::text" if engine == POSTGRES else f"cast({value} AS char)"
    return f"coalesce(rtrim({shown}), '-')"


def numbers(database: WorkloadDatabase, query: str) -> tuple[int, ...]:
    """The numbers of the one row that a query answers with."""
    with database.checker() as checker:
        [row] = checker.rows(query, "the test")
    return tuple(int(number) for number in row)
