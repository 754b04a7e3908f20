"""Refuses cycles that would not be what they should: those whose slices are long beside what they
measure, and those whose limit of the log makes one arm begin a checkpoint every second.

A slice is many transactions long, and a window of whole cycles begins and ends within a slice of a
checkpoint. Of slow transactions a slice holds most of a cycle, or several: such a window would be
cut anywhere, and last longer than planned.

What requests a checkpoint by size is divided by the time scale as the timeout is. An arm that
writes more log then begins checkpoints more often, so that arms are read at unlike distances; and
right after a checkpoint most changes log whole pages, so that it writes more log still. Checkpoints
are therefore held to the timeout, or a threat says where one arm begins them far more often.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from steelyard.analysis.pilot.cycle_lengths import FEWEST_SLICES, CycleLengths
from steelyard.analysis.pilot.turn_lengths import ArmCycle, Shortage
from steelyard.engines.capabilities.checkpoints import LogLimited
from steelyard.evaluation.threats.cycles import FAR_MORE_OFTEN
from steelyard.model.errors import StudyError
from steelyard.model.units import NS_PER_S, format_bytes, format_duration
from steelyard.running.preparing.setup import Setup
from steelyard.running.stopwatch import Progress
from steelyard.running.turns.pilot import by_executions
from steelyard.running.turns.solo_run import SoloRun
from steelyard.study.naming import settings_table
from steelyard.study.study import Study

SHORTEST_CYCLE_S = 2.0
"""Checkpoints that size makes nearer than this are a burst each, and nothing else."""
LOG_TIMES = 2.0
"""Log that is on the disk, of what one cycle writes: that of the cycle before it too."""
ROOM_TO_SPARE = 1.5
"""Log to be allowed, of what a pilot expects."""


@dataclass(frozen=True)
class LogLimit:
    """What the log of every arm makes of its checkpoints, at the time scale that was chosen."""

    setup: Setup
    solo_runs: Mapping[str, SoloRun]
    cycles: Mapping[str, ArmCycle]
    lengths: CycleLengths

    @property
    def seconds(self) -> dict[str, float]:
        """Arm → time between two checkpoints, infinite where none is made."""
        return dict(zip(self.cycles, self.lengths.cycles_s, strict=True))

    @property
    def by_size(self) -> dict[str, float]:
        """The same of those arms whose log ends a cycle, and not time."""
        scale = self.lengths.scale
        return {
            arm: seconds for arm, seconds in self.seconds.items() if self.cycles[arm].by_size(scale)
        }

    @property
    def same_in_all_arms(self) -> bool:
        """Whether the limit is the same in all arms, so that it is no treatment."""
        return len({cycle.spacing(1.0).wal_bytes for cycle in self.cycles.values()}) == 1

    def apply(self, progress: Progress) -> None:
        """StudyError: the disk does not hold the log, or size makes an arm begin a checkpoint every
        second. What is doubtful is said. A log that is written in turns has its room, and its size
        begins no checkpoint."""
        if any(cycle.continuous for cycle in self.cycles.values()):
            return
        self._require_disk()
        by_size = self.by_size
        if not by_size:
            return
        arm = min(by_size, key=lambda name: by_size[name])
        every = _every(by_size[arm])
        if self.same_in_all_arms and by_size[arm] < SHORTEST_CYCLE_S:
            raise StudyError(
                f'the log of arm "{arm}" requests a checkpoint {every}: it would be read in bursts '
                "of page images alone",
                detail=self._detail(),
                hint=self._hint(),
            )
        if max(self.seconds.values()) > FAR_MORE_OFTEN * by_size[arm]:
            others = " and ".join(
                f"{_every(seconds)} in {name}"
                for name, seconds in self.seconds.items()
                if name != arm
            )
            progress.note(
                f"doubt: by the size of the log a checkpoint begins {every} in {arm}, and {others}"
                f": arms are read at unlike distances. {self._hint()}"
            )

    def _detail(self) -> str:
        scale = self.lengths.scale
        if scale == 1:
            return "That is by the arms' own settings."
        return (
            f"Checkpoints are {scale:g} times as near as the settings have them, and what requests "
            "one by size is divided by as much."
        )

    def _require_disk(self) -> None:
        needed = sum(self._log_on_disk(arm) for arm in self.cycles)
        free = self.setup.laboratory.host.sample().disk_free_bytes
        if needed > free:
            scale = math.ceil(10 * self.lengths.scale * needed / free) / 10 if free else math.inf
            largest = min(cycle.largest_scale for cycle in self.cycles.values())
            nearer = f", or bring checkpoints nearer: --set turns.time_scale={scale:g}"
            raise StudyError(
                f"the disk has no room for the log between checkpoints: {format_bytes(needed)} of "
                f"all arms, {format_bytes(free)} free",
                hint=f"Free as much{nearer if scale <= largest else ''}.",
            )

    def _log_on_disk(self, arm: str) -> float:
        """Of an arm that makes no checkpoint, all of an epoch."""
        log, seconds = self.cycles[arm].log, self.seconds[arm]
        if math.isfinite(seconds):
            return LOG_TIMES * log.until(seconds)
        number = list(self.cycles).index(arm)
        return log.until(self.lengths.begins_s[number] + self.lengths.longest_s[number])

    def _hint(self) -> str:
        """What to type so that time alone ends a cycle, where the disk has room for it."""
        scale = self.lengths.scale
        log_bytes = {
            arm: ROOM_TO_SPARE * cycle.log.until(cycle.spacing(scale).timeout_s)
            for arm, cycle in self.cycles.items()
        }
        arm = max(log_bytes, key=lambda name: log_bytes[name])
        engine = self.setup.own_slots.arms[arm].engine
        if not self.same_in_all_arms or not isinstance(engine, LogLimited):
            if scale == 1:
                return "The limits are the arms' own, and nothing divides them."
            return "A larger budget makes the time scale smaller, which divides the limit less."
        settings = engine.log_limit(self.solo_runs[arm].settings, log_bytes[arm] * scale)
        study = self.setup.study
        words = {
            f"--set {settings_table(study, each, name)}.{name}={value}": None
            for name, value in settings.items()
            for each in study.every_arm
        }
        changes = " ".join(words)
        needed = LOG_TIMES * sum(log_bytes.values())
        free = self.setup.laboratory.host.sample().disk_free_bytes
        if needed > free:
            return (
                f"Weigh with {changes}, once the disk has {format_bytes(needed)} free for the log "
                f"of all arms ({format_bytes(free)} are)."
            )
        return f"Weigh with {changes}, equal in all arms: time alone then ends a cycle."


def _every(seconds: float) -> str:
    """`"every 4 s"`, `"none"`."""
    if math.isinf(seconds):
        return "none"
    return f"every {format_duration(round(seconds, 1 if seconds >= 1 else 3) * NS_PER_S)}"


LARGER_BUDGETS = 7
"""How often the budget is doubled in search of one that is enough."""

WithBudget = Callable[[float], CycleLengths | Shortage]
"""The lengths that a budget in seconds holds."""


def require_fine(
    study: Study, lengths: CycleLengths, latency_s: float, with_budget: WithBudget
) -> None:
    """StudyError where what is measured of an arm holds too few slices."""
    if not lengths.coarse:
        return
    slice_words = _span(lengths.slice_s)
    why = "" if study.budget.slice else f"a transaction takes about {_span(latency_s)}, and "
    raise StudyError(
        f"slices are too long for cycles: {why}a slice {slice_words}, where an arm is measured for "
        f"{_span(lengths.measured_s)}",
        detail=f"That is to hold {FEWEST_SLICES} slices: with fewer it would be cut anywhere.",
        hint=_hint(study, lengths.slice_s, with_budget),
    )


def _hint(study: Study, slice_s: float, with_budget: WithBudget) -> str:
    if study.budget.slice is not None:
        return "Leave out budget.slice: the pilot chooses it."
    if study.turns.measured is not None:
        return f"--set turns.measured={math.ceil(FEWEST_SLICES * slice_s)}s"
    if study.turns.time_scale is not None:
        return "Leave out turns.time_scale: the smallest that the budget holds is chosen."
    budget_s = study.budget.cycles / NS_PER_S
    for doubled in range(1, LARGER_BUDGETS + 1):
        longer_s = budget_s * 2**doubled
        chosen = with_budget(longer_s)
        if not isinstance(chosen, Shortage) and not chosen.coarse:
            return f"--budget {math.ceil(longer_s / 60)}m: each arm is then measured for longer."
    return by_executions(study)


def _span(seconds: float) -> str:
    return format_duration(round(seconds, 3) * NS_PER_S)
