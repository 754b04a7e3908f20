"""Lists the formats that `judge` reads and finds the one a text is in; of output that tools print
for people, which is not read, it says what to type to have the same measurements in one that is.

Such a text holds one run in many numbers. Read as a table it would be refused without a hint, or
the wrong column of it would be judged.

To add a format: in a file in `tools/` what recognizes and reads it, and that in `TEXT_FORMATS` or
`JSON_FORMATS` here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from steelyard.foreign.format import JsonFormat, TextFormat
from steelyard.foreign.json_arms import read_json
from steelyard.foreign.json_document import read_document
from steelyard.foreign.series import Sheet
from steelyard.foreign.source import SourceText
from steelyard.foreign.tables.shapes import read_csv
from steelyard.foreign.tools import (
    benchmark_lines,
    benchmark_samples,
    database_loads,
    fio,
    libtest,
    load_summaries,
    pgbench_logs,
    pgbench_output,
    request_logs,
    sql_clients,
    steelyard_output,
    transaction_suites,
)
from steelyard.foreign.tools.steelyard_output import SavedVerdict, is_verdict, read_verdict
from steelyard.model.errors import NumbersError, UsageError

JSON_FORMATS: tuple[JsonFormat, ...] = (
    benchmark_samples.HYPERFINE,
    fio.FORMAT,
    steelyard_output.STEELYARD,
    benchmark_lines.JMH,
    benchmark_lines.GOOGLE,
    benchmark_samples.PYTEST,
    benchmark_samples.CRITERION_SAMPLE,
    transaction_suites.BENCHBASE,
    load_summaries.JSON,
)
TEXT_FORMATS: tuple[TextFormat, ...] = (
    pgbench_output.FORMAT,
    pgbench_logs.LOG,
    pgbench_logs.AGGREGATE,
    transaction_suites.HAMMERDB,
    benchmark_samples.HYPERFINE_TABLE,
    database_loads.SYSBENCH,
    database_loads.SYSBENCH_CSV,
    database_loads.YCSB,
    transaction_suites.BENCHBASE_CSV,
    sql_clients.MYSQLSLAP,
    benchmark_lines.GO,
    libtest.FORMAT,
    benchmark_lines.JMH_TEXT,
    benchmark_lines.GOOGLE_CSV,
    benchmark_samples.CRITERION,
    request_logs.REQUEST_LOG,
    load_summaries.WRK,
    load_summaries.FORMAT,
    sql_clients.PSQL,
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
        telling = _without_numbers_at_end(source)
        form = format_of(telling)
        if form in ("csv", "json"):
            refuse_unread(_bare(telling))
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


_OF_NUMBERS = "0123456789.,;:+-eE \t\n"
_MOST_NUMBERS = 1 << 16


def _without_numbers_at_end(source: SourceText) -> SourceText:
    """The text without most of the numbers that it ends in: they do not tell its format, and there
    may be a million, which each reader would go through."""
    worded = len(source.text.rstrip(_OF_NUMBERS))
    if len(source.text) - worded < 2 * _MOST_NUMBERS:
        return source
    end = source.text.find("\n", worded + _MOST_NUMBERS)
    return replace(source, text=source.text[: end + 1]) if end >= 0 else source


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


@dataclass(frozen=True, slots=True)
class UnreadOutput:
    """How one tool's output for people is recognized, and what to type in its place."""

    tool: str
    lines: tuple[str, ...]
    """Beginnings of lines that all stand in such a text, as patterns."""
    hint: str

    def fits(self, text: str) -> bool:
        """Whether a text is such an output."""
        return all(re.search(f"^{line}", text, re.MULTILINE) for line in self.lines)


_AS_TABLE = "Write what it measured as a table, a row a run: arm,{}"
_BAR = r"[ \t]*"
_HEAD = 1_000_000
"""Characters that are searched: output for people is shorter, or recognizable by then."""
UNREAD = (
    UnreadOutput(
        "go-tpc",
        (r"(?:\[(?:Summary|Current)\] \w+(?: - Takes\(s\))?: [0-9]|tpmC: [0-9.]+, tpmTotal: )",),
        _AS_TABLE.format("tpmC; of TPC-H arm,query,s"),
    ),
    UnreadOutput(
        "BenchmarkSQL", (r".*\bMeasured tpmC \(NewOrders\) = [0-9]",), _AS_TABLE.format("tpmC")
    ),
    UnreadOutput(
        "go-ycsb",
        (r"[A-Z_]+ *- Takes\(s\): [0-9.]+, Count: [0-9]+, OPS: [0-9]",),
        _AS_TABLE.format("ops"),
    ),
    UnreadOutput(
        "oha",
        (rf"{_BAR}Success rate:{_BAR}[0-9]", rf"{_BAR}Requests/sec:{_BAR}[0-9]"),
        "Keep its JSON, a summary a run: oha --output-format json",
    ),
    UnreadOutput(
        "hey",
        (
            rf"{_BAR}Slowest:{_BAR}[0-9]",
            rf"{_BAR}Fastest:{_BAR}[0-9]",
            rf"{_BAR}Requests/sec:{_BAR}[0-9]",
        ),
        "Keep its requests, a file a run: hey -o csv",
    ),
    UnreadOutput(
        "ab",
        (r"Requests per second: +[0-9.]+ \[#/sec\]", r"Time per request: +[0-9.]+ \[ms\]"),
        "Keep its requests, a file a run: ab -g FILE",
    ),
    UnreadOutput(
        "bombardier",
        (r"Statistics +Avg +Stdev +Max", rf"{_BAR}Reqs/sec +[0-9]"),
        _AS_TABLE.format("rps"),
    ),
    UnreadOutput(
        "vegeta",
        (r"Requests +\[total, rate", r"Latencies +\[(?:min, )?mean, 50"),
        "Keep its JSON, a summary a run: vegeta report -type=json",
    ),
    UnreadOutput(
        "k6",
        (r".{0,6}http_req_duration\.*: avg=", r".{0,6}http_reqs\.*: +[0-9]"),
        "Keep its JSON, a file a run: k6 run --summary-export FILE",
    ),
    UnreadOutput(
        "JMeter",
        (r".{0,60}summary [+=] +[0-9]+ in +[0-9:.]+s? = +[0-9.]+/s ",),
        "Keep its requests, a file a run: jmeter -n -l FILE",
    ),
    UnreadOutput(
        "hyperfine",
        (r" *Time \((?:mean ± σ|abs ≡)\): +[0-9]",),
        "Keep its JSON: hyperfine --export-json FILE",
    ),
    UnreadOutput(
        "mysql",
        (
            r"\A(?![\s\S]*^\+-)",  # a table is read, whatever stands below it
            r"(?:[0-9]+ rows? in set|Empty set|Query OK, [0-9]+ rows? affected)\b[^(\n]*"
            r"\([^()\n]*sec\)",
        ),
        _AS_TABLE.format("query,s"),
    ),
    UnreadOutput(
        "fio",
        (r".*: \(groupid=[0-9]+, jobs=[0-9]+\): err= *[0-9]+: pid=",),
        "Keep its JSON, a file a run: fio --output-format=json",
    ),
    UnreadOutput(
        "fio --minimal",
        (r"[0-9];fio-[0-9.]+;",),
        "Keep its JSON, a file a run: fio --output-format=json",
    ),
    UnreadOutput(
        "EXPLAIN ANALYZE",
        (r".*\((?:cost|actual time|actual rows)=[0-9]", r".*\bExecution Time: [0-9.]+ ms"),
        "Keep the times alone, a file an arm: grep -h 'Execution Time' FILES > on.txt",
    ),
    UnreadOutput(
        "log_min_duration_statement",
        (r".*\bLOG:  duration: [0-9.]+ ms",),
        "Keep the times alone, a file an arm: grep -o 'duration: [0-9.]* ms' FILE > on.txt",
    ),
    UnreadOutput(
        "grep",
        (rf"[^\s:,;|]{{,99}}[./][^\s:,;|]{{,99}}:{_BAR}(?:tps = |Execution Time: )[0-9.]+",),
        "Leave out the names of files, and write a file an arm: grep -h WORDS FILES > on.txt",
    ),
    UnreadOutput(
        "docker compose",
        (r"[\w.-]+ +\| (?:tps = |latency average = )[0-9.]+",),
        "Keep what the program itself printed: docker compose logs --no-log-prefix SERVICE > FILE",
    ),
    UnreadOutput(
        "psql -x", (r"[-─]+\[ \w+ 1 \]",), "Turn \\x off, or write a table: psql --csv > FILE"
    ),
    UnreadOutput(
        "GNU time",
        (r"\s*Elapsed \(wall clock\) time \(h:mm:ss or m:ss\): ",),
        "Write a line a run: time -f %E -a -o FILE COMMAND",
    ),
    UnreadOutput(
        "SET STATISTICS TIME", (r"\s*SQL Server Execution Times:",), _AS_TABLE.format("query,ms")
    ),
    UnreadOutput(
        "redis-benchmark",
        (r"====== .+ ======", rf"{_BAR}[0-9.]+ requests completed in "),
        "Keep its CSV: redis-benchmark --csv",
    ),
    UnreadOutput("tpcc-mysql", (rf"{_BAR}[0-9.]+ TpmC{_BAR}$",), _AS_TABLE.format("tpmC")),
)
_MARKUP = re.compile(r"\s*<(?:!doctype|html|head|body|table|\?xml)\b", re.IGNORECASE)


def refuse_unread(source: SourceText) -> None:
    """NumbersError where a text is such an output, with what to type instead."""
    head = source.text[:_HEAD]
    if _MARKUP.match(head):
        raise source.error(
            "this is HTML or XML, which is not read",
            hint="Save its table as CSV; psql writes one by --csv.",
        )
    for output in UNREAD:
        if output.fits(head):
            raise _unread_error(source, output)


def _unread_error(source: SourceText, output: UnreadOutput) -> NumbersError:
    return source.error(
        f"this is what {output.tool} prints for people, which is not read", hint=output.hint
    )
