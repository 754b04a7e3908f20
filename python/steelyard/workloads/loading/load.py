"""Loads a workload into a running server: tables, rows, keys, statistics, and a marker; and by that
marker makes sure that a server holds what a workload works on before it is driven there.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from steelyard.engines.loading import DATABASE, LoadedData, Loader, WorkloadDatabase
from steelyard.model.errors import ServerError, UsageError
from steelyard.model.script_text import VARIABLE
from steelyard.workloads.checks import counted, violations_after_load
from steelyard.workloads.loading.disk_space import LoadProgress, Report
from steelyard.workloads.loading.tables import (
    Copiers,
    FilledTable,
    Halt,
    Piece,
    fill,
    fill_together,
    require_generators,
    rows_of,
    run_parallel,
)
from steelyard.workloads.reading.option import OptionValue
from steelyard.workloads.reading.workload import LOADING_FILES, Workload, WorkloadTable


@dataclass(frozen=True)
class LoadReport:
    """What a load made."""

    rows: int
    seconds: float
    bytes: int
    tables: dict[str, int]
    """Rows by table."""
    digests: dict[str, str] = field(default_factory=dict)
    """Of the bytes that were sent, by table: equal loads have equal ones."""


def load(
    workload: Workload,
    database: WorkloadDatabase,
    scale: int,
    report: Report | None = None,
    *,
    replacing: bool = False,
    copiers: Copiers | None = None,
) -> LoadReport:
    """Create the database, fill it, and prove by the workload's checks that its data are right.

    Tables in parallel, each made and filled in one transaction, with statistics, or in shares by
    `copiers`; then the keys, in parallel too; then what must come in order. EngineError: the
    database is there already, or cannot be made. ServerError: the server's words, or rows that are
    not those that were sent. UsageError: what the folder says cannot be loaded. DriverError: of
    the copiers.
    """
    workload.check_scale(scale)
    require_generators(workload)
    if workload.kind != database.kind:
        raise UsageError(
            f'workload "{workload.name}" was read for {workload.kind}, not for {database.kind}'
        )
    reported = report or (lambda _: None)
    started = time.monotonic()
    database.create(replacing=replacing)
    with database.loader() as loader:
        loader.begin_mark()
        filled = _fill_tables(loader, database, workload, scale, copiers, reported)
        with loader.transaction():
            _execute(loader, workload, "load.sql", scale)
        rows = {t.name: _count(loader, workload, t, scale, filled) for t in workload.tables}
        _finish(loader, database, workload, scale, reported)
        for table, more in _insert_last(loader, workload, scale, reported).items():
            rows[table] += more
        every = sum(rows.values())
        name, options = workload.loaded_name, json.dumps(workload.loading)
        loader.mark(LoadedData(name, scale, every, workload.digest(), options))
        size = loader.size_bytes()
    seconds = time.monotonic() - started
    digests = {name: table.digest for name, table in filled.items() if table.digest}
    return LoadReport(every, seconds, size, rows, digests)


def before_clients(workload: Workload, database: WorkloadDatabase, scale: int) -> None:
    """Run `before.sql` in the loaded database of a server that has just been started."""
    if statements := workload.statements("before.sql", scale):
        with database.checker() as checker:
            checker.execute(statements, workload.part("before.sql"))


def _fill_tables(
    loader: Loader,
    database: WorkloadDatabase,
    workload: Workload,
    scale: int,
    copiers: Copiers | None,
    report: Report,
) -> dict[str, FilledTable]:
    names = [table.name for table in workload.tables]
    before, groups = by_creation(workload.statements("schema.sql", scale), names)
    if before:
        loader.execute(before, workload.part("schema.sql"))
    if copiers is not None:
        report("load")
        return fill_together(loader, database, workload, scale, groups, copiers, report)
    progress, halt = LoadProgress(report), Halt()
    filled: dict[str, FilledTable] = {}

    encoding = database.encoding
    streams = {t.name: rows_of(workload, t, scale, encoding) for t in workload.tables}
    progress.expect(sum(stream.rows for stream in streams.values() if stream))

    def piece(table: WorkloadTable, loader: Loader) -> None:
        stream = streams[table.name]
        expected = workload.rows_at(table, scale)
        schema = groups.get(table.name, [])
        filled[table.name] = fill(loader, workload, table, expected, schema, stream, progress, halt)
        loader.analyze(table.name)

    report("load")
    pieces = [partial(piece, table) for table in workload.tables]
    run_parallel(database, pieces, _at_once(), halt)
    return filled


def _finish(
    loader: Loader, database: WorkloadDatabase, workload: Workload, scale: int, report: Report
) -> None:
    """Statistics of what SQL has filled, keys, constraints, routines; then checks and counts."""
    if workload.statements("load.sql", scale):
        report("vacuum")
        for table in workload.tables:
            loader.freeze(table.name)
    report("make keys")
    groups = by_table(workload.statements("keys.sql", scale))
    source, halt = workload.part("keys.sql"), Halt()

    def piece(group: Sequence[str], loader: Loader) -> None:
        for statement in group:
            halt.check()
            loader.execute([statement], source)

    pieces: list[Piece] = [partial(piece, group) for group in groups]
    run_parallel(database, pieces, _at_once(), halt)
    for file in ("constraints.sql", "routines.sql"):
        _execute(loader, workload, file, scale)
    report("check")
    counted(loader, workload)
    wrong = violations_after_load(loader, workload, scale)
    if wrong:
        raise ServerError(
            f'could not load workload "{workload.name}": its checks find it wrong',
            detail="; ".join(wrong[:5]),
        )


def _insert_last(loader: Loader, workload: Workload, scale: int, report: Report) -> dict[str, int]:
    """Run `last.sql`; the rows it inserted by table, as its command tags say: no table is read."""
    statements = workload.statements("last.sql", scale)
    if statements:
        report("insert")
    counts = inserted(statements, loader.execute(statements, workload.part("last.sql")))
    for table in workload.tables:
        expected = workload.last_rows_at(table, scale)
        if expected is not None and counts.get(table.name, 0) != expected:
            raise ServerError(
                f'could not fill table "{table.name}": '
                f"last.sql inserted {counts.get(table.name, 0)} rows, not {expected}"
            )
    return {table.name: counts.get(table.name, 0) for table in workload.tables}


def _execute(loader: Loader, workload: Workload, file: str, scale: int) -> None:
    loader.execute(workload.statements(file, scale), workload.part(file))


def _at_once() -> int:
    """Tables loaded at once: one a processor; two on one, for the server works while rows come."""
    return max(2, len(os.sched_getaffinity(0)))


def _count(
    loader: Loader,
    workload: Workload,
    table: WorkloadTable,
    scale: int,
    filled: dict[str, FilledTable],
) -> int:
    """Rows of a table; those that have just been counted are not counted again."""
    if filled[table.name].digest:
        return filled[table.name].rows
    rows = loader.count(table.name)
    expected = workload.rows_at(table, scale)
    if expected is not None and rows != expected:
        raise ServerError(
            f'could not fill table "{table.name}": it has {rows} rows, not {expected}'
        )
    return rows


_NAME = r'(?:"?\w+"?\.)?"?(\w+)"?'
_CREATES = re.compile(
    rf"\bcreate\s+(?:unlogged\s+)?table\s+(?:if\s+not\s+exists\s+)?{_NAME}", re.IGNORECASE
)
_CONCERNS = re.compile(
    rf"\balter\s+table\s+(?:if\s+exists\s+)?(?:only\s+)?{_NAME}"
    rf"|\bcreate\s+(?:unique\s+)?index\b.*?\bon\s+(?:only\s+)?{_NAME}",
    re.IGNORECASE | re.DOTALL,
)
_INSERTS = re.compile(rf"\binsert\s+into\s+{_NAME}", re.IGNORECASE)


def by_creation(
    statements: Iterable[str], tables: Sequence[str]
) -> tuple[list[str], dict[str, list[str]]]:
    """What comes before the first table, and for each table its own statements, in order.

    A statement that creates none of `tables` belongs to the table before it, as its partitions do.
    """
    before: list[str] = []
    groups: dict[str, list[str]] = {}
    current = before
    for statement in statements:
        match = _CREATES.search(statement)
        if match and match[1].lower() in tables:
            current = groups.setdefault(match[1].lower(), [])
        current.append(statement)
    return before, groups


def by_table(statements: Iterable[str]) -> list[list[str]]:
    """Groups that do not wait for each other: the statements of one table stay in order.

    Where a statement does not say which table it is about, all of them are one group.
    """
    groups: dict[str, list[str]] = {}
    every = list(statements)
    for statement in every:
        match = _CONCERNS.search(statement)
        if match is None:
            return [every]
        groups.setdefault((match[1] or match[2]).lower(), []).append(statement)
    return list(groups.values())


def inserted(statements: Iterable[str], rows: Iterable[int]) -> dict[str, int]:
    """Rows that INSERT put into each table, by the command tags of its statements."""
    counts: dict[str, int] = {}
    for statement, count in zip(statements, rows, strict=True):
        if into := _INSERTS.search(statement):
            table = into[1].lower()
            counts[table] = counts.get(table, 0) + max(0, count)
    return counts


def loaded_workload(database: WorkloadDatabase) -> LoadedData | None:
    """What a server says that it was loaded with; None where it has no database of ours."""
    try:
        with database.checker() as checker:
            return checker.loaded()
    except ServerError as failure:
        if f'database "{DATABASE}" does not exist' in (failure.detail or ""):
            return None
        raise


def require_workload(workload: Workload, scale: int, mark: LoadedData | None, host: str) -> None:
    """UsageError where a server does not hold the data of a workload at its scale: `mark` is what
    its database says that it was loaded with, None that Steelyard did not load it."""
    where = f'database "{DATABASE}" of the server at "{host}"'
    load = f"steelyard workloads load {workload.name} TARGET --replace"
    if mark is None:
        raise UsageError(
            f'cannot drive workload "{workload.name}": {where} was not loaded by Steelyard',
            hint=f"Load it first: {load.removesuffix(' --replace')}",
        )
    if mark.workload != workload.loaded_name:
        raise UsageError(
            f'cannot drive workload "{workload.name}" with these options: {where} holds '
            f'"{mark.workload}", not "{workload.loaded_name}"',
            hint=f"Give the options that it was loaded with by --set, or load anew: {load}",
        )
    if mark.scale != scale:
        raise UsageError(
            f"{where} was loaded at scale {mark.scale}, not {scale}", hint="Leave --set out."
        )
    read = _variables_read(workload)
    for name, chosen in workload.loading.items():
        option, loaded = workload.options[name], json.loads(mark.options or "{}").get(name, chosen)
        # A number of partitions, which nothing reads afterwards, changes how rows are kept; a word,
        # and a number of devices that scripts read, what they are.
        matters = option.values or read & {*option.variables(name, chosen)}
        if matters and loaded != chosen:
            other = f"Say --set {shlex.quote(f'{name}={_word(loaded)}')}, or load anew: {load}"
            raise UsageError(
                f'cannot drive workload "{workload.name}" with {name} = {_word(chosen)}: {where} '
                f"was loaded with {name} = {_word(loaded)}",
                hint=f"Load anew: {load}" if option.read(loaded) is None else other,
            )


def _variables_read(workload: Workload) -> set[str]:
    """Variables that are read once the rows are there: by scripts, checks, counts and probes."""
    texts = [
        file.text()
        for name, file in workload.files.items()
        if name.endswith(".sql") and name not in LOADING_FILES
    ]
    texts += workload.counts.values()
    for probe in workload.probes.values():
        texts += [probe] if isinstance(probe, str) else [probe.each, probe.query]
    return {name for text in texts for name in VARIABLE.findall(text)}


def _word(value: OptionValue) -> str:
    """As `--set` has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
