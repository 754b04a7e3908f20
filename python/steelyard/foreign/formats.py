"""The formats by name, and which of them a text is in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from steelyard.foreign.hammerdb import is_hammerdb, read_hammerdb
from steelyard.foreign.hyperfine import is_hyperfine, read_hyperfine
from steelyard.foreign.json_text import Document, read_document, read_json
from steelyard.foreign.long import read_long
from steelyard.foreign.pgbench_aggregate import is_aggregate, read_aggregate
from steelyard.foreign.pgbench_log import is_log, read_log
from steelyard.foreign.pgbench_text import is_pgbench, read_pgbench
from steelyard.foreign.recorded import Recorded, is_verdict, read_recorded
from steelyard.foreign.roles import roles_of
from steelyard.foreign.runs import holds_runs, read_runs
from steelyard.foreign.series import Sheet
from steelyard.foreign.source import Source
from steelyard.foreign.steelyard_json import is_drive, read_drive
from steelyard.foreign.table import read_table
from steelyard.foreign.wide import read_wide
from steelyard.model.errors import NumbersError, UsageError

FORMATS = (
    *("csv", "json", "hyperfine", "steelyard"),
    *("pgbench", "pgbench-log", "pgbench-aggregate", "hammerdb"),
)
Columns = Mapping[str, str]
"""Role → the name of the column that has it, as the user said."""


def read_sheet(source: Source, form: str | None = None, columns: Columns | None = None) -> Sheet:
    """The sheet of a source, its format found by content where none is given."""
    if form is not None and form not in FORMATS:
        hint = f"Accepted: {', '.join(FORMATS)}."
        raise UsageError(f'unrecognized format: "{form}"', hint=hint)
    return _READERS[form or format_of(source)](source, columns or {})


def recorded_of(source: Source, form: str | None = None) -> Recorded | None:
    """The verdict of Steelyard that a source holds; None where it holds something else."""
    if form not in (None, "json", "steelyard") or not source.looks_like_json:
        return None
    if '"contrasts"' not in source.text:
        return None
    document = read_document(source)
    return read_recorded(document) if is_verdict(document.values[0]) else None


def format_of(source: Source) -> str:
    """The name of the format that a text is in; a table is what is nothing else."""
    if source.looks_like_json:
        return "json"
    for name, fits in (
        ("pgbench-aggregate", is_aggregate),
        ("pgbench-log", is_log),
        ("pgbench", is_pgbench),
        ("hammerdb", is_hammerdb),
    ):
        if fits(source):
            return name
    return "csv"


def _read_csv(source: Source, columns: Columns) -> Sheet:
    table = read_table(source)
    roles = roles_of(table, columns)
    if roles.arm is not None:
        return read_long(table, roles)
    return read_runs(table, roles) if holds_runs(table, roles) else read_wide(table, roles)


def _read_any_json(source: Source, columns: Columns) -> Sheet:
    document = read_document(source)
    first = document.values[0]
    if is_hyperfine(first):
        return _read_hyperfine(source, columns)
    if is_verdict(first):
        raise _not_numbers(document)
    if all(is_drive(value) for value in document.values):
        return read_drive(document)
    return read_json(document, columns)


def _read_hyperfine(source: Source, columns: Columns) -> Sheet:
    return read_hyperfine(_document_of(source, is_hyperfine, "an export of hyperfine"))


def _read_steelyard(source: Source, columns: Columns) -> Sheet:
    document = _document_of(source, lambda v: is_verdict(v) or is_drive(v), "Steelyard's JSON")
    if is_verdict(document.values[0]):
        raise _not_numbers(document)
    return read_drive(document)


def _not_numbers(document: Document) -> NumbersError:
    return document.source.error(
        "a verdict of Steelyard is no list of numbers: its weighing's own plan judged it",
        document.place(0, ()),
        hint="Name it alone: steelyard judge RECORD shows what it says.",
    )


def _document_of(source: Source, fits: Callable[[object], bool], what: str) -> Document:
    document = read_document(source)
    wrong = next((i for i, value in enumerate(document.values) if not fits(value)), None)
    if wrong is not None:
        raise source.error(f"this is not {what}", document.place(wrong, ()))
    if len(document.values) > 1 and not all(is_drive(value) for value in document.values):
        hint = "Name each in a file of its own: judge on=a.json off=b.json"
        raise source.error(f"more than one of {what}", document.place(1, ()), hint=hint)
    return document


_READERS: Mapping[str, Callable[[Source, Columns], Sheet]] = {
    "csv": _read_csv,
    "json": _read_any_json,
    "hyperfine": _read_hyperfine,
    "steelyard": _read_steelyard,
    "pgbench": lambda source, columns: read_pgbench(source),
    "pgbench-log": lambda source, columns: read_log(source),
    "pgbench-aggregate": lambda source, columns: read_aggregate(source),
    "hammerdb": lambda source, columns: read_hammerdb(source),
}
