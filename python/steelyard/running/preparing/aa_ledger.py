"""Reads and updates the A/A ledger: what weighings of equal arms read on this machine.

Every weighing of arms that are declared identical, none with a weight, is added, whatever its
verdict and however it ended; of several such arms the first, since those of one weighing are not
independent. The evidence in a ledger is judged by `analysis/calibration.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard import __version__
from steelyard.analysis.calibration import OFF_BALANCE, EqualArms, evidence
from steelyard.evaluation.contrast import WeighedContrast
from steelyard.model.errors import UntrustedPathError
from steelyard.record.environment import MachineFacts
from steelyard.record.epoch import LedgerBalance
from steelyard.record.ledger import (
    Ledger,
    LedgerLine,
    LedgerMachine,
    LedgerReadings,
    Page,
)
from steelyard.record.plan import Plan
from steelyard.running.preparing.recording import Question
from steelyard.running.stopwatch import Progress


def ledger_balance(page: Page, path: Path) -> LedgerBalance:
    """What the weighings of a page add up to."""
    values = [evidence(_weighings(page.readings[:n])) for n in range(1, len(page.readings) + 1)]
    largest = max(values, default=1.0)
    return LedgerBalance(
        e_value=_six_digits(values[-1] if values else 1.0),
        weighings=len({reading.weighing for reading in page.readings}),
        largest_e_value=_six_digits(largest),
        off_balance=largest >= OFF_BALANCE,
        ledgers=page.begun,
        skipped_lines=page.skipped,
        path=str(path),
    )


def consult(path: Path, machine: MachineFacts, progress: Progress) -> LedgerBalance:
    """The state of this machine's ledger before a weighing."""
    page = Ledger(path).page(LedgerMachine.of(machine))
    if page.skipped:
        lines = "1 line" if page.skipped == 1 else f"{page.skipped} lines"
        progress.note(f"{lines} of the ledger could not be read and is left out: {path}")
    return ledger_balance(page, path)


def update(
    question: Question,
    plan: Plan,
    machine: MachineFacts,
    contrasts: Sequence[WeighedContrast],
    progress: Progress,
) -> LedgerBalance | None:
    """Add what equal arms read, each epoch once; the state of the ledger then, None without one.

    A ledger that cannot be written is a note: the weighing itself is done and kept.
    """
    if question.ledger is None:
        return None
    ledger = Ledger(question.ledger)
    try:
        if question.new_ledger:
            _begin_anew(ledger, machine)
        equals = {arm.name for arm in question.study.equals}
        equal = next((contrast for contrast in contrasts if contrast.arm in equals), None)
        if equal is not None and plan.weighing:
            _add(ledger, machine, plan, equal)
    except (OSError, UntrustedPathError) as reason:
        message = reason.primary if isinstance(reason, UntrustedPathError) else reason
        progress.note(f"could not write the ledger: {message}")
    return ledger_balance(ledger.page(LedgerMachine.of(machine)), question.ledger)


def _begin_anew(ledger: Ledger, machine: MachineFacts) -> None:
    closed = ledger_balance(ledger.page(LedgerMachine.of(machine)), ledger.path)
    if closed.weighings:
        ledger.begin_anew(LedgerMachine.of(machine), closed)


def _add(ledger: Ledger, machine: MachineFacts, plan: Plan, equal: WeighedContrast) -> None:
    page, weighing = ledger.page(LedgerMachine.of(machine)), plan.weighing
    first = page.known.get(weighing, 0)
    new = equal.details.d[first:]
    if all(value is None for value in new):
        return
    s0 = equal.terms.s0
    added = LedgerReadings(weighing, first, tuple(np.nan if x is None else x for x in new), s0)
    after = ledger_balance(replace(page, readings=(*page.readings, added)), ledger.path)
    ledger.add(
        LedgerLine(
            type="weighing",
            machine=LedgerMachine.of(machine),
            weighing=weighing,
            first_epoch=first,
            d=new,
            s0=s0,
            study=plan.study,
            arm=equal.arm,
            control=equal.control,
            metric=plan.metric,
            seed=plan.seed,
            e_value=after.e_value,
            steelyard=__version__,
        )
    )


def _weighings(readings: Sequence[LedgerReadings]) -> list[EqualArms]:
    """The readings put together by weighing: one that was resumed is one weighing."""
    parts: dict[str, EqualArms] = {}
    for reading in readings:
        earlier = parts.get(reading.weighing, EqualArms((), reading.s0))
        parts[reading.weighing] = EqualArms((*earlier.d, *reading.d), earlier.s0)
    return list(parts.values())


def _six_digits(value: float) -> float:
    return float(f"{value:.6g}")
