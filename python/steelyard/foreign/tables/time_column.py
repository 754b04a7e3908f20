"""Decides what a column called "time" holds, and finds columns that tell seconds of one run.

Taken for timestamps or for durations where it holds the other, it gives a verdict on something that
was not measured: where that cannot be decided, the user has to say.
"""

from __future__ import annotations

import itertools
import shlex
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from steelyard.foreign.metric import LATENCY, TIME
from steelyard.foreign.number import clock_seconds, is_number
from steelyard.foreign.series import Floats
from steelyard.foreign.source import quoted
from steelyard.foreign.tables.moments import after_midnight, are_dates, moments_of
from steelyard.foreign.tables.table import Table
from steelyard.foreign.vocabulary.heading import Heading, Role
from steelyard.foreign.vocabulary.tokens import split_words
from steelyard.foreign.vocabulary.units import SECONDS, TIME_UNITS
from steelyard.model.errors import NumbersError

TIME_HEADING = "time"
_FINE = (1e3, 1e6, 1e9)
"""Milliseconds to nanoseconds, of clocks that count from 1970: no work takes as long."""
_FROM_2001, _TO_2100 = 1e9, 4.1e9
_FEWEST_RISING, _MANY_RISING = 3, 6
_FEWEST_STEPS = 3
_FEWEST_ROWS = 4
"""Of one start of a run, so that a clock can tick in them."""
_OFFSET, _MANY_ROWS = "offset", 20
_PLACES = {"order", "seq", "sequence", "position"}
"""Of starts that are counted, and not dated."""
_SHORTEST_RUN = 1.0
"""Seconds between the starts of measurements; requests begin at shorter steps."""
LONGEST_TICK = 10.0
"""Seconds between rows of one run where the steps of its clock are not equal."""
_SLACK = 0.05
"""Of a step: clocks of benchmarks wake a little late."""
_STEADY_SHARE = 0.8
"""So many of the steps are the usual one: seconds without a line happen."""


class TimeColumn(StrEnum):
    """What such a column holds."""

    TIMESTAMPS = "timestamps"
    DURATIONS = "durations"


def time_column(
    table: Table,
    column: int,
    others: Sequence[int],
    *,
    by_arm: bool,
    chosen: bool,
    headings: Sequence[Heading],
) -> TimeColumn:
    """What it holds; NumbersError with its place where that cannot be decided.

    `others`: the other columns of numbers that may have been measured; `by_arm`: whether a column
    names the arm of each row; `chosen`: whether the user said which column was measured.
    """
    cells = [cell.strip() for cell in table.columns[column]]
    numbers = _numbers(cells)
    certain = chosen or all(_is_metric(headings[other]) for other in others)
    # Seconds since 1970 look like nanoseconds of work, and sizes that grow down the file make
    # times that grow too: what rises tells when rows were measured only beside what surely was
    # measured, or beside columns of several arms.
    if table.is_text(column) or _counts_from_1970(numbers, _FINE):
        return TimeColumn.TIMESTAMPS
    if _counts_from_1970(numbers, (1.0,)) and (certain or _in_turn(numbers)):
        return TimeColumn.TIMESTAMPS
    if _with_units(cells) or not (others or chosen):
        return TimeColumn.DURATIONS
    if (certain or (not by_arm and len(others) > 1)) and _in_turn(numbers):
        return TimeColumn.TIMESTAMPS
    if chosen:
        return TimeColumn.DURATIONS
    raise could_be_either(table, column, others)


def could_be_either(table: Table, column: int, others: Sequence[int]) -> NumbersError:
    """What is said of a column that may hold durations or moments; `others`: those of numbers."""
    name = table.name(column)
    neighbours = ", ".join(quoted(table.name(other)) for other in others[:3])
    return table.source.error(
        f"column {quoted(name)} beside {neighbours} could hold how long each row took or when it "
        "was measured",
        table.spot(0, column),
        hint=f"Say which column was measured, as --column {shlex.quote(f'value={name}')}, or that "
        f"this one tells when: --column {shlex.quote(f'order={name}')}",
    )


def is_moment(cells: Sequence[str], unit: str) -> bool:
    """Whether numbers of a unit of time count from 1970: no work takes as long."""
    scales = (1 / SECONDS[unit],)
    return all(
        _counts_from_1970(_numbers([cell.strip() for cell in part]), scales)
        for part in (cells[:1], cells)
    )


def is_unix_time(cells: Sequence[str], *, surely: bool) -> bool:
    """Whether numbers count from 1970, in seconds or finer units; where no heading speaks for it
    (`surely`), only if many rise down the file, as large measurements do not."""
    scales = (1.0, *_FINE)
    if not _counts_from_1970(_numbers([cell.strip() for cell in cells[:1]]), scales):
        return False
    numbers = _numbers([cell.strip() for cell in cells])
    rising = len(set(numbers)) >= _MANY_RISING and _in_turn(numbers)
    return _counts_from_1970(numbers, scales) and (surely or rising)


def rises(cells: Sequence[str]) -> bool:
    """Whether three or more numbers, or times of day, rise down the file or count its rows."""
    return _in_turn(_numbers([cell.strip() for cell in cells]))


def stays(cells: Sequence[str], arms: Sequence[str]) -> bool:
    """Whether a column has each of its values in several rows of every arm."""
    rows = Counter(arms)
    values = Counter(arm for arm, _ in set(zip(arms, cells, strict=True)))
    return all(count >= _FEWEST_ROWS * values[arm] for arm, count in rows.items())


def finer_clock(
    table: Table,
    headings: Sequence[Heading],
    free: Sequence[int],
    arms: Sequence[str],
    starts: Sequence[str],
) -> int | None:
    """The first `free` column that by its heading or its dates is a clock, and ticks while the
    starts of runs stay: at equal steps in each of them; or at any, where each arm has one start
    and nothing says what rows are about."""
    stretches = _stretches(arms, starts)
    once = len(set(stretches)) == len(set(arms))
    for column in free:
        heading, cells = headings[column], table.columns[column]
        dated = table.is_text(column) and heading.role not in (Role.ARM, Role.END, Role.START)
        dated = dated and are_dates(cells)
        clock = heading.role is Role.CLOCK or heading.name.strip().lower() == TIME_HEADING
        if not (dated or (clock and not table.is_text(column))):
            continue
        if steady(cells, stretches) or (dated and _dated_steadily(cells, stretches)):
            return column
        sure = once and (dated or heading.role is Role.CLOCK)
        often = len(set(zip(stretches, cells, strict=True))) >= _FEWEST_ROWS * len(set(stretches))
        if sure and often and not any(_names_work(table, headings, other) for other in free):
            return column
    return None


def _stretches(arms: Sequence[str], starts: Sequence[str]) -> list[str]:
    return [f"{arm}\n{start}" for arm, start in zip(arms, starts, strict=True)]


def _names_work(table: Table, headings: Sequence[Heading], column: int) -> bool:
    """Whether a column may say what rows are about."""
    cells, role = table.columns[column], headings[column].role
    words = role is Role.UNKNOWN and table.is_text(column) and not are_dates(cells)
    return (role is Role.LABEL or words) and len(set(cells)) > 1


def steady_column(
    table: Table, headings: Sequence[Heading], rest: Sequence[int], arms: Sequence[str]
) -> int | None:
    """A column that rises at equal steps beside a known metric: a clock, whatever its name."""
    metrics = [c for c in rest if headings[c].role in (Role.METRIC, Role.STATISTIC)]
    for column in rest:
        heading = headings[column]
        timed = heading.metric is not None and heading.metric.name == TIME
        timed = timed or heading.name.strip().lower() == "t"
        eligible = heading.role in (Role.UNKNOWN, Role.COUNT) or heading.weak or timed
        elsewhere = [c for c in metrics if c != column]
        nameless = heading.role is Role.UNKNOWN and column != 0 and not timed
        if not eligible or nameless or not elsewhere or table.is_text(column):
            continue
        if steady(table.columns[column], arms, several=timed):
            return column
    return None


def with_epochs(table: Table, headings: Sequence[Heading]) -> tuple[Heading, ...]:
    """The headings; one that names an epoch, "time_epoch", above seconds since 1970 is a clock."""
    return tuple(
        Heading(heading.name, Role.CLOCK)
        if "epoch" in split_words(heading.name)
        and heading.role is Role.METRIC
        and not table.is_text(column)
        and is_unix_time(table.columns[column], surely=True)
        else heading
        for column, heading in enumerate(headings)
    )


def dense_column(
    table: Table, headings: Sequence[Heading], free: Sequence[int], arms: Sequence[str]
) -> int | None:
    """A column of times, offsets or starts beside a latency that never falls in the rows of an arm,
    many of them at short steps: when the requests of a log were."""
    latencies = [
        c for c in free if (metric := headings[c].metric) is not None and metric.name == LATENCY
    ]
    for column in free:
        heading = headings[column]
        words = split_words(heading.name)
        timed = heading.metric is not None and heading.metric.name == TIME
        starts = heading.role is Role.START and _PLACES.isdisjoint(words)
        if not (timed or starts or _OFFSET in words) or not set(latencies) - {column}:
            continue
        seconds = _seconds_of(table.columns[column], words)
        if seconds is None or (starts and counts_rows(sorted(table.columns[column], key=_place))):
            continue
        longest, labels = _SHORTEST_RUN if starts else LONGEST_TICK, np.array(arms)
        if all(_is_dense(seconds[labels == arm], longest) for arm in dict.fromkeys(arms)):
            return column
    return None


def _place(cell: str) -> tuple[int, str]:
    return len(cell.strip()), cell.strip()


def _seconds_of(cells: Sequence[str], words: Sequence[str]) -> Floats | None:
    """Moments in seconds, their unit by the words of the heading; of those that count from 1970, by
    their size."""
    numbers = _numbers([cell.strip() for cell in cells])
    if not numbers:
        return moments_of(cells) if are_dates(cells) else None
    finer = next((scale for scale in (1.0, *_FINE) if _counts_from_1970(numbers, (scale,))), None)
    if finer is not None:
        return np.array(numbers) / finer
    unit = next((TIME_UNITS[word] for word in words if word in TIME_UNITS), "s")
    return SECONDS[unit] * np.array(numbers)


def _is_dense(seconds: Floats, longest: float) -> bool:
    if len(seconds) < _MANY_ROWS or len(np.unique(seconds)) < _FEWEST_ROWS:
        return False
    steps = np.diff(seconds)
    return bool((steps >= 0).all() and float(steps.mean()) <= longest)


def time_before_arms(table: Table, headings: Sequence[Heading], rest: Sequence[int]) -> int | None:
    """A first column of times before columns that only arms are called so: "hour,off,on". It is a
    clock where it rises at equal steps; NumbersError where it merely rises."""
    others = [column for column in rest if column != 0 and not table.is_text(column)]
    heading = headings[0]
    timed = heading.metric is not None and heading.metric.name == TIME and not table.is_text(0)
    arms = all(headings[column].role is Role.UNKNOWN for column in others)
    if 0 not in rest or not timed or len(others) < 2 or not arms or not rises(table.columns[0]):
        return None
    if steady(table.columns[0]):
        return 0
    raise could_be_either(table, 0, others)


def _dated_steadily(cells: Sequence[str], stretches: Sequence[str]) -> bool:
    moments = moments_of(cells)
    if moments is None:
        return False
    labels = np.array(stretches)
    groups = (moments[labels == label] for label in dict.fromkeys(stretches))
    return all(equal_steps(np.sort(group)) for group in groups)


def counts_rows(cells: Sequence[str]) -> bool:
    """Whether cells count the rows from 0 or 1, three or more."""
    texts = [cell.strip() for cell in cells]
    return len(texts) > 2 and any(
        texts == [str(number) for number in range(first, first + len(texts))] for first in (0, 1)
    )


def steady(
    cells: Sequence[str], arms: Sequence[str] | None = None, *, several: bool = False
) -> bool:
    """Whether numbers rise at equal steps; `arms`: in the rows of each arm by themselves;
    `several`: perhaps in each of several runs anew."""
    numbers = _numbers([cell.strip() for cell in cells])
    if not numbers:
        return False
    values, labels = np.array(numbers), np.array([arm.strip() for arm in arms or ()])
    groups = [values[labels == label] for label in dict.fromkeys(labels.tolist())] or [values]
    return all(equal_steps(group) or (several and restarts(group)) for group in groups)


def restarts(moments: Floats) -> bool:
    """Whether moments, shape (n,), rise at equal steps in several stretches that begin alike: the
    clocks of runs one after the other."""
    runs = np.split(moments, np.flatnonzero(np.diff(moments) < 0) + 1)
    if len(runs) < 2 or not all(map(equal_steps, runs)):
        return False
    starts = [float(run[0]) for run in runs]
    return max(starts) - min(starts) <= float(np.median(np.diff(runs[0])))


def equal_steps(moments: Floats) -> bool:
    """Whether moments, shape (n,), rise at one step, or at whole multiples of it where seconds are
    missing; never with fewer than 4 of them."""
    steps = np.diff(moments)
    if len(steps) < _FEWEST_STEPS or not (steps > 0).all():
        return False
    ratios = steps / np.median(steps)
    usual = np.abs(ratios - 1) <= _SLACK
    whole = np.abs(ratios - np.round(ratios)) <= _SLACK * np.maximum(ratios, 1)
    return bool(usual.mean() >= _STEADY_SHARE and whole.all())


def _counts_from_1970(numbers: Sequence[float], scales: Sequence[float]) -> bool:
    return bool(numbers) and any(
        all(_FROM_2001 * scale <= number <= _TO_2100 * scale for number in numbers)
        for scale in scales
    )


def _with_units(cells: Sequence[str]) -> bool:
    return any(cell[-1:].isalpha() and is_number(cell) for cell in cells)


def _numbers(cells: Sequence[str]) -> list[float]:
    """The numbers of all cells, or the seconds where all are times of day (`12:00:01`); none where
    one is neither."""
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        seconds = [clock_seconds(cell) for cell in cells]
    numbers = [second for second in seconds if second is not None]
    if len(numbers) < len(cells):
        return []
    return [float(number) for number in after_midnight(np.array(numbers))]


def _in_turn(numbers: Sequence[float]) -> bool:
    """Whether they rise down the file, or count its rows in whatever order."""
    if len(set(numbers)) < _FEWEST_RISING:
        return False
    first = min(numbers)
    counted = sorted(numbers) == [first + step for step in range(len(numbers))]
    return counted or all(earlier <= later for earlier, later in itertools.pairwise(numbers))


def _is_metric(heading: Heading) -> bool:
    measured = heading.role in (Role.METRIC, Role.STATISTIC) and heading.metric is not None
    sure = not heading.weak or (heading.metric is not None and bool(heading.metric.unit))
    return (measured and sure) or heading.role is Role.VALUE
