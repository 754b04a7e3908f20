"""Reads fio's JSON (`--output-format=json`, `json+`): an output is one repetition of its jobs.

Blanks what fio's JSON has beside JSON: notes around it, and options that were given twice.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.foreign.format import JsonFormat
from steelyard.foreign.json_document import Document
from steelyard.foreign.metric import Metric
from steelyard.foreign.series import Series, Sheet, TransactionCounts
from steelyard.foreign.source import SourceText, TextPosition, quoted
from steelyard.foreign.tools.fio_figures import (
    LOADS,
    FioJob,
    conditions_of,
    did,
    figure_at,
    figures_of,
    has_rate,
    is_percentile,
    seconds_of,
)

_STRING = r'"(?>(?:[^"\\]|\\.)*)"'
_OPTION = re.compile(rf"\s*+({_STRING})\s*+:\s*+{_STRING}\s*+,?+")
_OPTIONS = re.compile(rf'"(?:job|global) options"\s*+:\s*+\{{((?>(?:{_OPTION.pattern})*))')


def without_notes(source: SourceText) -> SourceText:
    """The source with every value at its line and column; another than fio's as it is.

    fio prints notes and errors to its standard output too, before its JSON and between several, and
    with `--output-format=normal,json` a text after it.
    """
    text = source.text
    if '"fio version"' not in text or text.lstrip()[:1] == "[":
        return source
    text = "\n".join(_lines_of_json(text))
    return replace(source, text=_OPTIONS.sub(_last_of_each, text))


def _lines_of_json(text: str) -> Iterator[str]:
    """Every line; empty where it lies outside an object that begins and ends at a line's start."""
    inside = False
    for line in text.split("\n"):
        begins = not inside and line.startswith("{")
        yield line if inside or begins else ""
        last = line.rstrip()
        inside = (inside or begins) and not (last == "}" or (begins and last.endswith("}")))


def _last_of_each(options: re.Match[str]) -> str:
    """Options with blanks in place of those that a later one overrides: fio prints both."""
    matches = list(_OPTION.finditer(options[1]))
    last = {match[1]: match.start() for match in matches}
    retained = "".join(
        match[0] if last[match[1]] == match.start() else re.sub(r"[^\n]", " ", match[0])
        for match in matches
    )
    begin = options.start(1) - options.start()
    return options[0][:begin] + retained + options[1][len(retained) :]


_SLACK = 0.1
"""Of a run: its length and its end are read off different clocks."""
_MOST_NAMED = 6
_MOST_COUNTED = 1e15


@dataclass(frozen=True, slots=True)
class _Run:
    """One output of fio."""

    number: int
    jobs: Mapping[str, tuple[FioJob, ...]]
    """By name, "" where there is one; several entries are workers that ran at once."""
    began: float
    ended: float
    """Both in seconds since 1970; 0 where the output does not say."""


def is_fio(value: Any) -> bool:
    """Whether a JSON value is an output of fio."""
    return isinstance(value, dict) and "fio version" in value


def read_fio(document: Document) -> Sheet:
    """One arm; a metric for each side and figure of each job.

    NumbersError where a job failed, or where outputs are states of one run.
    """
    runs = [_run(document, number) for number in range(len(document.values))]
    dated = all(run.ended > 0 for run in runs)
    if dated:
        runs.sort(key=lambda run: run.began)
        _refuse_overlap(document, runs)
    if all(len(run.jobs) == 1 for run in runs):
        runs = [replace(run, jobs={"": next(iter(run.jobs.values()))}) for run in runs]
    figures = [
        {
            (job, metric): value
            for job, workers in run.jobs.items()
            for metric, value in figures_of(workers).items()
        }
        for run in runs
    ]
    common = [
        figure for figure in figures[0] if all(figure in run_figures for run_figures in figures)
    ]
    if not common:
        what = "the outputs have no figure in common" if any(figures) else "no job did anything"
        raise document.source.error(what, document.place(runs[0].number, ()))
    common.sort(key=lambda figure: _rank(runs, *figure))
    series = [
        Series(
            "",
            np.array([run_figures[figure] for run_figures in figures]),
            timestamps=np.array([run.began for run in runs]) if dated else None,
            until=runs[-1].ended if dated else None,
            spot=_spot_of(runs, figure[0]),
            conditions=_conditions(runs, figure[0]),
            loads=LOADS,
        )
        for figure in common
    ]
    return Sheet(
        source=document.source.name,
        form="fio JSON",
        metrics=tuple(
            (_job_metric(*figure), (arm,)) for figure, arm in zip(common, series, strict=True)
        ),
        outcomes={"": _outcome(runs)},
        notes=(*_notes(runs), *_left_out(common, figures)),
    )


def _run(document: Document, number: int) -> _Run:
    value = document.values[number]
    key = "jobs" if value.get("jobs") else "client_stats"
    listed = value.get(key)
    if not isinstance(listed, list) or not listed:
        raise document.source.error("this output of fio has no jobs", document.place(number, ()))
    jobs: dict[str, tuple[FioJob, ...]] = {}
    for index in _of_each(listed):
        entry = FioJob(document, number, index, key)
        name = _name_of(entry)
        jobs[name] = (*jobs.get(name, ()), entry)
        if any(jobs[name][0].at(key) != entry.at(key) for key in ("groupid", "job options")):
            raise document.source.error(
                f"two jobs are called {quoted(name)} and are not workers of one",
                entry.place(),
                hint="Give every job a name of its own.",
            )
    ended = figure_at(document, number, ("timestamp_ms",), value.get("timestamp_ms")) / 1e3
    seconds = seconds_of([entry for workers in jobs.values() for entry in workers])
    return _Run(number, jobs, ended - seconds, ended)


def _of_each(listed: Sequence[Any]) -> list[int]:
    """The places of jobs in a list; the sum that fio's server adds over its clients is none."""
    names = [job.get("jobname") if isinstance(job, dict) else None for job in listed]
    each = [index for index, name in enumerate(names) if name != "All clients"]
    return each or list(range(len(listed)))


def _name_of(entry: FioJob) -> str:
    """The name of a job that ended as it should."""
    name = entry.at("jobname")
    if not isinstance(name, str):
        raise entry.document.source.error("a job of fio without a name", entry.place())
    error = entry.at("error")
    if error not in (None, "0"):
        raise entry.document.source.error(
            f"job {quoted(name)} ended with error {str(error)[:20]}: its figures are incomplete",
            entry.place("error"),
            hint="Leave this run out, and ask why it failed: the arm may be the cause.",
        )
    return name


def _refuse_overlap(document: Document, runs: Sequence[_Run]) -> None:
    for earlier, later in itertools.pairwise(runs):
        shorter = min(earlier.ended - earlier.began, later.ended - later.began)
        if earlier.ended - later.began > _SLACK * shorter:
            raise document.source.error(
                "two outputs overlap in time: they are states of one run, or of two at once",
                document.place(later.number, ()),
                hint="Keep the last of a run (no --status-interval), and run one at a time.",
            )


def _job_metric(job: str, metric: Metric) -> Metric:
    return replace(metric, name=f"{job}:{metric.name}") if job else metric


def _rank(runs: Sequence[_Run], job: str, metric: Metric) -> tuple[bool, bool]:
    """Percentiles last; of a job that was held to a rate the latencies first."""
    rated = any(has_rate(*_output_and_job(run, job)) for run in runs)
    return is_percentile(metric), rated and metric.higher_is_better is True


def _output_and_job(run: _Run, job: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The output that holds a job, and the job's own object."""
    first = run.jobs[job][0]
    return first.document.values[run.number], first.value


def _spot_of(runs: Sequence[_Run], job: str) -> Callable[[int], TextPosition]:
    return lambda row: runs[row].jobs[job][0].place()


def _conditions(runs: Sequence[_Run], job: str) -> dict[str, tuple[str, ...]]:
    """Name → every value that it had in the runs of a job."""
    conditions: dict[str, tuple[str, ...]] = {}
    for run in runs:
        for name, value in conditions_of(*_output_and_job(run, job)).items():
            conditions[name] = tuple(dict.fromkeys((*conditions.get(name, ()), value)))
    return conditions


def _outcome(runs: Sequence[_Run]) -> TransactionCounts:
    """Requests, and those that failed where the job went on (continue_on_error)."""
    entries = [entry for run in runs for workers in run.jobs.values() for entry in workers]
    done = sum(entry.figure(side, "total_ios") for entry in entries for side in did([entry]))
    failed = sum(entry.figure("total_err") for entry in entries)
    return TransactionCounts(
        int(min(done + failed, _MOST_COUNTED)), int(min(failed, _MOST_COUNTED))
    )


def _notes(runs: Sequence[_Run]) -> Iterator[str]:
    sides = [
        f"{job}:{side}" if job else side
        for job, workers in runs[0].jobs.items()
        for side in did(workers)
    ]
    if len(sides) > 1:
        yield f"one of {_list(sides)} is judged at a time: see --metric"
    for job, workers in runs[0].jobs.items():
        called = quoted(job) if job else "the job"
        if len(workers) > 1:
            yield (
                f"workers of {called} are taken together: all requests over the longest time, the "
                "mean latency by requests; percentiles of workers cannot be joined"
            )
        if has_rate(*_output_and_job(runs[0], job)):
            yield f"{called} was held to a rate: its latency is what can differ"


def _left_out(
    common: Sequence[tuple[str, Metric]], figures: Sequence[Mapping[tuple[str, Metric], float]]
) -> Iterator[str]:
    every = dict.fromkeys(figure for run_figures in figures for figure in run_figures)
    missing = [_job_metric(*figure).name for figure in every if figure not in common]
    if missing:
        yield f"not every output has {_list(missing)}"


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(quoted(name)[1:-1] for name in names[:_MOST_NAMED]) + more


FORMAT = JsonFormat(
    "fio",
    "an output of fio",
    holds=is_fio,
    read=read_fio,
    repeats=is_fio,
    bare=without_notes,
)
