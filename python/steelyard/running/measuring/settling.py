"""Runs epochs until the plan says that it is decided, judging after each of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from steelyard.evaluation.causes import complete
from steelyard.evaluation.contrast import WeighedContrast
from steelyard.evaluation.judging import inspected_threats, judge
from steelyard.evaluation.transaction.time_parts import time_breakdown
from steelyard.model.errors import WeighingError
from steelyard.model.units import NS_PER_S
from steelyard.record.contrast import ContrastLine
from steelyard.record.epoch import EndLine, Epoch, EventLine
from steelyard.record.plan import Choices, Plan
from steelyard.record.reader import (
    GIVEN_UP,
    JUDGED,
    RESUMED,
    TELEMETRY,
    VERDICT,
    RecordContents,
)
from steelyard.record.spent import Spent
from steelyard.record.verdict import Verdict
from steelyard.running.layout_choice import LAYOUTS
from steelyard.running.preparing.aa_ledger import update
from steelyard.running.preparing.inspection import Inspected
from steelyard.running.preparing.recording import OpenRecord
from steelyard.running.preparing.setup import Setup
from steelyard.running.stopwatch import Progress
from steelyard.verdict.contrast_line import line_of
from steelyard.verdict.rejudge import MOST_LOST_IN_A_ROW, hopeless, rejudge
from steelyard.wording.bottleneck import with_bottlenecks
from steelyard.wording.threats.threat import threat_of

OPEN_ENDED_FACTOR = 10
"""An open-ended weighing stops after this many times its planned epochs, and so again each time
that it is resumed: its sets hold however long it goes on."""


@dataclass(frozen=True)
class Outcome:
    """What a weighing has come to: everything recorded, what it says so far, how it ended."""

    recorded: RecordContents
    end: EndLine
    contrasts: tuple[WeighedContrast, ...]
    failure: WeighingError | None = field(default=None)


def settle(
    setup: Setup,
    choices: Choices,
    plan: Plan,
    inspected: Inspected,
    opened: OpenRecord,
    progress: Progress,
) -> Outcome:
    """Run what is missing of the plan. Ctrl-C judges what there is: epochs are timed, not chosen
    by their outcome, so ending between them is legal. Three lost epochs in a row end it too."""
    clock = setup.laboratory.clock
    runner = LAYOUTS[setup.layout.name].runner(setup, choices, opened, progress)
    started_ns = clock.now_ns()
    weighing = _Weighing(setup, _begun(setup, plan, inspected, opened), progress)
    interrupted = False
    failure: WeighingError | None = None
    if opened.epochs:
        weighing.note(RESUMED)
        weighing.recall()
    try:
        while not weighing.over:
            number = len(weighing.recorded.epochs)
            epoch = runner.run(number, opened.attempts.get(number, 0) + 1)
            with setup.phase("judge"):
                weighing.add(epoch)
                ran = len(weighing.recorded.epochs) - len(opened.epochs)
                mean_ns = (clock.now_ns() - started_ns) / ran
                weighing.show(mean_ns)
            setup.spent.keep(number + 1)
            failure = _hopeless(weighing.recorded)
            if failure is not None:
                weighing.note(GIVEN_UP)
                break
    except KeyboardInterrupt:
        interrupted = True
        progress.note("interrupted: judging what there is")
        weighing.note(JUDGED)
    if interrupted or failure is not None:
        weighing.judge(ended=True)
    ended_ns = clock.now_ns()
    end = EndLine(
        type="end",
        epoch=len(weighing.recorded.epochs),
        began=len(opened.epochs),
        seconds=round((ended_ns - started_ns) / NS_PER_S, 3),
        whole_seconds=round((ended_ns - setup.spent.stopwatch.began_ns) / NS_PER_S, 3),
        resumed=opened.resumed,
        interrupted=interrupted,
        lost=failure is not None,
    )
    with setup.phase("read"):
        drives = setup.laboratory.host.drives()
    if drives:
        end = end.model_copy(update={"drives": drives})
    return Outcome(weighing.recorded, end, tuple(weighing.contrasts), failure)


def _begun(setup: Setup, plan: Plan, inspected: Inspected, opened: OpenRecord) -> RecordContents:
    return RecordContents(
        directory=str(setup.record.directory),
        study=setup.study,
        plan=plan,
        environment=inspected.environment,
        inspection=inspected.inspection,
        epochs=opened.epochs,
        events=opened.events,
    )


class _Weighing:
    """The record as it grows, what it says so far, and what was shown of it."""

    def __init__(self, setup: Setup, recorded: RecordContents, progress: Progress) -> None:
        self._setup = setup
        self._progress = progress
        self.recorded = recorded
        self._began = len(recorded.epochs)
        self.judge(ended=False)
        # Those of the inspection were shown before the pilot.
        self._shown = {
            threat.name
            for arm in recorded.study.arms
            for threat in inspected_threats(recorded, arm.name)
        }

    def judge(self, *, ended: bool) -> None:
        """Judge what is recorded; `ended`: no further epoch will come."""
        with self._setup.phase("judge"):
            self.contrasts = judge(self.recorded, ended=ended)

    def add(self, epoch: Epoch) -> None:
        """One more epoch, judged."""
        self.recorded = replace(self.recorded, epochs=(*self.recorded.epochs, epoch))
        self.judge(ended=False)

    @property
    def over(self) -> bool:
        """The first contrast decides; the others never end a weighing and never hold it up."""
        plan, epochs = self.recorded.plan, len(self.recorded.epochs)
        limit = self._began + plan.epochs * OPEN_ENDED_FACTOR if plan.open_ended else plan.epochs
        return bool(epochs) and (self.contrasts[0].verdict.ends or epochs >= limit)

    def show(self, epoch_ns: float) -> None:
        """The last epoch and what all of them add up to; `epoch_ns`: what one takes."""
        self._show_threats()
        done, planned = len(self.recorded.epochs), self.recorded.plan.epochs
        beyond = done >= planned and self.recorded.plan.open_ended  # until it is settled
        left = None if beyond else max(0.0, (planned - done) * epoch_ns / NS_PER_S)
        self._progress.epoch(done, planned, self._lines(), left)
        study, totals = self.recorded.study, [epoch.totals for epoch in self.recorded.epochs]
        arms = [arm.name for arm in study.arms]
        times = time_breakdown(complete(totals), study.control.name, arms)
        self._progress.why(with_bottlenecks(times))

    def recall(self) -> None:
        """Report the epochs that the record of a resumed weighing already holds."""
        self._progress.recalled(self.recorded.plan.epochs, self._lines())
        self._show_threats()

    def note(self, event: str) -> None:
        """An event as a line of the record, in the epoch that it struck or that comes next."""
        line = EventLine(type="event", epoch=len(self.recorded.epochs), event=event)
        self._setup.record.append(TELEMETRY, line.to_json())
        self.recorded = replace(self.recorded, events=(*self.recorded.events, line))

    def _lines(self) -> list[ContrastLine]:
        return [line_of(contrast) for contrast in self.contrasts]

    def _show_threats(self) -> None:
        for contrast in self.contrasts:
            for threat in contrast.threats:
                if threat.name not in self._shown:
                    self._shown.add(threat.name)
                    self._progress.threat(threat_of(threat))


def _hopeless(recorded: RecordContents) -> WeighingError | None:
    if not hopeless(recorded.epochs):
        return None
    last = recorded.epochs[-1]
    return WeighingError(
        f"{MOST_LOST_IN_A_ROW} epochs in a row were lost: {last.totals.outcome}",
        detail=" ".join(last.line.error) or None,
        hint="Everything that was measured is in the record; --resume goes on with it.",
    )


def publish(opened: OpenRecord, outcome: Outcome, progress: Progress) -> Verdict:
    """Write what a weighing came to, and close its record; nothing is measured any more. The
    verdict is printed too, and quotes statements and servers: it is redacted here."""
    try:
        return _published(opened, outcome, progress)
    finally:
        opened.record.close()


def _published(opened: OpenRecord, outcome: Outcome, progress: Progress) -> Verdict:
    recorded = outcome.recorded
    machine = recorded.environment.machine
    with opened.spent.stopwatch("judge"):
        balance = update(opened.question, recorded.plan, machine, outcome.contrasts, progress)
        end = outcome.end.model_copy(update={"ledger": balance})
        opened.record.append(TELEMETRY, end.to_json())
        verdict = rejudge(replace(recorded, end=end))
    opened.spent.keep(end.epoch)
    verdict = verdict.model_copy(update={"spent": Spent.of(opened.spent.lines)}).redacted()
    opened.record.write(VERDICT, verdict.to_json())
    return verdict
