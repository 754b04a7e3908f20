"""Compares the answers of many machines to one question, and combines them kind by kind.

Hosts are the replicates of "this kind of machine"; their epochs are not. Each host gives its newest
valid answer, and hosts of two kinds are never combined. From six hosts on the sign-flip set of
their means (as of epochs in a weighing) is an interval for such hosts in general; five have no
order of signs that is rare enough for 95 %. Whether hosts differ by more than their own epochs
explain is Welch's test of equal means (Welch, Biometrika 38 (1951) 330), which does not assume a
common variance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.analysis.decision.sign_flip import confidence_set
from steelyard.history.entry import Entry, KnownBuild
from steelyard.history.question import Point, QuestionHistory
from steelyard.model.units import format_digits, format_percent, format_reading, percent_of_log

FEWEST_HOSTS = 6
ALPHA = 0.05
_LEAST_P = 0.0001
"""A smaller one is said to be so: it is no better known than the form of its distribution."""


@dataclass(frozen=True)
class HostResult:
    """An answer of a host, which is named as it was first."""

    machine: str
    point: Point

    @property
    def logs(self) -> tuple[float, ...]:
        """Log ratios of its epochs, all of them finite."""
        return tuple(log for log in self.point.reading.d if log is not None)

    @property
    def mean(self) -> float:
        """Of its epochs' log ratios."""
        return float(np.mean(self.logs))


@dataclass(frozen=True)
class Across:
    """A question, and what every machine answered."""

    question: str
    label: str
    builds: str
    """`"18.4 (bundle) against 18.4 (bundle)"`, or of which versions."""
    kind: str
    """Of its hosts; empty: not known, as of what was weighed here."""
    hosts: tuple[HostResult, ...]
    left_out: tuple[tuple[HostResult, str], ...]
    """(answer, why it counts for none)."""

    @property
    def machines(self) -> frozenset[str]:
        """The hosts that answered, those that count for none among them."""
        every = (*self.hosts, *(host for host, _ in self.left_out))
        return frozenset(host.machine for host in every)

    @property
    def title(self) -> str:
        """The question, its builds and the kind of host."""
        return ", ".join(filter(None, (self.label, self.builds, self.kind)))

    @property
    def interval(self) -> tuple[float, float, float] | None:
        """Mean and 95 % ends over hosts of this kind, in percent; None with fewer than six."""
        if len(self.hosts) < FEWEST_HOSTS:
            return None
        means = np.array([host.mean for host in self.hosts])
        ends = confidence_set(means, ALPHA).interval
        return (
            percent_of_log(float(means.mean())),
            percent_of_log(ends.low),
            percent_of_log(ends.high),
        )

    @property
    def differ_p(self) -> float | None:
        """p of "all hosts read the same"; None where too few have two epochs or any spread."""
        groups = [np.array(host.logs) for host in self.hosts]
        if len(groups) < 2 or any(len(group) < 2 or group.std() == 0 for group in groups):
            return None
        from scipy.stats import f_oneway

        return float(f_oneway(*groups, equal_var=False).pvalue)

    @property
    def sentence(self) -> str:
        """In words, without a full stop."""
        verdicts = Counter(host.point.reading.verdict for host in self.hosts)
        count = len(self.hosts)
        tally = ", ".join(f"{word} on {n}" for word, n in verdicts.most_common())
        ends = [percent_of_log(host.mean) for host in self.hosts]
        parts = [f"{tally} of {count} host{'s' if count > 1 else ''}"]
        if count > 1:
            parts.append(f"{format_percent(min(ends))} to {format_percent(max(ends))}")
        if self.differ_p is not None:
            more = "more than" if self.differ_p < ALPHA else "no more than"
            parts.append(f"they differ {more} their epochs explain ({_p_text(self.differ_p)})")
        interval = self.interval
        if interval is not None:
            parts.append(f"{self.kind or 'hosts of this kind'}: {format_reading(*interval)}")
        elif count > 1:
            parts.append(f"an interval over hosts needs {FEWEST_HOSTS}")
        return "; ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        interval = self.interval
        return {
            "question": self.question,
            "label": self.label,
            "builds": self.builds,
            "kind": self.kind,
            "hosts": [
                {"machine": host.machine, "record": host.point.entry.path}
                | host.point.reading.to_json()
                for host in self.hosts
            ],
            "left_out": [
                {"record": host.point.entry.path, "why": why} for host, why in self.left_out
            ],
            "estimate_percent": None if interval is None else interval[0],
            "low_percent": None if interval is None else _or_none(interval[1]),
            "high_percent": None if interval is None else _or_none(interval[2]),
            "differ_p": self.differ_p,
            "sentence": self.sentence,
        }


def across(questions: Sequence[QuestionHistory]) -> tuple[Across, ...]:
    """Every question, by the builds that were weighed and the kind of host, each with the newest
    answer of a host."""
    names = host_names(point.entry for question in questions for point in question.points)
    summaries: list[Across] = []
    for question in questions:
        alike: dict[tuple[str, str], list[Point]] = {}
        for point in question.points:
            alike.setdefault((_builds(point), point.entry.kind), []).append(point)
        summaries += [_across(question, *key, some, names) for key, some in sorted(alike.items())]
    return tuple(summaries)


def host_names(entries: Iterable[Entry]) -> Mapping[str, str]:
    """Record → its host, by the name that it had first.

    Records with one name or one boot are of one host: containers of a machine have new names and
    its boot, a machine that was restarted has another boot and its name.
    """
    above: dict[str, str] = {}

    def root(word: str) -> str:
        while above.setdefault(word, word) != word:
            word = above[word]
        return word

    every = sorted(entries, key=lambda entry: (entry.at, entry.path))
    for entry in every:
        if entry.boot:
            above[root(entry.machine_words)] = root(entry.boot)
    first: dict[str, str] = {}
    return {
        entry.path: first.setdefault(root(entry.machine_words), entry.machine_words)
        for entry in every
    }


def _across(
    question: QuestionHistory,
    builds: str,
    kind: str,
    points: Sequence[Point],
    names: Mapping[str, str],
) -> Across:
    newest: dict[str, HostResult] = {}
    left_out = []
    for point in points:
        host = HostResult(names[point.entry.path], point)
        why = _unfit(point)
        if why:
            left_out.append((host, why))
        else:
            newest[host.machine] = host
    hosts = tuple(newest[machine] for machine in sorted(newest))
    return Across(question.name, question.label, builds, kind, hosts, tuple(left_out))


def _unfit(point: Point) -> str:
    if point.entry.state != "judged":
        return "it was interrupted"
    if point.reading.verdict == "invalid":
        return "its verdict is invalid"
    if point.reading.idle_epochs:
        return "it has an epoch in which an arm did no work"
    if not any(log is not None for log in point.reading.d):
        return "no epoch has a reading"
    return ""


def _builds(point: Point) -> str:
    builds = point.entry.builds
    arm, control = (
        builds.get(name, KnownBuild()) for name in (point.reading.arm, point.reading.control)
    )
    return f"{_build(arm)} against {_build(control)}"


def _build(build: KnownBuild) -> str:
    return (
        " ".join(filter(None, (build.version, f"({build.origin})" if build.origin else ""))) or "–"
    )


def _p_text(p: float) -> str:
    return f"p = {format_digits(p, 2)}" if p >= _LEAST_P else f"p < {format_digits(_LEAST_P, 2)}"


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
