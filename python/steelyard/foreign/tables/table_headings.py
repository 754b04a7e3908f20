"""Says what the headings of one table mean beside each other, and by what their columns hold.

Beside each other: "time_min" beside a maximum is a minimum, "tps_se" beside "tps" its spread,
"tps_low" and "tps_high" beside it its bounds, and "on/off" beside "on" and "off" their ratio.

By what they hold, though the headings do not say it, columns are what rows are about or what they
were measured under: codes that name kinds ("type", "sql_id"), steps under an unknown word ("qd"),
versions beside the arms, shares of a load ("read_ratio"); or when they were ("epoch").
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.foreign.metric import LATENCY, THROUGHPUT, TIME, Metric
from steelyard.foreign.number import amounts_of
from steelyard.foreign.series import Floats
from steelyard.foreign.tables.steps import are_requested, are_steps, by_arm, come_again, explained
from steelyard.foreign.tables.table import Table
from steelyard.foreign.tables.time_column import is_moment, is_unix_time
from steelyard.foreign.vocabulary import words as known
from steelyard.foreign.vocabulary.heading import Heading, Role, heading_of, key_of
from steelyard.foreign.vocabulary.tokens import split_words
from steelyard.foreign.vocabulary.units import SECONDS, is_rate, unit_of

_PROCESSOR = ("real", "user", "system", "sys")
"""As `time` of a shell prints them."""
_SHARES = {"us", "sy", "id"}
"""Of the processor's time in percent, as vmstat and top call them: beside each other "us" is no
microsecond, and "id" names no rows."""
_OF_MACHINE = _SHARES | {
    *("wa", "st", "ni", "hi", "si", "gu", "so", "bi", "bo", "in", "cs", "r", "b", "swpd", "free"),
    *("buff", "cache", "inact", "active"),
}
_LESS_IS_BETTER = {"us", "sy", "wa", "st"}
_BOUNDS = {
    **{"lo": ("hi", "min"), "low": ("high", "min"), "lower": ("upper", "min"), "lb": ("ub", "min")},
    **{"hi": ("lo", "max"), "high": ("low", "max"), "upper": ("lower", "max"), "ub": ("lb", "max")},
    **{"q1": ("q3", "p25"), "q3": ("q1", "p75")},
}
"""Word of a bound → that of the other one, and the statistic."""
_SPREADS = {"se", "sem", "moe", "fehler", "uncertainty", "unc"}
_JOINS = re.compile(r"\s*[/:÷−]\s*|\s+(?:-|vs\.?|over)\s+")
"""Between two names, of what is computed from both; "jit-parallel" may be an arm with both."""
_UNIT_BEHIND = re.compile(r"\s*[(\[][^)\]]*[)\]]\s*$")
_CENTRAL = known.MEAN_WORDS | known.MEDIAN_WORDS | {"estimate", "est"}
_WORD = re.compile(r"[^\W_]+")


def headings_of(names: tuple[str, ...]) -> tuple[Heading, ...]:
    """The meanings of all headings of a table."""
    words = {word for name in names for word in split_words(name)}
    minutes = not words & {"max", "avg", "mean", "median", "average", "maximum"}
    shares = {key_of(name) for name in names} >= _SHARES
    timed = "user" in words and bool(words & {"system", "sys"})
    headings = [
        _of_machine(name)
        if shares and key_of(name) in _OF_MACHINE
        else _of_processor(name)
        if timed and key_of(name) in _PROCESSOR
        else heading_of(name, minutes)
        for name in names
    ]
    return tuple(_computed(_with_bounds(headings)))


def _of_processor(name: str) -> Heading:
    if key_of(name) == "real":
        return Heading(name, Role.METRIC, Metric(TIME, "", False, name))
    return Heading(name, Role.COST, Metric(name, "", False, name))


def _of_machine(name: str) -> Heading:
    less = False if key_of(name) in _LESS_IS_BETTER else None
    return Heading(name, Role.OUTCOME, Metric(name, "", less, name))


def _with_bounds(headings: Sequence[Heading]) -> list[Heading]:
    """The headings, those that say how far numbers of another one lie apart as statistics of it."""
    stems = [frozenset(_WORD.findall(heading.name.lower())) for heading in headings]
    central = {
        stem - _CENTRAL: heading
        for stem, heading in zip(stems, headings, strict=True)
        if stem and (stem - _CENTRAL or stem & _CENTRAL)
    }
    meanings = []
    for stem, heading in zip(stems, headings, strict=True):
        meaning = heading
        for word in stem & (_BOUNDS.keys() | _SPREADS):
            rest = stem - {word}
            other, statistic = _BOUNDS.get(word, ("", "stddev"))
            base = central.get(rest)
            if base is not None and (rest | {other} in stems if other else rest):
                meaning = _statistic_of(base, heading.name, statistic)
        meanings.append(meaning)
    return meanings


def _statistic_of(base: Heading, name: str, statistic: str) -> Heading:
    if base.metric is None:
        return Heading(name, Role.STATISTIC, Metric(name, "", None, name), statistic)
    stem = "latency" if base.metric.name == LATENCY else base.metric.name
    stem = stem.removesuffix(f"_{base.statistic}")
    higher = None if statistic == "stddev" else base.metric.higher_is_better
    metric = Metric(f"{stem}_{statistic}", base.metric.unit, higher, name)
    return replace(base, name=name, role=Role.STATISTIC, metric=metric, statistic=statistic)


def _computed(headings: Sequence[Heading]) -> list[Heading]:
    """The headings; one that joins those of two others of one kind is computed from them."""
    named = {_bare(heading.name): heading for heading in headings}
    return [
        Heading(heading.name, Role.DERIVED) if _joins(heading, named) else heading
        for heading in headings
    ]


def _joins(heading: Heading, named: Mapping[str, Heading]) -> bool:
    name = _bare(heading.name)
    for join in _JOINS.finditer(name):
        first, second = named.get(name[: join.start()]), named.get(name[join.end() :])
        if first is None or second is None:
            continue
        # A sum divided by a count is a mean, and work by time a rate.
        counts = [part.role in (Role.COUNT, Role.COUNTER) for part in (first, second)]
        if all(counts) == any(counts) and (heading.role is not Role.METRIC or heading.rest):
            return True
    return False


def _bare(name: str) -> str:
    return _UNIT_BEHIND.sub("", name).strip().lower()


_KINDS = {"type", "phase"}
_IDENTIFIERS = {"id", "ids"}
_OF_WORK = known.LABEL_WORDS | {"op", "txn", "transaction"}
"""Before "id" or "code": of a query, a test, and not of a process."""
_NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]{1,2})?")
_SHARE = re.compile(r"([0-9]{1,3}(?:[.,][0-9]{1,4})?|[.,][0-9]{1,4})\s*%?")
_JOINING = {"of", "per", "to", "the", "op", "ops", "operations", "queries", "requests"}
_AMOUNTS = {"rows", "records", "tuples", "items", "documents", "docs", "bytes", "kb", "mb", "gb"}
_COUNTING = {"n", "num", "number", "of", "count", "table"}
_EPOCHS = {"epoch", "unix", "unixtime", "posix"}
_ALSO_SIZES, _APART = {"n", "k", "number"}, 1.5
_ROUND, _EXTREMES = 5, {1, 2, 98, 99, 99.9}
"""Percent."""
_FEWEST_CONSTANT = 3
"""Rows of an arm: a measurement is no number that comes as often."""
_METRICS = known.LATENCY_WORDS | known.TIME_WORDS | known.RATE_WORDS
_METRICS = {word for word in _METRICS if len(word) > 6}
"""Words of metrics that are part of no other word by chance."""
_EXPLAINED = 0.8
"""Of the variance of a metric within arms: an effect of a step, and no accident."""


def names_kinds(heading: Heading) -> bool:
    """Whether a code is called the kind of something: "type", "op_type", "phase"."""
    return heading.role is Role.CODE and _last(heading) in _KINDS


def is_subject(
    table: Table, column: int, heading: Heading, arms: Sequence[str] | None, labels: Sequence[int]
) -> bool:
    """Whether a column of codes says what rows are about: its values come in every arm, and
    differ within one. Words of a kind always do: the arms themselves may differ in it.

    `arms`: of each row; None where the table is of one arm. `labels`: the columns that say so by
    their headings: a code that follows from them says nothing more.
    """
    if heading.role is not Role.CODE or (labels and follows(table, column, labels)):
        return False
    cells = [cell.strip() for cell in table.columns[column]]
    groups = by_arm(cells, arms)
    levels = [set(group) for group in groups]
    varied = any(len(level) > 1 for level in levels)
    again = come_again(groups)
    of_work = _last(heading) in _KINDS or _identifies_work(heading)
    if not table.is_text(column):
        alike = all(level == levels[0] for level in levels)
        return of_work and varied and again and alike and all(map(str.isdecimal, cells))
    if names_kinds(heading):
        return arms is None or len(set(cells)) > 1
    shared = 2 * len(set.intersection(*levels)) >= len(set.union(*levels))
    return varied and shared and (of_work or (again and _last(heading) in _IDENTIFIERS))


def names_versions(table: Table, column: int, heading: Heading, arms: Sequence[str] | None) -> bool:
    """Whether numbers that could name arms too, as those of "version" do, say what the rows of arms
    were measured under: a few, of which some arm has several."""
    if heading.role is not Role.ARM or arms is None or table.is_text(column):
        return False
    cells = [cell.strip() for cell in table.columns[column]]
    again = 2 * len(set(cells)) <= len(cells)
    return again and any(len(set(group)) > 1 for group in by_arm(cells, arms))


def headings_by_content(table: Table, headings: Sequence[Heading]) -> tuple[Heading, ...]:
    """The headings, with other meanings where the cells show that they have them: shares of reads
    and amounts of rows that were asked for, which are round as measured ones are not, and an "n"
    that counts no rows are parameters; what counts from 1970, as an "epoch", is a clock."""
    roles = [_role_shown(table, column, heading) for column, heading in enumerate(headings)]
    if all(role is Role.CLOCK or table.is_text(column) for column, role in enumerate(roles)):
        return tuple(headings)  # sorted arms, of large numbers
    return tuple(
        heading if role is None else Heading(heading.name, role)
        for heading, role in zip(headings, roles, strict=True)
    )


def _role_shown(table: Table, column: int, heading: Heading) -> Role | None:
    cells = table.columns[column]
    if _is_share_of_work(heading) and all(map(_is_round_share, cells)):
        return Role.PARAMETER
    if _is_size(table, column, heading) or (_is_amount(heading) and _are_round(cells)):
        return Role.PARAMETER
    return Role.CLOCK if _is_clock(heading, cells) else None


def _is_clock(heading: Heading, cells: Sequence[str]) -> bool:
    """Whether numbers under a heading that names a time, says that they count from 1970, or says
    nothing of them, do so."""
    unit = heading.metric.unit if heading.role is Role.METRIC and heading.metric else ""
    if unit in SECONDS:
        return is_moment(cells, unit)
    named = not _EPOCHS.isdisjoint(split_words(heading.name))
    blocks = heading.role is Role.BLOCK and len(set(cells)) == len(cells)
    possible = heading.role in (Role.UNKNOWN, Role.BLOCK) and (named or blocks)
    return (possible or heading.role is Role.UNKNOWN) and is_unix_time(cells, surely=possible)


def _is_size(table: Table, column: int, heading: Heading) -> bool:
    """Whether whole numbers called "n" are steps that come again, 100 and 1000, and count no rows:
    those of runs that are repeated follow each other."""
    if heading.role is not Role.COUNTER or heading.name.strip().lower() not in _ALSO_SIZES:
        return False
    cells = [cell.strip() for cell in table.columns[column]]
    if not all(map(str.isdecimal, cells)) or 2 * len(set(cells)) > len(cells):
        return False
    steps = sorted(set(map(int, cells)))
    apart = all(later >= _APART * max(step, 1) for step, later in itertools.pairwise(steps))
    return apart and (len(steps) == 1 or steps[-1] - steps[0] >= len(steps))


def _is_amount(heading: Heading) -> bool:
    """Whether a count is of data that may have been asked for: "rows", "number of records"."""
    words = set(split_words(heading.name))
    return heading.role is Role.COUNT and bool(words & _AMOUNTS) and words <= _AMOUNTS | _COUNTING


def _are_round(cells: Sequence[str]) -> bool:
    """Whether all are whole numbers of two digits and noughts behind them, some of them large."""
    texts = [cell.strip() for cell in cells]
    round_ones = all(t == "1" or (t.endswith("0") and len(t.rstrip("0")) in (1, 2)) for t in texts)
    return round_ones and all(map(str.isdecimal, texts)) and max(map(len, texts), default=0) > 2


def _is_share_of_work(heading: Heading) -> bool:
    words = set(split_words(heading.name)) - _JOINING
    shares, mixed = words & known.SHARE_WORDS, words & known.MIXED_WORDS
    return bool(shares and mixed) and words == shares | mixed


def _is_round_share(cell: str) -> bool:
    match = _SHARE.fullmatch(cell.strip())
    if match is None:
        return False
    share = float(match[1].replace(",", "."))
    percent = round(100 * share, 6) if share <= 1 and not match[1].isdecimal() else share
    return percent in _EXTREMES or (percent <= 100 and percent % _ROUND == 0)


def is_swept(
    table: Table, column: int, heading: Heading, arms: Sequence[str] | None, metrics: Sequence[int]
) -> bool:
    """Whether numbers, under a heading that the vocabulary knows in part or not, are steps of a
    parameter: each arm has its own one in every row, or steps come again in every arm and explain
    how one of the metrics scatters in it.

    `arms`: of each row; None where the table is of one arm.
    """
    unknown = heading.role is Role.UNKNOWN or (heading.role is Role.PARAMETER and heading.rest)
    if not (unknown and metrics) or holds_a_metric(heading):
        return False
    cells = [cell.strip() for cell in table.columns[column]]
    groups = by_arm(cells, arms)
    if all(len(set(group)) == 1 for group in groups):
        own = arms is None or len(set(cells)) > 1
        amounts = own and amounts_of([*dict.fromkeys(cells)]) is not None
        return amounts and all(len(group) >= _FEWEST_CONSTANT for group in groups)
    return are_steps(groups) and explains(table, column, arms, metrics)


def requested_rates(
    table: Table, headings: Sequence[Heading], numbers: Sequence[int], arms: Sequence[str] | None
) -> list[int]:
    """Rates that were asked for, step by step, beside the times that came of them."""
    kinds = {c: metric.name for c in numbers if (metric := headings[c].metric) is not None}
    if not any(kind.startswith((TIME, LATENCY)) for kind in kinds.values()):
        return []
    return [
        c
        for c, kind in kinds.items()
        if kind == THROUGHPUT
        and not headings[c].statistic
        and are_requested(by_arm([cell.strip() for cell in table.columns[c]], arms))
    ]


def explains(
    table: Table,
    column: int,
    arms: Sequence[str] | None,
    metrics: Sequence[int],
    others: Sequence[int] = (),
) -> bool:
    """Whether the cells of a column explain how one of the metrics scatters in an arm, in rows that
    are alike in the columns `others`."""
    rows = list(zip(arms or ("",) * table.rows, *(table.columns[c] for c in others), strict=True))
    cells = [cell.strip() for cell in table.columns[column]]
    every = [logs for c in metrics if (logs := _logs(table.columns[c])) is not None]
    return any(explained(logs, rows, cells) > _EXPLAINED for logs in every)


def holds_a_metric(heading: Heading) -> bool:
    """Whether a heading is that of a metric with something before or behind it: "dblatency",
    "expected_tps"."""
    name = heading.name.lower()
    rates = any(is_rate(unit_of(word) or "") for word in split_words(name))
    return rates or any(word in name for word in _METRICS)


def _logs(cells: Sequence[str]) -> Floats | None:
    """The logs of numbers, shape (n,), units left out; None where one is none or not positive."""
    matches = [_NUMBER.match(cell.strip()) for cell in cells]
    texts = [match[0].replace(",", ".") for match in matches if match is not None]
    values = np.array([float(text) for text in texts])
    if len(texts) < len(cells) or not (values > 0).all():
        return None
    return np.asarray(np.log(values))


def _last(heading: Heading) -> str:
    return next(iter(split_words(heading.name)[-1:]), "")


def _identifies_work(heading: Heading) -> bool:
    *before, last = split_words(heading.name) or ("",)
    return last in _IDENTIFIERS | {"code"} and bool(_OF_WORK.intersection(before))


def follows(table: Table, column: int, labels: Sequence[int]) -> bool:
    """Whether the cells of other columns determine those of a column."""
    others = list(zip(*(table.columns[c] for c in labels), strict=True))
    pairs = set(zip(others, table.columns[column], strict=True))
    return len(pairs) == len(set(others))
