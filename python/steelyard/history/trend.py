"""Follows one question over time, versions or commits, and finds where its level steps.

Only weighings of one machine are one series, and only those with a valid verdict: invalid ones, and
those of which an arm did no work, are left out and named. Steps are those of `change_points.py`
(PELT, from 12 weighings on; of independent ones 1–3 % show a step that is not there), each with
Welch's t between the levels on its two sides, which is too narrow since the place was chosen by
looking. A step is a reason to weigh the two builds side by side, and no verdict.
"""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.decision.t_interval import welch
from steelyard.analysis.two_samples.change_points import FEWEST_ROWS, Segment, segments_of
from steelyard.history.entry import KnownBuild, moment
from steelyard.history.question import Point, QuestionHistory, machines_of
from steelyard.model.errors import UsageError
from steelyard.model.units import counted, format_percent, log_of_percent, percent_of_log

Order = Literal["time", "version", "commit"]
_COMMIT = re.compile(
    r"(?<![0-9a-z])g?(?!(?:19|20)\d{6}(?![0-9a-z]))"  # no day: /builds/20260301/bin
    r"(?P<commit>(?=[0-9a-f]*[0-9])[0-9a-f]{7,40})(?![0-9a-z])"
)
_FEWEST_DIGITS = 7
"""Of a commit that is cut short."""


@dataclass(frozen=True)
class TrendPoint:
    """One weighing in its place on the line."""

    point: Point
    place: str
    """Time, version or commit."""


@dataclass(frozen=True)
class LevelStep:
    """The level changes between two neighbours."""

    before: TrendPoint
    """The last one on the level before."""
    after: TrendPoint
    """The first one on the level that follows."""
    rows: tuple[int, int]
    """Weighings on the two levels."""
    percent: float
    """The level after ÷ that before, as a change of the ratio arm ÷ control."""
    low: float
    high: float
    """95 %, Welch's t, too narrow: the place was chosen by looking."""

    @property
    def sentence(self) -> str:
        """In words, without a full stop."""
        ends = ", ".join(format_percent(x).removesuffix(" %") for x in (self.low, self.high))
        return (
            f"a step at {self.after.place}: {format_percent(self.percent)} [{ends}] against the "
            f"level up to {self.before.place} ({counted(self.rows[0], 'weighings')} before, "
            f"{self.rows[1]} after; the place was chosen by looking, so the interval is too narrow)"
        )

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "before": self.before.place,
            "after": self.after.place,
            "record": self.after.point.entry.path,
            "weighings": list(self.rows),
            "estimate_percent": self.percent,
            "low_percent": self.low if math.isfinite(self.low) else None,
            "high_percent": self.high if math.isfinite(self.high) else None,
            "sentence": self.sentence,
            "settled_by": self.settled_by,
        }

    @property
    def settled_by(self) -> str:
        """The command that weighs the two sides against each other. The studies of two builds and
        of two versions are PostgreSQL's: other engines' records are compared."""
        builds = [
            side.point.entry.builds.get(side.point.reading.arm, KnownBuild())
            for side in (self.before, self.after)
        ]
        old, new = builds
        ours = {old.kind, new.kind} <= {"postgres", ""}
        if ours and old.bindir and new.bindir and old.bindir != new.bindir:
            directories = ["--control", old.bindir, "--arm", new.bindir]
            return shlex.join(["steelyard", "weigh", "builds", *directories])
        # Packages say more of theirs, which no engine is called by: 18.4 (Debian 18.4-1.pgdg12+1).
        before, after = (build.version.partition(" ")[0] for build in builds)
        if ours and before and after and before != after:
            versions = ["--set", f"control.version={before}", "--set", f"arm.version={after}"]
            return shlex.join(["steelyard", "weigh", "versions", *versions])
        records = [side.point.entry.path for side in (self.before, self.after)]
        return shlex.join(["steelyard", "history", "compare", *records])


@dataclass(frozen=True)
class QuestionTrend:
    """A question over its weighings on one machine."""

    question: QuestionHistory
    machine: str
    order: Order
    points: tuple[TrendPoint, ...]
    levels: tuple[Segment, ...]
    """Of log ratios; one where there is no step."""
    steps: tuple[LevelStep, ...]
    left_out: tuple[tuple[str, str], ...]
    """(record, why) of weighings that are on no line."""

    @property
    def other_machines(self) -> Mapping[str, int]:
        """Machine → weighings of the question there, which are on other lines."""
        counts = Counter(point.entry.machine_words for point in self.question.points)
        return {name: counts[name] for name in machines_of(self.question) if name != self.machine}

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "question": self.question.name,
            "label": self.question.label,
            "machine": self.machine,
            "by": self.order,
            "points": [
                {"place": point.place, "record": point.point.entry.path}
                | point.point.reading.to_json()
                for point in self.points
            ],
            "steps": [step.to_json() for step in self.steps],
            "left_out": [{"record": record, "why": why} for record, why in self.left_out],
            "other_machines": dict(self.other_machines),
            "sentence": self.sentence,
        }

    @property
    def sentence(self) -> str:
        """What is to be said of its steps, without a full stop."""
        count = len(self.points)
        if count == 0:
            return "no weighing with a verdict that stands"
        span = f"{count} weighing{'s' if count > 1 else ''}"
        if count > 1:
            span += f" from {self.points[0].place} to {self.points[-1].place}"
        if count < FEWEST_ROWS:
            return f"{span}: steps are looked for from {FEWEST_ROWS} on"
        if not self.steps:
            return f"{span}: no step"
        return f"{span}: {'; '.join(step.sentence for step in self.steps)}"


def read_order(text: str) -> Order:
    """UsageError: it is none."""
    for order in get_args(Order):
        if text == order:
            return order  # type: ignore[no-any-return]
    raise UsageError(f'unrecognized order: "{text}"', detail="Accepted: time, version, commit.")


def read_commits(file: Path | None) -> tuple[str, ...]:
    """The words at the beginnings of the lines of a file; none without one. UsageError."""
    if file is None:
        return ()
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as reason:
        words = reason.strerror if isinstance(reason, OSError) else "it is not UTF-8 text"
        raise UsageError(f'could not read commits from "{file}": {words}') from reason
    commits = tuple(line.split()[0] for line in lines if line.strip())
    if not commits:
        raise UsageError(
            f'no commit in "{file}"', hint="git log --reverse --format=%H FIRST..LAST makes it."
        )
    return commits


def trend_of(
    question: QuestionHistory, machine: str, order: Order = "time", commits: Sequence[str] = ()
) -> QuestionTrend:
    """The line of a question on one machine.

    `commits`: the order of commits, oldest first, as `git log --reverse --format=%H` prints them;
    a weighing whose build names none of them is left out. Without it commits stand in the order in
    which they were first weighed.
    """
    placed: list[tuple[tuple[tuple[int, ...], str, str], TrendPoint]] = []
    left_out = [
        (copy.path, f"it is a copy of {original}")
        for copy, original in question.copies
        if copy.machine_words == machine
    ]
    for point in question.points:
        if point.entry.machine_words != machine:
            continue
        why = _unfit(point)
        place = None if why else _place(point, order, commits)
        if place is None:
            left_out.append((point.entry.path, why or f"its build names no {order} that is known"))
            continue
        key, name = place
        placed.append(((key, point.entry.at, point.entry.path), TrendPoint(point, name)))
    points = tuple(point for _, point in sorted(placed, key=lambda pair: pair[0]))
    if order == "commit" and not commits:
        points = _as_first_weighed(points)
    logs = np.array([_log(point.point) for point in points], dtype=np.float64)
    levels = segments_of(logs) if len(logs) else ()
    steps = tuple(_step(before, after, points, logs) for before, after in pairwise(levels))
    return QuestionTrend(question, machine, order, points, levels, steps, tuple(left_out))


def commit_of(build: KnownBuild) -> str:
    """The commit that a build names in its version, its options or its folder; empty: none. A
    build gets one by `--with-extra-version=-g$(git rev-parse --short HEAD)`, or by its folder."""
    for text in (build.version, build.configure, build.bindir):
        match = _COMMIT.search(text)
        if match is not None:
            return match["commit"]
    return ""


def _unfit(point: Point) -> str:
    if point.reading.verdict == "invalid":
        return "its verdict is invalid"
    estimate = point.reading.estimate_percent
    if estimate is None or estimate <= -100:
        return "it has no finite estimate"
    if point.reading.idle_epochs:
        return "it has an epoch in which an arm did no work"
    return ""


def _place(
    point: Point, order: Order, commits: Sequence[str]
) -> tuple[tuple[int, ...], str] | None:
    """What it is sorted by before its time, and what its place is called."""
    build = point.entry.builds.get(point.reading.arm, KnownBuild())
    if order == "version":
        if not build.version:
            return None
        return (build.version_number, *_stage(build.version)), build.version
    if order == "commit":
        commit = commit_of(build)
        numbers = [n for n, listed in enumerate(commits) if _is_one_commit(listed, commit)]
        if not commit or (commits and not numbers):
            return None
        return (numbers[0] if numbers else 0,), commit[:12]
    return (), moment(point.entry.at)


_STAGES = ("devel", "alpha", "beta", "rc")
_BEFORE_RELEASE = re.compile(rf"[0-9.]+({'|'.join(_STAGES)})([0-9]*)")


def _stage(version: str) -> tuple[int, int]:
    """How far a version is on its way to its release: server_version_num is 190000 of "19devel", of
    "19beta2" and of "19rc1" alike."""
    match = _BEFORE_RELEASE.match(version)
    return (len(_STAGES), 0) if match is None else (_STAGES.index(match[1]), int(match[2] or 0))


def _is_one_commit(first: str, second: str) -> bool:
    """Whether both are one commit, either perhaps cut short."""
    short, long = sorted((first, second), key=len)
    return len(short) >= _FEWEST_DIGITS and long.startswith(short)


def _as_first_weighed(points: tuple[TrendPoint, ...]) -> tuple[TrendPoint, ...]:
    """Points by time → weighings of one commit beside each other."""
    order = list(dict.fromkeys(point.place for point in points))
    return tuple(sorted(points, key=lambda point: order.index(point.place)))


def _log(point: Point) -> float:
    return log_of_percent(point.reading.estimate_percent or 0.0)


def _step(
    before: Segment, after: Segment, points: tuple[TrendPoint, ...], logs: Floats
) -> LevelStep:
    difference = welch(logs[before.first : before.last + 1], logs[after.first : after.last + 1])
    ends = difference.interval()
    return LevelStep(
        before=points[before.last],
        after=points[after.first],
        rows=(before.rows, after.rows),
        percent=percent_of_log(difference.difference),
        low=percent_of_log(ends.low),
        high=percent_of_log(ends.high),
    )
