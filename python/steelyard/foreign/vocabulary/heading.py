"""Says what the heading of a column means: a metric with its direction, a statistic of one, a
parameter, a clock, a count, an outcome, a label.

The meaning decides whether a column can be judged at all. What is not surely throughput, latency
or time is none of them: a guess would give a verdict on something that was not measured.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from steelyard.foreign.metric import LATENCY, THROUGHPUT, TIME, Metric
from steelyard.foreign.vocabulary import words as known
from steelyard.foreign.vocabulary.tokens import denominator, split_words, subject_of, tokens_of
from steelyard.foreign.vocabulary.units import (
    RATE_UNITS,
    SECONDS,
    TIME_UNITS,
    WORK,
    cost_unit,
    is_rate,
    rate_unit,
    unit_of,
)


class Role(StrEnum):
    """What a column holds."""

    METRIC = "metric"
    STATISTIC = "statistic"
    """Not the mean: a minimum, a percentile, a standard deviation of a metric."""
    VALUE = "value"
    """What was measured, as a heading like "result" says without saying what it is."""
    COST = "cost"
    """Measured beside the work: processor time, connecting, bytes an operation."""
    OUTCOME = "outcome"
    """What failed, was retried, or succeeded."""
    COUNT = "count"
    DERIVED = "derived"
    """Computed from other columns: a ratio, a change in percent."""
    CODE = "code"
    PARAMETER = "parameter"
    CLOCK = "clock"
    START = "start"
    """When each measurement began."""
    END = "end"
    COUNTER = "counter"
    """Numbers the rows."""
    BLOCK = "block"
    ARM = "arm"
    LABEL = "label"
    """What the row is about: a query, a benchmark."""
    METRIC_NAME = "metric name"
    UNIT = "unit"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading and its meaning."""

    name: str
    role: Role
    metric: Metric | None = None
    """What its numbers are, where the heading says so."""
    statistic: str = ""
    """"mean", "median", "min", "max", "p95", "stddev" …; empty: the heading names none."""
    rest: tuple[str, ...] = ()
    """The words that the vocabulary does not know: of an arm, or of anything."""
    weak: bool = False
    """The metric is known by a word that means other things too: "rate" of something, "duration"
    of a run, a unit behind an unknown word."""

    @property
    def failures(self) -> bool:
        """Whether it counts transactions that did not simply succeed."""
        words = set(split_words(self.name))
        fraction = words & (known.FRACTION_WORDS | {"per"})
        return self.role is Role.OUTCOME and bool(words & known.COUNTED_FAILURES) and not fraction

    @property
    def central(self) -> bool:
        """Whether it says that its numbers are means, medians, or costs of one operation."""
        of_one = "per" in split_words(self.name) and self.role is Role.METRIC
        return of_one or self.statistic in ("mean", "median")

    @property
    def total(self) -> bool:
        """Whether it says that its numbers are sums."""
        return bool(set(split_words(self.name)) & known.TOTAL_WORDS) and not self.central

    @property
    def load(self) -> bool:
        """Whether it is a parameter of the load, which explains any difference."""
        return self.role is Role.PARAMETER and bool(set(split_words(self.name)) & known.LOAD_WORDS)


def metric_of(text: str) -> Metric | None:
    """The metric that a text names: "latency_ms", "tps", "elapsed (s)", "p95 latency"; None for
    others, and for what has no direction of its own."""
    heading = heading_of(text)
    measured = heading.role in (Role.METRIC, Role.STATISTIC) and heading.metric is not None
    metric = heading.metric if measured and not (heading.weak and heading.rest) else None
    return metric if metric is not None and metric.higher_is_better is not None else None


@lru_cache(maxsize=4096)
def heading_of(name: str, minutes: bool = True) -> Heading:
    """The meaning of a heading; `minutes`: whether "min" behind a time word can be minutes."""
    key = key_of(name)
    whole = _WHOLE.get(key)
    if whole is not None:
        return Heading(name, whole)
    return _Parser(name, minutes).heading()


def key_of(name: str) -> str:
    """A heading as the lists of whole headings have it: lower case, words joined by "_"."""
    return re.sub(r"[\s_-]+", "_", name.strip().lower())


_WHOLE: dict[str, Role] = {}
for _role, _names in (
    (Role.VALUE, known.VALUE_WORDS),
    (Role.COUNTER, known.COUNTER_WORDS),
    (Role.LABEL, known.LABEL_WORDS),
    (Role.ARM, known.ARM_WORDS),
    (Role.BLOCK, known.BLOCK_WORDS),
    (Role.CLOCK, known.CLOCK_WORDS),
    (Role.START, known.START_WORDS),
    (Role.END, known.END_WORDS),
    (Role.PARAMETER, known.CLIENT_WORDS),
    (Role.METRIC_NAME, known.METRIC_NAME_WORDS),
    (Role.UNIT, known.UNIT_WORDS),
):
    _WHOLE |= dict.fromkeys(_names, _role)

_STATISTICS = {
    **dict.fromkeys(known.MEAN_WORDS, "mean"),
    **dict.fromkeys(known.MEDIAN_WORDS, "median"),
    **{word: name for name, words in known.EXTREME_WORDS.items() for word in words},
    **dict.fromkeys(known.SPREAD_WORDS, "stddev"),
    **dict.fromkeys(known.PERCENTILE_WORDS, "percentile"),
}
_PLANNED = {
    *("target", "limit", "threshold", "interval", "warmup", "ramp", "rampup", "think", "sleep"),
    *("budget", "measurement", "arrival", "offered", "planned", "requested", "configured"),
}
_SUPPOSED = {"expected": Role.DERIVED, "theoretical": Role.DERIVED, "ideal": Role.DERIVED}
_SUPPOSED |= {"goal": Role.PARAMETER}
"""Of a rate or a time; alone they may be names of arms."""


class _Parser:
    """Reads one heading word by word."""

    def __init__(self, name: str, minutes: bool) -> None:
        self.name = name
        tokens = tokens_of(name)
        self.divided = denominator(tokens.words)
        subject = subject_of(tokens)
        self.lookups, self.percentile = subject.words, tokens.percentile
        self.aside, self.unclear = subject.aside, subject.unclear
        self.words, self.behind = set(subject.words), tokens.behind
        self.minutes = minutes and len(self.lookups) > 1 and self.lookups[-1] == "min"
        self.timed = bool(self.words & (known.LATENCY_WORDS | known.TIME_WORDS))

    def heading(self) -> Heading:
        """The meaning; the first rule that applies."""
        rules = (
            *(self._moment, self._name, self._outcome, self._planned, self._derived),
            *(self._price, self._operations, self._rate, self._cost_of_one),
            *(self._time, self._parameter, self._statistic, self._rest),
        )
        for rule in rules:
            heading = rule()
            if heading is not None:
                return heading
        return Heading(self.name, Role.UNKNOWN, rest=self._unknown(set()))

    def _moment(self) -> Heading | None:
        if not self.lookups:
            return None if self.percentile else Heading(self.name, Role.UNKNOWN)
        words = self.words
        if words & {"timestamp", "timestamps", "datetime"}:
            return Heading(self.name, Role.CLOCK)
        units = {word for word in words if word in TIME_UNITS}
        rest = words - units - {"time", "at", "ts", "unix", "epoch", "request", "run", "test"}
        if words & known.START_WORDS and not rest - known.START_WORDS:
            return Heading(self.name, Role.START)
        if words & known.END_WORDS and not rest - known.END_WORDS:
            return Heading(self.name, Role.END)
        return None

    def _name(self) -> Heading | None:
        """What names or numbers rows."""
        last, words = self.lookups[-1] if self.lookups else "", self.words
        several = len(words) > 1
        if several and last in known.NUMBERING_WORDS and words & known.COUNTER_WORDS - {last}:
            return Heading(self.name, Role.COUNTER)
        named_arm = last == "name" and words & known.ARM_WORDS
        if named_arm or (last in known.ARM_SUFFIXES and len(words) > 1):
            return Heading(self.name, Role.ARM)
        if last in known.CODE_WORDS and not self.timed:
            return Heading(self.name, Role.CODE)
        return None

    def _outcome(self) -> Heading | None:
        bad, good = self.words & known.BAD_WORDS, self.words & known.GOOD_OUTCOMES
        if bad == {"timeout"} and not self.words & known.FRACTION_WORDS:
            return Heading(self.name, Role.PARAMETER)  # a setting; "timeouts" happened
        if bad and not self.words & {"limit", "threshold"}:
            return Heading(self.name, Role.OUTCOME, Metric(self.name, "", False))
        if good and not self._rate_unit():
            return Heading(self.name, Role.OUTCOME, Metric(self.name, "", True))
        return None

    def _planned(self) -> Heading | None:
        if self.words & _PLANNED:
            return Heading(self.name, Role.PARAMETER)
        supposed = next((_SUPPOSED[word] for word in self.lookups if word in _SUPPOSED), None)
        if supposed is None or not (self.timed or self._rate_unit() is not None):
            return None
        return Heading(self.name, supposed)

    def _derived(self) -> Heading | None:
        derived = self.words & known.DERIVED_WORDS
        if self.words <= known.CHANGED_WORDS:
            return None
        if "percentile" in self.words or (self.percentile and derived <= {"pct", "%"}):
            return None
        return Heading(self.name, Role.DERIVED) if derived else None

    def _price(self) -> Heading | None:
        """What a rate costs: USD per tpmC; unknown what else is divided by one."""
        over = set(self.divided or ())
        if over & known.COST_WORDS:
            return Heading(self.name, Role.COST, Metric(self.name, "", False))
        measured = over & (known.LATENCY_WORDS | known.TIME_WORDS | TIME_UNITS.keys())
        of_rates = measured or any(is_rate(unit_of(word) or "") for word in over)
        if not self.unclear and (self.divided is None or of_rates):
            return None
        return Heading(self.name, Role.UNKNOWN, rest=self._unknown(set()))

    def _operations(self) -> Heading | None:
        """ "ops" alone: a rate where nothing else stands there, else maybe a number of them."""
        units = {word for word in self.words if is_rate(unit_of(word) or "")}
        if units != {"ops"} or "per" in self.words or self.words & known.RATE_WORDS:
            return None
        if self.words & (known.COUNT_WORDS | known.TOTAL_WORDS | {"cnt", "no"}):
            return Heading(self.name, Role.COUNT)
        rest = self._unknown({"ops"})
        return Heading(self.name, Role.UNKNOWN, rest=rest) if rest else None

    def _rate_unit(self) -> str | None:
        """The rate that the words name: "" where only a word like "throughput" does."""
        words = self.lookups
        for index in range(1, len(words) - 1):
            if words[index] == "per" and words[index + 1] in TIME_UNITS:
                return rate_unit(words[index - 1], words[index + 1]) or "?"
        rates = [unit for word in words if (unit := unit_of(word)) and is_rate(unit)]
        alone = rates[0] if rates else None
        if alone is not None or not self.words & known.RATE_WORDS:
            return alone
        return next((unit for text in self.behind if (unit := unit_of(text)) and "/" in unit), "")

    def _rate(self) -> Heading | None:
        unit = self._rate_unit()
        if unit is None:
            return None
        rest = self._unknown(known.RATE_WORDS | set(RATE_UNITS) | set(WORK) | set(TIME_UNITS))
        if unit == "?" and self.words & known.MONEY_WORDS:
            return Heading(self.name, Role.COST, Metric(self.name, "", False))
        if unit == "?":
            return Heading(self.name, Role.UNKNOWN, rest=rest)
        if self.words & known.COST_WORDS:
            return Heading(self.name, Role.COST, Metric(self.name, unit, None))
        of_work = bool(unit) or bool(self.words & set(WORK))
        strong = of_work or bool(self.words & (known.RATE_WORDS - known.WEAK_RATE_WORDS))
        return self._measured(THROUGHPUT, unit, True, rest, weak=bool(rest) and not strong)

    def _cost_of_one(self) -> Heading | None:
        words = self.lookups
        for index in range(1, len(words) - 1):
            if words[index] == "per" and words[index - 1] not in known.TIME_WORDS:
                unit = cost_unit(words[index - 1], words[index + 1])
                if unit in SECONDS:
                    rest = self._unknown({*words[index - 1 : index + 2], *known.TIME_WORDS})
                    return self._measured(TIME, unit or "", False, rest, weak=False)
                if unit is not None:
                    return Heading(self.name, Role.COST, Metric(self.name, unit, False))
        return None

    def _time(self) -> Heading | None:
        latency = bool(self.words & known.LATENCY_WORDS)
        unit = self._time_unit(latency)
        response = "response" in self.words or "resp" in self.words
        if response and (self.words & {"time", "times"} or unit):
            latency = True
        elif response and not latency:
            return None
        time_words = self.words & (known.TIME_WORDS - {"response"})
        if not (latency or time_words or unit):
            return None
        meant = known.LATENCY_WORDS | known.TIME_WORDS | set(TIME_UNITS)
        rest = self._unknown(meant)
        if self.words & known.COST_WORDS and not latency:
            return Heading(self.name, Role.COST, Metric(self.name, unit, False))
        if not latency and not time_words and len(set(self.lookups) - set(TIME_UNITS)) > 1:
            return None  # a unit behind several unknown words says little
        strong = latency or bool(time_words - known.WEAK_TIME_WORDS)
        strong = strong or bool(time_words and self.words & known.STRONG_TIME_QUALIFIERS)
        strong = strong or (not time_words and (bool(self._which()) or unit in ("ms", "µs", "ns")))
        weak = not strong or len(rest) > len(self.aside)
        return self._measured(LATENCY if latency else TIME, unit, False, rest, weak=weak)

    def _time_unit(self, latency: bool) -> str:
        """The unit of time that the words name; "min" and "h" only where they surely are units."""
        behind = next((TIME_UNITS[text] for text in self.behind if text in TIME_UNITS), "")
        if behind:
            return behind
        if self.minutes and self.timed and not latency:
            return "min"
        doubtful = {"min", "h"} if len(self.lookups) == 1 or not self.timed else {"min"}
        return next((TIME_UNITS[w] for w in self.lookups if w in TIME_UNITS.keys() - doubtful), "")

    def _measured(
        self, kind: str, unit: str, higher: bool, rest: tuple[str, ...], weak: bool
    ) -> Heading:
        statistic = self._which()
        if statistic in ("", "mean", "total"):
            metric = Metric(kind, unit, higher, self.name)
            return Heading(self.name, Role.METRIC, metric, statistic, rest, weak)
        stem = "latency" if kind == LATENCY else kind
        direction = None if statistic in ("stddev", "range") else higher
        metric = Metric(f"{stem}_{statistic}", unit, direction, self.name)
        return Heading(self.name, Role.STATISTIC, metric, statistic, rest, weak)

    def _which(self) -> str:
        """The statistic that the words name: a spread or an extreme before the mean of it."""
        a_minute = ("per", "min") in zip(self.lookups, self.lookups[1:], strict=False)
        in_minutes = "min" in self.behind and self._rate_unit() is None
        meant = a_minute or in_minutes or self._minutes_meant()
        minutes = {"min"} if meant else set()
        statistics = [_STATISTICS[w] for w in self.lookups if w in _STATISTICS and w not in minutes]
        statistics += [self.percentile] if self.percentile else []
        for name in ("stddev", "range"):
            if name in statistics:
                return name
        telling = [name for name in statistics if name not in ("mean", "total")]
        return (telling or statistics or [""])[-1]

    def _minutes_meant(self) -> bool:
        return self.minutes and self.timed and not self.words & known.LATENCY_WORDS

    def _parameter(self) -> Heading | None:
        if not self.words & known.PARAMETER_WORDS:
            return None
        if self._which() == "mean" or self.words & {"response", "resp", "content"}:
            return Heading(self.name, Role.COUNT)
        counts = {"number", "num", "n", "count", "no", "max", "shared", "work", "effective"}
        counts |= {"factor", "maintenance", "temp"}
        rest = self._unknown(known.PARAMETER_WORDS | known.COUNT_WORDS | counts | set(TIME_UNITS))
        return Heading(self.name, Role.PARAMETER, rest=rest)

    def _statistic(self) -> Heading | None:
        statistic = self._which()
        if not statistic:
            return None
        if statistic in ("mean", "total") and not self.words & known.COUNT_WORDS:
            rest = self._unknown(known.VALUE_WORDS)
            metric = Metric("value", "", None, self.name)
            return Heading(self.name, Role.VALUE, metric, statistic, rest)
        if self.words & known.COUNT_WORDS:
            return Heading(self.name, Role.COUNT)
        metric = Metric(self.name, "", None, self.name)
        return Heading(self.name, Role.STATISTIC, metric, statistic, self._unknown(set()))

    def _rest(self) -> Heading | None:
        last = set(self.lookups[-1:])
        for words, role in (
            (known.VALUE_WORDS & last, Role.VALUE),
            (known.COUNT_WORDS, Role.COUNT),
            (known.COST_WORDS, Role.COST),
            (known.VALUE_WORDS, Role.VALUE),
        ):
            if self.words & words:
                return Heading(self.name, role, rest=self._unknown(words))
        return None

    def _unknown(self, meant: set[str]) -> tuple[str, ...]:
        """The words that are neither those that gave the meaning, nor ones that leave it so."""
        passing = meant | known.QUALIFIERS | _STATISTICS.keys()
        return (*(word for word in self.lookups if word not in passing), *self.aside)
