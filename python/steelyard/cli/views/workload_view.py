"""Formats workloads: those that there are, the result of loading one, and what was captured of a
log: its kinds, and what became of every statement.
"""

from __future__ import annotations

import json
import math
import shlex
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from steelyard.cli.driving.passing import QUANTILES, Passed, Status
from steelyard.cli.views.text_layout import WHOLE, hanging
from steelyard.model.files.printable import printable_line
from steelyard.model.units import NS_PER_S, format_bytes, format_duration, format_share
from steelyard.workloads.capturing.ledger import (
    LOGGED_WITHOUT_VALUES,
    LOGS_VALUES,
    CaptureLedger,
    StatementOutcome,
)
from steelyard.workloads.capturing.mix import TransactionKind
from steelyard.workloads.capturing.writing import Captured
from steelyard.workloads.reading.arrivals import MOST_ARRIVALS
from steelyard.workloads.reading.command_words import folder_word
from steelyard.workloads.reading.workload import Workload

PURPOSES = {
    "transactions": ("pgbench", "reserva", "sysbench", "tproc-c", "tproc-c-client", "ycsb"),
    "parts of applications": ("insert-read", "jsonb", "queue", "select-insert", "time-series"),
    "slow queries": ("htap", "tproc-h"),
}
"""What built-in workloads are for, in the order in which they are listed; others are yours."""


def list_lines(workloads: Sequence[Workload]) -> list[str]:
    """All workloads with their titles, by purpose."""
    width = max(len(workload.name) for workload in workloads)
    purpose_of = {name: purpose for purpose, names in PURPOSES.items() for name in names}
    lines = []
    for purpose in (*PURPOSES, "yours"):
        of_purpose = [w for w in workloads if purpose_of.get(w.name, "yours") == purpose]
        lines += [f"{purpose}:"] if of_purpose else []
        lines += [f"  {w.name:<{width}}  {w.title}" for w in of_purpose]
    return lines


def load_line(facts: dict[str, Any]) -> str:
    """What was loaded, how fast, and where it is."""
    where = facts.get("template") or f'database "steelyard" at {facts["target"]}'
    rate = facts["rows"] / facts["seconds"] if facts["seconds"] else 0
    verb = "was loaded before" if facts.get("cached") else "loaded"
    return (
        f"{facts['workload']} at scale {facts['scale']} {verb}: {facts['rows']:,} rows, "
        f"{format_bytes(facts['bytes'])} in {facts['seconds']:.1f} s ({rate:,.0f} rows/s)\n{where}"
    )


def workload_facts(workload: Workload) -> dict[str, Any]:
    """One workload for --json."""
    options = {name: option.model_dump() for name, option in workload.options.items()}
    return {
        "name": workload.name,
        "title": workload.title,
        "scale_is": workload.scale_is,
        "scale_name": workload.scale_name,
        "default_scale": workload.default_scale,
        "bytes_per_scale": workload.bytes_each,
        "options": options,
        "scripts": list(workload.scripts),
        "mix": workload.mix(),
    }


def workload_lines(workload: Workload) -> list[str]:
    """One workload: its scale, options and scripts."""
    size = format_bytes(workload.bytes_each)
    lines = [
        f"{workload.name}: {workload.title}",
        f"  {workload.scale_name} = {workload.default_scale}: {workload.scale_is}; {size} each",
    ]
    for name, option in workload.options.items():
        default = (
            str(option.default).lower() if isinstance(option.default, bool) else option.default
        )
        lines += [f"  {name} = {default} ({option.accepted})", f"      {option.title}"]
    driven = ", ".join(f"{name} {weight}" for name, weight in workload.mix().items())
    if workload.streams:
        driven = f"{len(workload.streams)} orders of them, a client each in turn"
    lines += [
        f"  scripts: {', '.join(workload.scripts)}",
        f"  driven unless others are named: {driven}",
    ]
    return lines


def capture_lines(
    captured: Captured,
    passed: Passed | None = None,
    database: str | None = None,
    columns: int = WHOLE,
) -> Iterator[str]:
    """A row a kind, what was left out, what was passed through, and what to type next; `database`:
    the one that was captured alone. Sentences are wrapped at `columns`; a command stays whole, to
    be copied."""
    yield from _kind_lines(captured)
    yield ""
    for text in _outcome_lines(captured, passed, database):
        yield from hanging(text, columns)
    command = [
        "steelyard",
        "weigh",
        "checksums",
        "--workload",
        folder_word(captured.folder),
        "--from",
        "DATA",
    ]
    yield f"next    {shlex.join([*command, *(('--database', database) if database else ())])}"
    data = "        (DATA: a base backup, a stopped data directory, a dump, or a server's DSN)"
    yield from hanging(data, columns)


def _kind_lines(captured: Captured) -> Iterator[str]:
    total = sum(kind.count for _, kind in captured.scripts)
    width = max(len(name) for name, _ in captured.scripts)
    yield f"{'kind':<{width}}  {'share':>7}  {'mean':>10}  {'values':>7}  {'pause':>9}"
    for name, kind in captured.scripts:
        mean = f"{_mean_ms(kind):.3f} ms" if kind.timed else "-"
        think = f"{1000 * statistics.median(kind.think_s):.1f} ms" if kind.think_s else "-"
        share = format_share(kind.count / total)
        calls = f"  calls {', '.join(kind.calls)}: may write" if kind.calls else ""
        writes = "  writes" if kind.writes else calls
        values = f"{kind.columns} × {len(kind.rows)}" if kind.columns else "none"
        yield f"{name:<{width}}  {share:>7}  {mean:>10}  {values:>7}  {think:>9}{writes}"


def _outcome_lines(
    captured: Captured, passed: Passed | None, database: str | None
) -> Iterator[str]:
    """What was covered and left out, how it is sent, and what was passed through."""
    yield f"covered: {_shares(captured.statements_share, captured.seconds_share)}"
    ledger = captured.ledger
    if database is None:
        yield from _database_lines(ledger)
    if ledger.timed and not ledger.is_timed:
        yield (
            f"note: the log has the durations of {format_share(ledger.timed_share)} of the "
            "statements, the slow ones: shares of the time are not known, and kinds are ranked by "
            "their number; log_min_duration_statement = 0 logs all durations"
        )
    of_logs = dict.fromkeys(LOGGED_WITHOUT_VALUES, f"; {LOGS_VALUES} logs them")
    remedies = _REMEDIES | (of_logs if passed is None else {})
    for why, count, seconds in captured.left_out:
        yield f"left out: {_shares(count, seconds)}: {why}{remedies.get(why, '')}"
    if ledger.forgotten:
        yield (
            f"note: the server forgot statements {ledger.forgotten} times to make room for others: "
            "those that were called least are in none of these shares, or in part; the extension "
            "that counts them keeps more by a larger .max"
        )
    if passed is None:
        yield from _gap_lines(captured.ledger)
    if ledger.sets:
        names = [f"{name} ({count} times)" for name, count in ledger.sets.most_common(_MOST_NAMED)]
        more = f" and {len(ledger.sets) - len(names)} more" if len(ledger.sets) > len(names) else ""
        yield (
            f"note: sessions set {', '.join(names)}{more}: their statements are driven without, "
            "and may meet other tables, rows or plans; scripts can be edited to say SET LOCAL, or "
            "drive's connection string to say options='-c NAME=VALUE'"
        )
    yield from _sample_lines(captured)
    for refused in captured.refused:
        yield f"cannot be prepared: {refused.name}, {refused.count} times: {refused.error}"
    yield _sent(captured)
    if passed is not None:
        yield from _passed_lines(passed)
    if captured.arrivals is not None:
        folder = shlex.quote(folder_word(captured.folder))
        yield f"{captured.arrivals} arrivals: repeated by drive -w {folder} --pace 1"
    if captured.too_many_arrivals is not None:
        yield (
            f"note: no times of arrival are kept of {captured.too_many_arrivals} transactions, "
            f"more than {MOST_ARRIVALS}; to repeat them at their pace, capture a part of the log"
        )


def _database_lines(ledger: CaptureLedger) -> Iterator[str]:
    """Statements of which databases are one mix, where they are several."""
    count, total = len(ledger.databases), ledger.databases.total()
    if count < 2:
        return
    most = ledger.databases.most_common(_MOST_NAMED)
    shares = [f"{printable_line(name)} ({format_share(of / total)})" for name, of in most]
    more = f" and {count - len(most)} more" if count > len(most) else ""
    yield (
        f"note: statements of {count} databases are one mix: {', '.join(shares)}{more}; driven in "
        "one of them, those of another fail there or meet its rows; --database NAME captures those "
        "of one"
    )


_MOST_NAMED = 5
_REMEDIES = {
    StatementOutcome.WRITES: "; --writes takes them",
    StatementOutcome.NODES: "; the coordinator's log has what clients sent",
    StatementOutcome.HIDDEN: "; GRANT pg_read_all_stats TO the role of the DSN shows it",
}


def _sample_lines(captured: Captured) -> Iterator[str]:
    """Of which kinds fewer values are kept than of others."""
    thinned = [(name, len(kind.rows)) for name, kind in captured.scripts if kind.thinned]
    if thinned:
        name, rows = min(thinned, key=lambda of_kind: of_kind[1])
        more = f" and {len(thinned) - 1} more" if len(thinned) > 1 else ""
        yield (
            f"note: the values of {name} ({rows} executions){more} are a sample of fewer than "
            "10,000 executions: values take 256 MiB of memory at most, and a file of rows 128 MiB"
        )


def _gap_lines(ledger: CaptureLedger) -> Iterator[str]:
    """What the log seems not to have."""
    completeness = ledger.completeness
    if completeness.lacks_entries:
        missing, total = completeness.missing, completeness.missing + completeness.numbered
        yield (
            f"note: by the numbers that the server gave them {missing} of {total} lines "
            f"({format_share(missing / total)}) are not in the log, as where syslog or journald "
            "drop what comes too fast, or a filter did: they are in none of these shares; "
            "transactions, pauses and arrivals have gaps there"
        )
    if ledger.is_slow_alone:
        yield (
            f"note: no statement of the log took less than {completeness.least_ms:g} ms: unless "
            "log_min_duration_statement was 0, what was quicker is in none of these shares, BEGIN "
            "and COMMIT among it"
        )
    elif completeness.lacks_reads:
        yield (
            f"note: of statements without a duration the log has {completeness.untimed_changes} "
            "that change something, and none that reads or begins a transaction: unless "
            "log_statement was all, what reads is in none of these shares, BEGIN and COMMIT "
            "neither; log_min_duration_statement = 0 logs every statement"
        )
    elif completeness.is_partial:
        yield (
            f"note: the log lacks the BEGIN of {completeness.unbegun} transactions, beside "
            f"{completeness.begun} that have it: if it is a sample (log_statement_sample_rate) or "
            "of slow statements alone, shares are those of what was logged, and transactions come "
            "apart"
        )


def _sent(captured: Captured) -> str:
    """How statements are sent, and how they came, unless a server only counted them."""
    came, total = captured.protocols, captured.protocols.total()
    if not total:
        unknown = "how they came, and with which values, is not known"
        return f"statements are sent as {captured.mode}: {unknown}"
    others = [
        f"{format_share(came[protocol] / total)} came {protocol}"
        for protocol in came
        if protocol != captured.mode and came[protocol]
    ]
    if not others:
        return f"statements are sent as {captured.mode}, as they were"
    return f"statements are sent as {captured.mode}: {', '.join(others)}"


def _passed_lines(passed: Passed) -> Iterator[str]:
    """What was passed through, what the proxy added, and what is not in the record."""
    status, added = passed.status, passed.added
    yield (
        f"passed through: {status['connections']} connections in "
        f"{format_duration(passed.seconds * NS_PER_S)}{_counted(status)}"
    )
    if added.forwards:
        typical, _, late, latest = (format_duration(ns) for ns in added.quantiles_ns)
        yield (
            f"added from receipt to forward: median {typical}, 99 % {late}, 99.9 % {latest}, "
            f"greatest {format_duration(added.max_ns)}, {added.forwards} forwards"
        )
    if status["slow"]:
        yield f"{status['slow']} forwards waited for an end that was slow to take them"
    if status["full"]:
        yield "note: the record is not whole: its file was full, or the disk too slow for it"


_COUNTS = (
    ("encrypted", "encrypted"),
    ("cancels", "cancel requests passed on"),
    ("replication", "of replication, not recorded"),
    ("unreadable", "not recorded to their end: they could not be read"),
    ("unreachable", "refused: no connection to the server"),
    ("refused", "refused: not PostgreSQL's protocol, or too many"),
)


def _counted(status: Status) -> str:
    counts = [f"{count} {label}" for name, label in _COUNTS if (count := status[name])]
    return f" ({'; '.join(counts)})" if counts else ""


def _mean_ms(kind: TransactionKind) -> float:
    return 1000 * kind.seconds / kind.count


def _shares(count: float, seconds: float | None) -> str:
    of_time = "" if seconds is None else f", {format_share(seconds)} of their time"
    return f"{format_share(count)} of the statements{of_time}"


def captured_json(captured: Captured, passed: Passed | None = None) -> str:
    """One JSON object."""
    through = {} if passed is None else {"passed": _passed_facts(passed)}
    ledger = captured.ledger
    least_ms = ledger.completeness.least_ms
    facts = {
        "folder": str(captured.folder),
        "mode": captured.mode,
        "protocols": dict(captured.protocols),
        "statements": ledger.total,
        "arrivals": captured.arrivals,
        "databases": dict(ledger.databases),
        "sets": dict(ledger.sets),
        "forgotten": ledger.forgotten,
        "least_ms": least_ms if math.isfinite(least_ms) else None,
        "without_begin": ledger.completeness.unbegun,
        "missing_lines": ledger.completeness.missing,
        "captured": ledger.statements[StatementOutcome.CAPTURED],
        "statements_share": captured.statements_share,
        "seconds_share": captured.seconds_share,
        "timed_share": ledger.timed_share,
        "kinds": [
            {
                "script": name,
                "fingerprint": kind.fingerprint,
                "count": kind.count,
                "mean_ms": _mean_ms(kind) if kind.timed else None,
                "median_ms": 1000 * statistics.median(kind.times_s) if kind.timed else None,
                "writes": kind.writes,
                "calls": list(kind.calls),
                "rows": len(kind.rows),
                "thinned": kind.thinned,
            }
            for name, kind in captured.scripts
        ],
        "left_out": [
            {
                "why": why,
                "statements": ledger.statements[why],
                "statements_share": count,
                "seconds_share": seconds,
            }
            for why, count, seconds in captured.left_out
        ],
        "refused": [
            {"name": refused.name, "count": refused.count, "error": refused.error}
            for refused in captured.refused
        ],
    }
    return json.dumps(facts | through)


def _passed_facts(passed: Passed) -> dict[str, object]:
    added = passed.added
    quantiles = {f"p{100 * q:g}": ns for q, ns in zip(QUANTILES, added.quantiles_ns, strict=True)}
    return {
        "seconds": passed.seconds,
        **passed.status,
        "added_ns": {
            "forwards": added.forwards, "mean": added.mean_ns, "max": added.max_ns, **quantiles
        },
    }  # fmt: skip
