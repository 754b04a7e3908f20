"""Joins the numbers of all arms on one metric, from one file or several, into a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from steelyard.foreign.cells import (
    Pairs,
    conditions_of,
    factors_of_rows,
    joined,
    pairs_of,
    varying_factors,
)
from steelyard.foreign.copies import (
    dated,
    order_of_runs,
    refuse_many,
    refuse_namesakes,
    refuse_repeats,
    runs_of,
)
from steelyard.foreign.fixed_rates import rate_conditions
from steelyard.foreign.metric import LATENCY, THROUGHPUT, Metric, per_second
from steelyard.foreign.metric_choice import choose_metric
from steelyard.foreign.series import (
    FactorKind,
    Floats,
    Grain,
    Order,
    Rows,
    Series,
    Sheet,
    TransactionCounts,
)
from steelyard.foreign.source import arm_of_file, quoted
from steelyard.foreign.vocabulary.units import SECONDS
from steelyard.model.errors import NumbersError, UsageError
from steelyard.model.threat import ThreatKind


@dataclass(frozen=True, eq=False)
class Comparison:
    """The numbers of all arms on one metric, and what is known of how they were measured."""

    sources: tuple[str, ...]
    form: str
    metric: Metric
    arms: tuple[Series, ...]
    """The first is the control."""
    order: Order
    rows: Rows
    lines: tuple[int, ...] = ()
    row_names: tuple[str, ...] = ()
    no_order: str = ""
    """Why the order of measuring is not known; empty: it is the order of the rows."""
    apart: str = ""
    """Why rows are not paired although a column numbers them; empty: no column does."""
    outcomes: Mapping[str, TransactionCounts] = field(default_factory=dict)
    """What became of the transactions of arms, where all their files say so."""
    operating_points: Mapping[str, OperatingPoint] = field(default_factory=dict)
    """Throughput, latency and clients of arms of which all three are known."""
    machine: tuple[tuple[ThreatKind, str], ...] = ()
    """What files say of the machine that makes their numbers doubtful."""
    conditions: Mapping[str, Conditions] = field(default_factory=dict)
    """Of each arm, the conditions that its files say were requested."""
    loads: frozenset[str] = frozenset()
    """Conditions of the load: arms that differ in one were not given the same work."""
    others: tuple[str, ...] = ()
    """Names of numbers that the files hold besides the judged ones."""
    notes: tuple[str, ...] = ()

    @property
    def control(self) -> Series:
        """The arm that the others are compared with."""
        return self.arms[0]


@dataclass(frozen=True, slots=True)
class Options:
    """What the user said about the numbers; None: nothing."""

    control: str | None = None
    metric: str | None = None
    unit: str | None = None
    higher_is_better: bool | None = None
    order: Order | None = None
    clients: float | None = None


Conditions = Mapping[str, tuple[str, ...]]
"""Name → every value that it had."""
_ROWS_NAMED = "rows are named, and nothing says in which order they were measured"
_FILES_UNDATED = "nothing says in which order the files of an arm were measured"
_ROWS_IN_ORDER = (Order.ALTERNATING, Order.SEQUENTIAL)
"""Where the user gives either, the rows stand in the order of measuring."""
NamedSheet = tuple[str | None, Sheet]
"""The arm that a file holds as the user said (None: the file names its arms), and its sheet."""


def compare(sheets: Sequence[NamedSheet], options: Options) -> Comparison:
    """The comparison; UsageError or NumbersError where there is none to be made."""
    labelled_sheets = [_labelled(arm, sheet, len(sheets) > 1) for arm, sheet in sheets]
    refuse_namesakes([s.source for arm, s in sheets if arm is None and _holds(s, "")])
    choice = choose_metric(labelled_sheets, options.metric, options.unit, options.higher_is_better)
    files = _by_arm(choice.series)
    refuse_many(files)
    for arm, arm_files in files.items():
        refuse_repeats(arm, arm_files)
    runs = {arm: runs_of(arm_files) for arm, arm_files in files.items()}
    shared = [arm for arm, arm_runs in runs.items() if len(arm_runs) < len(files[arm])]
    arms, done = _gathered(runs)
    order = order_of_runs([run for arm_runs in runs.values() for run in arm_runs])
    arms = _control_first(arms, options.control)
    single = labelled_sheets[0] if len(labelled_sheets) == 1 else None
    pairs = _pairs_of_files(arms) if single is None else None
    varied = varying_factors({arm.arm: arm.factors for arm in arms})
    paired = pairs is not None or (single is not None and bool(single.row_names))
    notes = [*choice.notes, *(note for sheet in labelled_sheets for note in sheet.notes)]
    notes += [f"files of {arm} that overlap in time are parts of one run" for arm in shared]
    notes += [*done, *(pairs.notes if pairs else ()), *_slice_notes(arms)]
    lost = _why_no_order(labelled_sheets, runs.values())
    rates = rate_conditions(labelled_sheets, [arm.arm for arm in arms])
    if pairs is not None and pairs.paired and not (pairs.repeated or options.order):
        lost = _ROWS_NAMED
    return Comparison(
        sources=tuple(sheet.source for sheet in labelled_sheets),
        form=", ".join(dict.fromkeys(sheet.form for sheet in labelled_sheets)),
        metric=choice.metric,
        arms=arms if pairs is None else tuple(_joined(arm, pairs) for arm in arms),
        order=options.order or (single.order if single else order),
        rows=_rows(single, pairs),
        lines=single.lines if single else (),
        row_names=single.row_names if single else pairs.names if pairs else (),
        no_order="" if options.order in _ROWS_IN_ORDER else lost,
        apart=single.apart if single else "",
        operating_points=_operating_points(labelled_sheets, arms, shared, options.clients),
        outcomes=_outcomes(labelled_sheets, [arm.arm for arm in arms]),
        conditions={
            arm: _conditions(arm_files, varied if paired else ()) | rates.get(arm, {})
            for arm, arm_files in files.items()
        },
        loads=_loads([file for arm_files in files.values() for file in arm_files])
        | {name for conditions in rates.values() for name in conditions},
        machine=tuple(threat for sheet in labelled_sheets for threat in sheet.machine),
        others=choice.others,
        notes=tuple(dict.fromkeys(notes)),
    )


def _rows(single: Sheet | None, pairs: Pairs | None) -> Rows:
    if single is not None:
        return single.rows
    return Rows.BLOCKS if pairs is not None and pairs.paired else Rows.APART


def _pairs_of_files(arms: Sequence[Series]) -> Pairs | None:
    """The rows of arms in files of their own that are about the same; None where nothing says."""
    if any(arm.grain is Grain.SLICE or not arm.factors for arm in arms):
        return None
    return pairs_of({arm.arm: arm.factors for arm in arms})


def _joined(arm: Series, pairs: Pairs) -> Series:
    rows = pairs.rows[arm.arm]
    first = [some[0] for some in rows]
    return Series(
        arm.arm,
        joined(arm.values, rows),
        arm.grain,
        timestamps=None if arm.timestamps is None else arm.timestamps[first],
        factors=factors_of_rows(arm.factors, first),
    )


def _slice_notes(arms: Sequence[Series]) -> list[str]:
    """Why rows are parts of one run, where that was found and not said by the file."""
    return [f"{arm.instead}, not repetitions" for arm in arms if arm.instead][:1]


def _loads(files: Sequence[Series]) -> frozenset[str]:
    kinds = (FactorKind.LOAD, FactorKind.LABEL)
    factors = {factor.name for file in files for factor in file.factors if factor.kind in kinds}
    return frozenset(factors).union(*(file.loads for file in files))


def _operating_points(
    sheets: Sequence[Sheet], arms: Sequence[Series], shared: Sequence[str], clients: float | None
) -> dict[str, OperatingPoint]:
    """Of the arms of which all three figures are known, and whose files are runs."""
    points = {}
    for arm in arms:
        arm_sheets = [sheet for sheet in sheets if _holds(sheet, arm.arm)]
        point = operating_point_of(arm_sheets, arm.arm, clients) if arm.arm not in shared else None
        if point is not None:
            points[arm.arm] = point
    return points


def _labelled(arm: str | None, sheet: Sheet, several: bool) -> Sheet:
    """The sheet with its only arm called as the user, or else its file, is called."""
    arms = {series.arm for _, group in sheet.metrics for series in group}
    if arm is None and not several:
        if len(arms) < 2:
            raise NumbersError(
                f'"{sheet.source}" holds one arm: there is nothing to compare it with',
                hint="Name a file for each arm: steelyard judge off=a.txt on=b.txt; or the column "
                "that names the arms: --column arm=NAME",
            )
        return sheet
    if len(arms) > 1:
        names = ", ".join(quoted(name) for name in sorted(arms)[:6])
        raise NumbersError(
            f'"{sheet.source}" holds several arms: {names}',
            hint="Judge it alone, or name files with one arm each.",
        )
    label = next(iter(arms), "")
    called = arm or label or arm_of_file(sheet.source)
    return replace(
        sheet,
        metrics=tuple(
            (metric, tuple(replace(series, arm=called) for series in group))
            for metric, group in sheet.metrics
        ),
        clients={called: sheet.clients[label]} if label in sheet.clients else {},
        outcomes={called: sheet.outcomes[label]} if label in sheet.outcomes else {},
    )


def _why_no_order(sheets: Sequence[Sheet], runs: Iterable[Sequence[Series]]) -> str:
    """Why the order of measuring of an arm's rows is not known; empty: it is that of the rows.

    The place of a file on the command line says nothing: a shell puts run10 before run2.
    """
    if not all(sheet.ordered for sheet in sheets):
        return _ROWS_NAMED
    undated = any(len(arm_runs) > 1 and not dated(arm_runs) for arm_runs in runs)
    return _FILES_UNDATED if undated else ""


def _by_arm(series: Sequence[tuple[Series, ...]]) -> dict[str, list[Series]]:
    """Arm → its series, one a file."""
    files: dict[str, list[Series]] = {}
    for group in series:
        for file in group:
            files.setdefault(file.arm, []).append(file)
    return files


def _conditions(files: Sequence[Series], paired: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What all files of an arm say was asked for; a name that one does not give is left out, and
    so is one whose values were compared each by itself (`paired`)."""
    conditions = [conditions_of(file) for file in files]
    common = [name for name in conditions[0] if all(name in requested for requested in conditions)]
    return {
        name: tuple(dict.fromkeys(value for requested in conditions for value in requested[name]))
        for name in common
        if name not in paired
    }


def _holds(sheet: Sheet, arm: str) -> bool:
    return any(series.arm == arm for _, group in sheet.metrics for series in group)


def _outcomes(sheets: Sequence[Sheet], arms: Sequence[str]) -> dict[str, TransactionCounts]:
    outcomes = {}
    for arm in arms:
        by_sheet = [sheet.outcomes.get(arm) for sheet in sheets if _holds(sheet, arm)]
        counts = [outcome for outcome in by_sheet if outcome is not None]
        if counts and len(counts) == len(by_sheet):
            outcomes[arm] = sum(counts, TransactionCounts(0, 0))
    return outcomes


def _gathered(runs: Mapping[str, Sequence[Series]]) -> tuple[tuple[Series, ...], list[str]]:
    """One series an arm: several runs are a repetition each. Also what was done, in words."""
    notes = []
    arms = []
    for arm, arm_runs in runs.items():
        if len(arm_runs) == 1:
            arms.append(arm_runs[0])
        elif _sweeps(arm_runs):
            arms.append(_one_after_the_other(arm, arm_runs))
        else:
            if any(len(run.values) > 1 for run in arm_runs):
                notes.append(f"every file of {arm} counts as one repetition: its total")
            factors = tuple(
                replace(factor, values=tuple(_value(run, factor.name) for run in arm_runs))
                for factor in arm_runs[0].factors
                if all(_values(run, factor.name) for run in arm_runs)
            )
            arms.append(Series(arm, np.array([total_of(run) for run in arm_runs]), factors=factors))
    return tuple(arms), notes


def _sweeps(files: Sequence[Series]) -> bool:
    """Whether files hold rows of different loads, which have no total."""
    kinds = (FactorKind.LOAD, FactorKind.LABEL)
    return all(file.grain is Grain.REPETITION for file in files) and any(
        factor.kind in kinds and len(set(factor.values)) > 1
        for file in files
        for factor in file.factors
    )


def _one_after_the_other(arm: str, files: Sequence[Series]) -> Series:
    """All rows of all files, with the factors that all files have."""
    factors = [
        replace(factor, values=tuple(v for file in files for v in _values(file, factor.name)))
        for factor in files[0].factors
        if all(_values(file, factor.name) for file in files)
    ]
    return Series(arm, np.concatenate([file.values for file in files]), factors=tuple(factors))


def _values(series: Series, name: str) -> tuple[str, ...]:
    return next((factor.values for factor in series.factors if factor.name == name), ())


def _value(series: Series, name: str) -> str:
    """The only value of a factor, or all of them."""
    return " or ".join(dict.fromkeys(_values(series, name)))


def total_of(series: Series) -> float:
    """One number for a series: the mean by weight of slices, the geometric one of repetitions."""
    if len(series.values) == 1:
        return float(series.values[0])
    if series.grain is Grain.REPETITION:
        return float(np.exp(np.log(series.values).mean()))
    return float(np.average(series.values, weights=series.weights))


def _control_first(arms: tuple[Series, ...], control: str | None) -> tuple[Series, ...]:
    if len(arms) < 2:
        raise NumbersError(
            f"there is one arm, {quoted(arms[0].arm)}: nothing to compare it with",
            hint="Name a file for each arm: steelyard judge off=a.txt on=b.txt",
        )
    if control is None:
        return arms
    first = [arm for arm in arms if arm.arm == control]
    if not first:
        names = ", ".join(quoted(arm.arm) for arm in arms[:10])
        raise UsageError(f"there is no arm {quoted(control)}", hint=f"There are {names}.")
    return (*first, *(arm for arm in arms if arm.arm != control))


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """In a closed loop clients = throughput × latency (Little's law)."""

    clients: float
    throughput: float
    """Transactions per second."""
    latency_s: float


def operating_point_of(
    sheets: Sequence[Sheet], arm: str, clients: float | None = None
) -> OperatingPoint | None:
    """That of an arm over all sheets that hold it; `clients`: as the user said."""
    counts = {sheet.clients.get(arm) for sheet in sheets}
    client_count = clients or (counts.pop() if len(counts) == 1 else None)
    measured = [pair for sheet in sheets if (pair := _pair(sheet, arm)) is not None]
    if not client_count or not measured:
        return None
    rates, latencies = (np.concatenate(parts) for parts in zip(*measured, strict=True))
    # By transactions: of runs of unequal speed the plain means would not obey the law.
    mean_latency = float(np.average(latencies, weights=rates))
    return OperatingPoint(client_count, float(np.mean(rates)), mean_latency)


def _pair(sheet: Sheet, arm: str) -> tuple[Floats, Floats] | None:
    """Throughput per second and latency in seconds of the same times, shapes (n,); of one time
    only, the totals, where a file has more of the one than of the other."""
    rates = latencies = weights = None
    for metric, series in sheet.metrics:
        arm_series = next((candidate for candidate in series if candidate.arm == arm), None)
        scale = per_second(metric)
        if arm_series is not None and metric.name == THROUGHPUT and scale:
            rates = arm_series.values * scale
        if arm_series is not None and metric.name == LATENCY and metric.unit in SECONDS:
            latencies, weights = arm_series.values * SECONDS[metric.unit], arm_series.weights
    if rates is None or latencies is None or not rates.any():
        return None
    if len(rates) != len(latencies):
        rates, latencies = (
            rates.mean(keepdims=True),
            np.average(latencies, weights=weights, keepdims=True),
        )
    return rates, latencies
