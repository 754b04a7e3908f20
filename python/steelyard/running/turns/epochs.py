"""Runs the epochs of a weighing in turns: files laid in the slots, then one arm after the other.

A turn is written down as it ends, so that a weighing that is killed loses the turn under way and
no other: the epoch goes on with the arms that are missing (where files are put back before each
epoch; else it begins anew). An arm that could not start or survive
its turn is an outcome of the epoch; the other arms have theirs all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from steelyard.model.errors import DriverError, EngineError, ServerError
from steelyard.model.readings import Reading
from steelyard.model.units import NS_PER_S
from steelyard.record.epoch import Epoch, EpochLine, ReadingLine
from steelyard.record.plan import Choices
from steelyard.record.reader import TELEMETRY, MeasuredTurn
from steelyard.record.slice import SliceLine
from steelyard.record.totals import epoch_totals
from steelyard.record.turns.turn import LostTurnLine, TurnLine
from steelyard.running.measuring.arm_loss import ArmLostError
from steelyard.running.measuring.arm_readings import reading_lines
from steelyard.running.measuring.epoch import Ending, keep_logs, with_other_loads
from steelyard.running.measuring.load import SlicePlace
from steelyard.running.preparing.setup import Setup
from steelyard.running.stopwatch import Progress
from steelyard.running.turns.turn import ReportsPhase, TurnPlace, TurnRunner
from steelyard.telemetry.host import joined

Done = Mapping[tuple[int, str], MeasuredTurn]
"""(epoch, arm) → a turn that an interrupted weighing had finished."""
LostTurns = Mapping[tuple[int, str], LostTurnLine]
"""(epoch, arm) → a turn that it had lost."""


@dataclass(frozen=True)
class _Where:
    """An epoch that is run, and what of it there is already."""

    place: SlicePlace
    seed: int
    done: dict[str, MeasuredTurn]
    lost: dict[str, LostTurnLine]

    @property
    def ended(self) -> Collection[str]:
        """Arms that had their turn."""
        return {*self.done, *self.lost}


class TurnsRunner:
    """Runs the epochs of one weighing, each a turn of every arm."""

    def __init__(
        self,
        setup: Setup,
        choices: Choices,
        done: Done,
        lost: LostTurns,
        progress: Progress,
    ) -> None:
        assert choices.turns is not None  # callers check the layout first
        self._setup = setup
        self._choices = choices
        self._epochs = choices.epochs
        self._expected_ns = choices.turns.turn_ns
        self._took_ns: dict[str, list[int]] = {}  # by arm
        self._done = done
        self._lost = lost
        self._progress = progress
        self._turn = TurnRunner(setup, choices)
        self._design = setup.design

    def run(self, epoch: int, attempt: int = 1) -> Epoch:
        """Run what is missing of one epoch and write its lines.

        Raises nothing for an arm that died: the outcome says so. EngineError: files could not be
        laid, which the next epoch could not mend.
        """
        design = self._design
        order, slots = design.start_order(epoch), design.slots_of(epoch)
        done = {arm: turn for (n, arm), turn in self._done.items() if n == epoch}
        lost = {arm: turn for (n, arm), turn in self._lost.items() if n == epoch}
        place = SlicePlace(epoch, attempt, slots=slots)
        where = _Where(place, design.script_seed(epoch), done, lost)
        lines = [line for turn in done.values() for line in turn.slices]
        host = self._setup.laboratory.host
        others_before = host.other_loads()
        ending = self._turns(order, where, lines)
        turns = [where.done[arm].line for arm in order if arm in where.done]
        line = EpochLine(
            type="epoch",
            epoch=epoch,
            attempt=attempt,
            slots=slots,
            start_order=order,
            outcome=ending.outcome,
            error=ending.error,
            arms={turn.arm: turn.read for turn in turns} if len(turns) == len(order) else {},
            loads=self._setup.loads_of(epoch),
            violations={turn.arm: turn.violations for turn in turns},
            machine=_joined_machine(turns),
        )
        line = with_other_loads(line, others_before, host.other_loads())
        self._setup.record.append(TELEMETRY, line.to_json())
        return Epoch(line, epoch_totals(line, lines, turns))

    def _turns(self, order: tuple[str, ...], where: _Where, lines: list[SliceLine]) -> Ending:
        """Every turn that is missing, and how the epoch went."""
        setup, upkeep = self._setup, self._choices.upkeep
        stuck: ServerError | None = None
        try:
            with setup.laid_arms(where.place.epoch, upkeep) as slots:
                for position, arm in enumerate(order):
                    if arm in where.ended:
                        continue
                    turn = TurnPlace(arm, position, where.place, where.seed)
                    later = [other for other in order[position + 1 :] if other not in where.ended]
                    try:
                        self._run_turn(turn, where, later, lines)
                    except (EngineError, DriverError) as failure:
                        self._lose(turn, where, failure)
                        with suppress(EngineError):  # it would not stop either
                            slots.end_arms(upkeep)
        except ServerError as failure:  # the last one would not stop
            keep_logs(setup, where.place.epoch)
            stuck = failure
        return _ending([where.lost[arm] for arm in order if arm in where.lost], stuck)

    def _lose(self, turn: TurnPlace, where: _Where, failure: EngineError | DriverError) -> None:
        """Write down the loss of a turn, and what the servers had to say."""
        place, loss = turn.place, failure if isinstance(failure, ArmLostError) else None
        where.lost[turn.arm] = line = LostTurnLine(
            type="lost turn",
            epoch=place.epoch,
            attempt=place.attempt,
            arm=turn.arm,
            how=loss.how if loss else "",
            outcome=loss.outcome if loss else f"failed: {failure.primary}",
            error=tuple(failure.lines()),
        )
        self._setup.record.append(TELEMETRY, line.to_json())
        keep_logs(self._setup, place.epoch)

    def _run_turn(
        self, turn: TurnPlace, where: _Where, later: Sequence[str], lines: list[SliceLine]
    ) -> None:
        """Run a turn and write its line; the slices that it came to are among `lines`."""
        setup, epoch, arm = self._setup, turn.place.epoch, turn.arm
        slices: list[SliceLine] = []
        began_ns = setup.laboratory.clock.now_ns()
        try:
            line = self._turn.run(turn, slices, self._report(epoch, arm, later))
            took_ns = setup.laboratory.clock.now_ns() - began_ns
            self._took_ns.setdefault(arm, []).append(took_ns)
            setup.record.append(TELEMETRY, line.to_json())
            setup.spent.keep(epoch)
            where.done[arm] = MeasuredTurn(line, tuple(slices))
        finally:
            lines.extend(slices)

    def _report(self, epoch: int, arm: str, later: Sequence[str]) -> ReportsPhase:
        """Reports a phase with the time that is left; `later`: whose turns of this epoch come after
        this one."""
        clock = self._setup.laboratory.clock
        began_ns, turn_ns = clock.now_ns(), self._turn_ns(arm)
        whole = self._epochs - epoch - 1
        ahead_ns = sum(map(self._turn_ns, later)) + whole * sum(
            map(self._turn_ns, self._design.arms)
        )

        def report(phase: str) -> None:
            own_ns = max(began_ns + turn_ns - clock.now_ns(), 0)
            left = (own_ns + ahead_ns) / NS_PER_S if whole >= 0 else None
            self._progress.turn(epoch + 1, arm, phase, left)

        return report

    def _turn_ns(self, arm: str) -> int:
        """What a turn of an arm takes: the mean of those that were run, before there is one what
        the plan expects."""
        took = self._took_ns.get(arm)
        return sum(took) // len(took) if took else self._expected_ns


def _joined_machine(turns: Sequence[TurnLine]) -> tuple[ReadingLine, ...]:
    parts = [[Reading(line.name, line.unit, line.value) for line in turn.machine] for turn in turns]
    return reading_lines(joined(parts))


def _ending(lost: Sequence[LostTurnLine], stuck: ServerError | None) -> Ending:
    """The first turn that was lost is the epoch's outcome; where that was its arm's doing, every
    arm that was lost is named. `stuck`: a server that would not stop."""
    if not lost:
        return Ending() if stuck is None else Ending.of(f"failed: {stuck.primary}", stuck)
    first, by_arms = lost[0], [turn for turn in lost if turn.how]
    if not first.how:
        return Ending(first.outcome, first.error)
    how = first.how if len({turn.how for turn in by_arms}) == 1 else "crashed"
    arms = ", ".join(sorted(turn.arm for turn in by_arms))
    return Ending(f"{how}: {arms}", tuple(line for turn in by_arms for line in turn.error))
