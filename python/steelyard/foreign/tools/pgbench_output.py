"""Reads what pgbench prints: the summary at the end, and the lines of `--progress` before it.

One summary is one repetition; several in one file (a loop that appends) are several. Lines of
`--progress` are slices of the one measurement they belong to. Formats of pgbench 9.4 to 18.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.foreign.fixed_rates import requested_rate, sum_of_rates
from steelyard.foreign.format import TextFormat
from steelyard.foreign.metric import Metric
from steelyard.foreign.series import (
    Factor,
    FactorKind,
    Floats,
    RequestedRate,
    Series,
    Sheet,
    TransactionCounts,
)
from steelyard.foreign.source import SourceText, TextPosition, quoted
from steelyard.foreign.tools.measured_runs import FIXED_RATE, refuse_rates_alone
from steelyard.foreign.tools.pgbench_logs import (
    LATENCY_MS,
    RATE,
    ProgressSecond,
    progress_second,
    sheet_of_progress,
)
from steelyard.foreign.vocabulary.units import SECONDS

_NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
_TPS = re.compile(rf"tps = {_NUMBER}(?: \(([a-z ]+)\))?\s*$")
_LATENCY = re.compile(rf"latency average(?: =|:) {_NUMBER} (ms|us|s)(?: \([a-z ]+\))?\s*$")
"""From 15 on with "(including failures)" behind it, where a transaction failed."""
_CLIENTS = re.compile(r"number of clients: ([0-9]+)\s*$")
_MEAN_LAG = re.compile(rf"rate limit schedule lag: (?:avg {_NUMBER})?")
_LAG_ELSEWHERE = re.compile(rf"[^:=]+[:：][^0-9]*{_NUMBER}[^0-9(]*\([^0-9]*{_NUMBER}\) ms\s*$")
"""Printed with -R only, as no other line with two times is."""
_USUAL_SECONDS = 60.0
"""How long a run is thought to be that does not say how many transactions it did."""
_ASKED = {
    "script": re.compile(r"transaction type: (.+)"),
    "scale": re.compile(r"scaling factor: ([0-9]+)"),
    "mode": re.compile(r"query mode: (\w+)"),
    "clients": re.compile(r"number of clients: ([0-9]+)"),
    "threads": re.compile(r"number of threads: ([0-9]+)"),
    "tries": re.compile(r"maximum number of tries: ([0-9]+)"),
    "duration": re.compile(r"duration: (.+)"),
    "transactions per client": re.compile(r"number of transactions per client: ([0-9]+)"),
    "version of pgbench": re.compile(r"pgbench \(PostgreSQL\) (.+)|pgbench \((.+)\)"),
}
_SCRIPTS = "scripts"
_LOAD = {"script", _SCRIPTS, "scale", "mode", "clients"}
"""What explains a difference: the others are only named."""
_STAMP = re.compile(
    r"^(?:\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.,]{8,18}(?:Z|[+-][0-9:]{4,5})?\]? )"
)
"""Of a log of a build: before every line; to the nanosecond in some."""
_ELSEWHERE = re.compile(rf"tps = {_NUMBER} \(.+\)\s*$")
_MEAN_ELSEWHERE = re.compile(rf"[^:=]+ = {_NUMBER} ms(?: \(.+\))?\s*$")
"""Of a summary in another language, where the mean latency stands before other times."""
_NO_MEAN = re.compile(r" - |.*\b(?:connection time|stddev)\b")
"""Other times of English summaries, and those of one script or statement of several."""
_OTHER_LANGUAGE = (
    "pgbench printed in another language: the conditions are not read, run it with LC_MESSAGES=C"
)
_LINE_OF_TPS = re.compile(r"^(?:\S+ )?tps = [0-9.]+ \((.+)\)\s*$", re.MULTILINE)
_SCRIPT = re.compile(r"SQL script [0-9]+: (.+)| - weight: ([0-9]+) ")
"""Behind the tps, where there are several: "transaction type" says no more than that."""
_ABORTED = re.compile(r".*(?:Run was aborted|client [0-9]+ (?:script [0-9]+ )?aborted)")
_COUNTS = {
    "processed": re.compile(r"number of transactions actually processed: ([0-9]{1,15})"),
    "failed": re.compile(r"number of failed transactions: ([0-9]{1,15})"),
    "retried": re.compile(r"number of transactions retried: ([0-9]{1,15})"),
    "skipped": re.compile(r"number of transactions skipped: ([0-9]{1,15})"),
}
_CONNECTING = ("including connections establishing", "including reconnection times")


@dataclass(frozen=True, slots=True)
class _Summary:
    tps: float
    latency_ms: float | None
    clients: int | None
    outcome: TransactionCounts | None
    connecting: bool | None
    """Whether the time to connect counts."""
    line: int
    conditions: Mapping[str, str]
    """What it was asked to do: name → value, as printed."""
    rated: bool
    """Whether -R held it to a rate, which pgbench does not print."""
    requested: RequestedRate | None
    scripts: tuple[str, ...] = ()
    """Where there were several: each with its weight, "a.sql@9"."""

    @property
    def all_conditions(self) -> Mapping[str, str]:
        """All that it was asked to do: name → value."""
        scripts = ", ".join(sorted(self.scripts))
        return {**self.conditions, **({_SCRIPTS: scripts} if scripts else {})}


def is_pgbench(source: SourceText) -> bool:
    """Whether a text is what pgbench printed."""
    return (
        re.search(r"^(?:\S+ )?(tps = |progress: [0-9.]+ s, |latency average)", source.text, re.M)
        is not None
    )


def read_pgbench(source: SourceText) -> Sheet:
    """The sheet of one arm: summaries where there are several, else progress where there is any."""
    summaries, seconds = _parsed(source)
    if len(summaries) <= 1 and len(seconds) > 1:
        return sheet_of_progress(
            source,
            seconds,
            conditions=_factors(summaries) if summaries else (),
            clients=_of_one({s.clients for s in summaries}),
            outcomes=_outcomes(summaries),
        )
    if not summaries:
        raise source.error(
            "no complete summary of pgbench, and fewer than two lines of progress",
            TextPosition(1, 1),
            hint='Keep all that pgbench prints, to the last line, "tps = ...".',
        )
    conditions = _factors(summaries)
    metrics: list[tuple[Metric, tuple[Series, ...]]] = [
        (
            RATE,
            (
                Series(
                    "", _positive([s.tps for s in summaries], summaries, source), factors=conditions
                ),
            ),
        )
    ]
    latencies = [s.latency_ms for s in summaries if s.latency_ms]
    if len(latencies) == len(summaries):
        metrics.append((LATENCY_MS, (Series("", np.array(latencies), factors=conditions),)))
    rated = any(summary.rated for summary in summaries)
    if rated:
        refuse_rates_alone(source, [metric for metric, _ in metrics])
    notes = [FIXED_RATE] if rated else []
    notes += (
        [_OTHER_LANGUAGE]
        if any(not summary.conditions for summary in summaries) and _foreign(source)
        else []
    )
    if seconds:
        notes.append("lines of --progress were left out: the summaries are the repetitions")
    return Sheet(
        source=source.name,
        form="pgbench summaries" if len(summaries) > 1 else "a pgbench summary",
        metrics=tuple(metrics[::-1] if rated else metrics),
        clients={} if rated else _of_one({s.clients for s in summaries}),
        outcomes=_outcomes(summaries),
        requested=sum_of_rates([s.requested for s in summaries]),
        connecting=_connecting(source, summaries),
        lines=tuple(s.line for s in summaries),
        notes=tuple(notes),
    )


def _foreign(source: SourceText) -> bool:
    """Whether a summary says in other words than English ones what its tps are."""
    wordings = _LINE_OF_TPS.findall(source.text)
    return any(not re.fullmatch("[a-z ]*", wording) for wording in wordings) or any(
        wording and "connect" not in wording for wording in wordings
    )


def _parsed(source: SourceText) -> tuple[list[_Summary], list[ProgressSecond]]:
    """All summaries and all lines of progress, in the order of the file."""
    reader = _Reader(source)
    for number, line in enumerate(source.text.split("\n"), start=1):
        reader.take(number, _STAMP.sub("", line))
    return reader.summaries, reader.seconds


class _Reader:
    """Takes line after line, and completes a summary by its last."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.summaries: list[_Summary] = []
        self.seconds: list[ProgressSecond] = []
        self._begin()

    def _begin(self) -> None:
        self.latency: float | None = None
        self.lag: float | None = None
        self.counts: dict[str, int] = {}
        self.conditions: dict[str, str] = {}

    def take(self, number: int, line: str) -> None:
        """Read a line; NumbersError with its place where it is torn or says that a run failed."""
        if (match := _TPS.match(line)) or (match := _ELSEWHERE.match(line)):
            self._complete(match, number)
        elif match := _LATENCY.match(line):
            self.latency = float(match[1]) * SECONDS[match[2].replace("us", "µs")] * 1e3
        elif match := _MEAN_LAG.match(line):
            self.lag = float(match[1] or 0) / 1e3
        elif line.startswith("progress: ") and " tps," in line:
            self.seconds.append(progress_second(self.source, number, line))
        elif _ABORTED.match(line):
            raise self.source.error(
                f"the run was aborted, its results are incomplete: {quoted(line)}",
                TextPosition(number, 1),
                hint="Leave this run out, and ask why it was aborted: the arm may be the cause.",
            )
        elif self.summaries and (match := _SCRIPT.match(line)):
            self._script(match[1], match[2])
        elif line.startswith("tps ="):
            cell = quoted(line[5:].strip())
            raise self.source.error(
                f"{cell} is not a number of transactions", TextPosition(number, 7)
            )
        else:
            self._note(line)

    def _script(self, name: str | None, weight: str | None) -> None:
        """Keep a script of the last summary, or the weight of the last script."""
        summary = self.summaries[-1]
        before, last = summary.scripts[:-1], summary.scripts[-1:]
        scripts = tuple(f"{each}@{weight}" for each in last) if name is None else (*last, name)
        self.summaries[-1] = replace(summary, scripts=(*before, *scripts))

    def _note(self, line: str) -> None:
        """Keep what was asked for, and what became of it."""
        self.counts |= {
            name: int(m[1]) for name, pattern in _COUNTS.items() if (m := pattern.match(line))
        }
        for name, pattern in _ASKED.items():
            if match := pattern.match(line):
                self.conditions[name] = next(group for group in match.groups() if group).strip()
        if match := _LAG_ELSEWHERE.match(line):
            self.lag = float(match[1]) / 1e3
        elif self.latency is None and not _NO_MEAN.match(line):
            match = _MEAN_ELSEWHERE.match(line)
            self.latency = float(match[1]) if match else None

    def _complete(self, match: re.Match[str], number: int) -> None:
        wording = match[2] if match.re is _TPS else ""
        # Old ones print two: with and without the time to connect; the second is the purer.
        second = (wording or "").startswith("excluding") or (
            match.re is _ELSEWHERE and not self.conditions
        )
        if second and self.summaries and self.summaries[-1].line in (number - 1, number - 2):
            summary = self.summaries.pop()
        else:
            summary = self._summary(float(match[1]), number)
        connecting = wording in _CONNECTING if wording else None
        self.summaries.append(
            replace(summary, tps=float(match[1]), connecting=connecting, line=number)
        )
        self._begin()

    def _summary(self, tps: float, number: int) -> _Summary:
        clients = self.conditions.get("clients")
        return _Summary(
            tps,
            self.latency,
            int(clients[:9]) if clients else None,
            _outcome(self.counts),
            None,
            number,
            self.conditions,
            rated=self.lag is not None,
            requested=self._requested(tps),
        )

    def _requested(self, tps: float) -> RequestedRate | None:
        """What says of its rate how many transactions a run did, and how late they began: on
        average half as late as at its end, where it fell behind."""
        if self.lag is None or not tps > 0:
            return None
        done = self.counts.get("processed", 0)
        seconds = done / tps if done else _USUAL_SECONDS
        missing = self.counts.get("failed", 0) + self.counts.get("skipped", 0)
        return requested_rate(tps * seconds + missing, seconds, 2 * self.lag)


def _factors(summaries: Sequence[_Summary]) -> tuple[Factor, ...]:
    """What every summary was asked to do, where all say so."""
    return tuple(
        Factor(
            name,
            FactorKind.LOAD if name in _LOAD else FactorKind.PARAMETER,
            tuple(summary.all_conditions[name] for summary in summaries),
        )
        for name in (*_ASKED, _SCRIPTS)
        if all(name in summary.all_conditions for summary in summaries)
    )


def _outcome(counts: Mapping[str, int]) -> TransactionCounts | None:
    if "processed" not in counts:
        return None
    failed, skipped = counts.get("failed", 0), counts.get("skipped", 0)
    tried = counts["processed"] + failed + skipped
    # Some that failed had been retried before.
    return TransactionCounts(tried, min(failed + skipped + counts.get("retried", 0), tried))


def _outcomes(summaries: Sequence[_Summary]) -> dict[str, TransactionCounts]:
    """What became of the transactions of all summaries, where all say so."""
    outcomes = [summary.outcome for summary in summaries if summary.outcome is not None]
    return (
        {"": sum(outcomes, TransactionCounts(0, 0))}
        if outcomes and len(outcomes) == len(summaries)
        else {}
    )


def _connecting(source: SourceText, summaries: Sequence[_Summary]) -> bool | None:
    """Whether the time to connect counts; NumbersError where it does in some summaries only."""
    first = summaries[0].connecting
    for summary in summaries:
        if summary.connecting != first:
            raise source.error(
                "the time to connect counts in some of the tps and not in others",
                TextPosition(summary.line, 1),
                hint="Run all alike: with pgbench -C, or without.",
            )
    return first


def _positive(values: Sequence[float], summaries: Sequence[_Summary], source: SourceText) -> Floats:
    for value, summary in zip(values, summaries, strict=True):
        if not 0 < value < float("inf"):
            raise source.error("tps is zero: nothing was done", TextPosition(summary.line, 7))
    return np.array(values)


def _of_one(clients: set[int | None]) -> dict[str, float]:
    """The number of clients, where all agree on one."""
    client_count = next(iter(clients)) if len(clients) == 1 else None
    return {"": float(client_count)} if client_count else {}


FORMAT = TextFormat("pgbench", is_pgbench, read_pgbench, precedence=3)
