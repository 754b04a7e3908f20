"""Lists the formats that `judge` reads, and finds the one a text is in.

To add one: a file in `tools/` with its `FORMAT`, and that in `TEXT_FORMATS` or `JSON_FORMATS` here.
"""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.foreign.format import JsonFormat, TextFormat
from steelyard.foreign.json.arms import read_json
from steelyard.foreign.json.document import read_document
from steelyard.foreign.series import Sheet
from steelyard.foreign.source import SourceText
from steelyard.foreign.tables.shapes import read_csv
from steelyard.foreign.tools import (
    fio,
    hammerdb,
    hyperfine,
    pgbench_aggregate,
    pgbench_log,
    pgbench_output,
    steelyard_drive,
)
from steelyard.foreign.tools.databases import (
    benchbase,
    mysqlslap,
    psql_timing,
    sysbench,
    ycsb,
)
from steelyard.foreign.tools.http import load_summaries, request_logs
from steelyard.foreign.tools.microbenchmarks import (
    go_bench,
    google_benchmark,
    jmh,
    process_samples,
)
from steelyard.foreign.tools.steelyard_verdict import SavedVerdict, is_verdict, read_verdict
from steelyard.foreign.tools.unread import refuse_unread
from steelyard.model.errors import UsageError

JSON_FORMATS: tuple[JsonFormat, ...] = (
    hyperfine.FORMAT,
    fio.FORMAT,
    steelyard_drive.FORMAT,
    jmh.JSON,
    google_benchmark.JSON,
    process_samples.PYTEST,
    process_samples.CRITERION_SAMPLE,
    benchbase.JSON,
    load_summaries.JSON,
)
TEXT_FORMATS: tuple[TextFormat, ...] = (
    pgbench_output.FORMAT,
    pgbench_log.FORMAT,
    pgbench_aggregate.FORMAT,
    hammerdb.FORMAT,
    hyperfine.TABLE,
    sysbench.FORMAT,
    sysbench.CSV,
    ycsb.FORMAT,
    benchbase.CSV,
    mysqlslap.FORMAT,
    go_bench.FORMAT,
    jmh.TEXT,
    google_benchmark.TEXT,
    process_samples.CRITERION,
    request_logs.FORMAT,
    load_summaries.WRK,
    load_summaries.FORMAT,
    psql_timing.FORMAT,
)
Columns = Mapping[str, str]
"""Role → the name of the column that has it, as the user said."""


def format_names() -> tuple[str, ...]:
    """Every name that `--format` takes."""
    return (
        "csv",
        "json",
        *(reader.name for reader in JSON_FORMATS),
        *(reader.name for reader in TEXT_FORMATS),
    )


def read_sheet(
    source: SourceText, form: str | None = None, columns: Columns | None = None, alone: bool = True
) -> Sheet:
    """The sheet of a source, its format found by content where none is given. `alone`: whether it
    holds all arms, and is not one of several files."""
    if form is not None and form not in format_names():
        hint = f"Accepted: {', '.join(format_names())}."
        raise UsageError(f'unrecognized format: "{form}"', hint=hint)
    if form is None:
        form = format_of(source)
        if form in ("csv", "json"):
            refuse_unread(_bare(source))
    if form == "csv":
        return read_csv(source, columns or {}, alone)
    for text_format in TEXT_FORMATS:
        if form == text_format.name:
            return text_format.read(source)
    return _read_json(source, form, columns or {}, alone)


def saved_verdict_of(source: SourceText, form: str | None = None) -> SavedVerdict | None:
    """The verdict of Steelyard that a source holds; None where it holds something else."""
    if form not in (None, "json", "steelyard") or not source.begins_as_json:
        return None
    if '"contrasts"' not in source.text:
        return None
    document = read_document(source)
    return read_verdict(document) if is_verdict(document.values[0]) else None


def format_of(source: SourceText) -> str:
    """The name of the format that a text is in; a table is what is nothing else."""
    fitting = (reader for reader in TEXT_FORMATS if reader.fits(source))
    if _bare(source).begins_as_json:
        return next((reader.name for reader in fitting if reader.like_json), "json")
    best = min(fitting, key=lambda reader: reader.precedence, default=None)
    return best.name if best else "csv"


def _read_json(source: SourceText, form: str, columns: Columns, alone: bool) -> Sheet:
    """JSON in the named format; by "json" in the one that it is in."""
    document = read_document(_bare(source))
    if not document.values:
        raise source.error("there is no JSON in it")
    for reader in JSON_FORMATS:
        if form == reader.name or (form == "json" and reader.fits(document)):
            reader.check(document)
            return reader.read(document)
    return read_json(document, columns, alone)


def _bare(source: SourceText) -> SourceText:
    """The source without what tools print around their JSON."""
    for reader in JSON_FORMATS:
        source = reader.bare(source)
    return source
