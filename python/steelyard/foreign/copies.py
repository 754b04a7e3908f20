"""Groups the files of an arm into runs, and refuses numbers that are there twice.

A copy adds no information, and the interval would shrink as if it did. Nor do files of two arms
that are taken for one: names that do not tell them apart are refused too.
"""

from __future__ import annotations

import itertools
import math
import re
import shlex
from collections.abc import Sequence, Sized

import numpy as np

from steelyard.foreign.series import MOST_ARMS, Floats, Grain, Order, Series
from steelyard.foreign.source import SourceText, arm_of_file, quoted
from steelyard.foreign.tables.row_times import order_of
from steelyard.foreign.vocabulary.words import BLOCK_WORDS, COUNTER_WORDS
from steelyard.model.errors import NumbersError, UsageError

_LEAST_SCATTER = 1e-3
"""Of the median: no measurement repeats more closely, however quiet the machine."""
_CLUSTERED = 10.0
"""So many times more agree than of numbers spread evenly, where they crowd in the middle."""
_CHANCE = math.log(1e-6)
_MOST_DECIMALS = 9


def refuse_copies(sources: Sequence[SourceText]) -> None:
    """NumbersError where two files hold the same text."""
    first: dict[str, SourceText] = {}
    for source in sources:
        text = source.text.strip()
        if text in first:
            names = quoted(first[text].name), quoted(source.name)
            same = names[0] == names[1]
            raise NumbersError(
                f"{names[0]} is given twice" if same else f"{names[1]} is a copy of {names[0]}",
                detail="Copies of one measurement are no repetitions of it.",
                hint="Name every file once.",
            )
        first[text] = source


_NUMBERED = re.compile(r"(.*?)[ _-]?([0-9]{1,6})")
_RUNS = COUNTER_WORDS | BLOCK_WORDS | {"", "r", "runs", "result", "results", "output", "out"}
_VERSION = re.compile(r"\.[0-9]+")


def refuse_namesakes(sources: Sequence[str]) -> None:
    """UsageError where files without names of arms may be of several arms that share a name: of
    versions, "pg16.3.txt" and "pg16.4.txt", or of directories, "off/run1.txt" and "on/run1.txt"."""
    groups: dict[str, list[str]] = {}
    for source in sources:
        groups.setdefault(arm_of_file(source), []).append(source)
    numbers = [_run_number(name) for name in groups]
    runs = sorted(number for number in numbers if number is not None)
    counts = [list(range(first, first + len(groups))) for first in (0, 1)]
    numbered = len(groups) > 1 and runs in counts
    for name, files in groups.items():
        arms = _versions(name, files)
        if len(arms) < 2 and numbered:
            arms = _folders(files)
        if len(arms) > 1:
            first, second, *_ = arms.values()
            typed = shlex.join(f"{arm or 'other'}={file}" for arm, file in arms.items())
            raise UsageError(
                f"{quoted(first)} and {quoted(second)} would both be of an arm {quoted(name)}",
                hint=f"Name the arm of each file: steelyard judge {typed} …",
            )


def _versions(name: str, files: Sequence[str]) -> dict[str, str]:
    """Version → a file of it, where the name of an arm was cut behind its first number."""
    tails = {file: _VERSION.match(file.rpartition("/")[2][len(name) :]) for file in files}
    cut = name[-1:].isdigit()
    return {f"{name}{match[0]}": file for file, match in tails.items() if cut and match}


def _folders(files: Sequence[str]) -> dict[str, str]:
    """Directory → a file in it, where they are not numbered too."""
    folders = {file.rpartition("/")[0].rpartition("/")[2]: file for file in files}
    return folders if any(_run_number(folder) is None for folder in folders) else {}


def _run_number(name: str) -> int | None:
    """The number of a run that a file or directory is called by; None for other names."""
    match = _NUMBERED.fullmatch(name.lower())
    return int(match[2]) if match is not None and match[1] in _RUNS else None


def refuse_repeats(arm: str, files: Sequence[Series]) -> None:
    """NumbersError where half of the rows of an arm, or more, repeat others to the last digit, and
    numbers of so many digits do not by chance."""
    repetitions = [series.values for series in files if series.grain is Grain.REPETITION]
    if not repetitions:
        return
    values = np.concatenate(repetitions)
    values = values[values > 0]
    distinct, counts = np.unique(values, return_counts=True)
    if len(values) < 4 or 2 * len(distinct) > len(values):
        return
    repeats = int((counts * (counts - 1) // 2).sum())
    chance = _CLUSTERED * _expected_repeats(values)
    tail = repeats - chance + repeats * math.log(chance / repeats) if repeats > chance else 0.0
    if tail < _CHANCE:
        often = distinct[np.argmax(counts)]
        raise NumbersError(
            f"the rows of {quoted(arm)} repeat to the last digit: {len(distinct)} different "
            f"numbers in {len(values)} rows, {often:.12g} {counts.max()} times",
            detail="Numbers of so many digits do not come again by chance: rows were copied.",
            hint="Leave every measurement in once.",
        )


def _expected_repeats(values: Floats) -> float:
    """How many pairs of rows, shape (n,), would agree in all their digits by chance."""
    low, middle, high = np.percentile(values, [25, 50, 75]).tolist()
    scatter = max(3 * (high - low), _LEAST_SCATTER * middle)
    steps = max(scatter / _resolution(values), 1.0)
    return max(len(values) * (len(values) - 1) / 2 / float(steps), 1e-12)


def _resolution(values: Floats) -> float:
    """The unit of the last digit of the numbers, shape (n,)."""
    for decimals in range(-6, _MOST_DECIMALS):
        # The first rows mostly say that it is finer.
        if all(_are_whole(part * 10.0**decimals) for part in (values[:_FIRST_ROWS], values)):
            return math.pow(10, -decimals)
    return math.pow(10, -_MOST_DECIMALS)


def _are_whole(numbers: Floats) -> bool:
    off = np.abs(numbers - np.round(numbers))
    return bool((off <= 1e-9 * np.maximum(np.abs(numbers), 1)).all())


_FIRST_ROWS = 1000
_SAME_RUN = 0.5
"""Of the shorter file: threads of one run overlap almost wholly, runs by turns hardly."""


def began(file: Series) -> float:
    """When its first row was measured; 0 where that is not known."""
    times = file.timestamps
    return float(times[0]) if times is not None and len(times) else 0.0


def dated(files: Sequence[Series]) -> bool:
    """Whether every file has the times of its rows."""
    return all(file.timestamps is not None and len(file.timestamps) for file in files)


def runs_of(files: Sequence[Series]) -> tuple[Series, ...]:
    """One series a run, of the files of one arm: in the order of their times where all have
    them; slices measured at the same time are taken together (threads of pgbench)."""
    if len(files) < 2 or not dated(files):
        return tuple(files)
    together: list[list[Series]] = []
    for file in sorted(files, key=began):
        if together and any(_same_run(file, other) for other in together[-1]):
            together[-1].append(file)
        else:
            together.append([file])
    return tuple(some[0] if len(some) == 1 else _merged(some) for some in together)


def order_of_runs(runs: Sequence[Series]) -> Order:
    """The order of the arms; unknown where a run has no times, or two overlap."""
    if not dated(runs):
        return Order.UNKNOWN
    ends = sorted(_span(run) for run in runs)
    if any(earlier[1] > later[0] for earlier, later in itertools.pairwise(ends)):
        return Order.UNKNOWN
    if len({run.arm for run in runs}) == len(runs):
        return Order.SEQUENTIAL
    return order_of([run.arm for run in sorted(runs, key=began)])


def _span(file: Series) -> tuple[float, float]:
    last = file.until
    if last is None:
        last = float(file.timestamps[-1]) if file.timestamps is not None else 0.0
    return began(file), last


def _same_run(file: Series, other: Series) -> bool:
    if Grain.REPETITION in (file.grain, other.grain):
        return False
    (first, end), (second, last) = _span(file), _span(other)
    shorter = min(end - first, last - second)
    overlap = min(end, last) - max(first, second)
    return overlap > _SAME_RUN * shorter or (shorter == 0 and overlap >= 0)


def _merged(files: Sequence[Series]) -> Series:
    """The rows of all files in the order of their times; of rates, their sum."""
    arm, grain = files[0].arm, files[0].grain
    until = max(_span(file)[1] for file in files)
    if any(file.weights is None for file in files):
        timestamps, rates = _summed(files)
        return Series(arm, rates, grain, timestamps=timestamps, until=until)
    timestamps = np.concatenate([file.timestamps for file in files if file.timestamps is not None])
    weights = np.concatenate([file.weights for file in files if file.weights is not None])
    values = np.concatenate([file.values for file in files])
    order = np.argsort(timestamps, kind="stable")
    return Series(arm, values[order], grain, weights[order], timestamps[order], until=until)


def _summed(files: Sequence[Series]) -> tuple[Floats, Floats]:
    """Starts of intervals that all files saw, and the sum of the files' rates in them, shapes (n,).

    Files cut the time each for itself: what each had done by the borders is interpolated.
    """
    starts = [file.timestamps for file in files if file.timestamps is not None]
    lengths = [float(np.median(np.diff(times))) if len(times) > 1 else 1.0 for times in starts]
    begin = max(float(times[0]) for times in starts)
    end = min(float(times[-1]) + length for times, length in zip(starts, lengths, strict=True))
    count = max(int((end - begin) / lengths[0] + 1e-9), 1)
    borders: Floats = begin + lengths[0] * np.arange(count + 1, dtype=np.float64)
    total = np.zeros(count)
    for times, length, file in zip(starts, lengths, files, strict=True):
        at = np.column_stack((times, times + length)).ravel()
        done = np.cumsum(np.column_stack((np.zeros(len(times)), file.values * length)).ravel())
        total += np.diff(np.interp(borders, at, done)) / lengths[0]
    return borders[:-1], total


def refuse_many(arms: Sized) -> None:
    """UsageError: there are more arms than are compared; names of rows were taken for arms."""
    if len(arms) > MOST_ARMS:
        raise UsageError(
            f"these are {len(arms)} arms: more than {MOST_ARMS}, the limit",
            hint="Compare a part of them, or say which column names the arms: --column arm=NAME.",
        )
