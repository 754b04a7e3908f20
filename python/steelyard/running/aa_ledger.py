"""Keeps the books of the balance: asks its ledger before a weighing, tells it of equal arms after.

Every weighing of arms that are declared identical, none with a weight, is told, whatever its
verdict and however it ended; of several such arms the first, since those of one weighing are not
independent. What stands in the ledger is judged by `analysis/calibration/balance.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import __version__
from steelyard.analysis.calibration.balance import OFF_BALANCE, EqualArms, evidence
from steelyard.evaluation.contrast import Contrast
from steelyard.model.threat import Threat, ThreatKind, raise_threat
from steelyard.record.ledger import Ledger, Page, Told
from steelyard.running.inspection import Inspection
from steelyard.running.progress import Progress
from steelyard.running.question import Question

Json = dict[str, Any]


@dataclass(frozen=True)
class Standing:
    """How the balance of this machine stands by its ledger."""

    e_value: float
    largest: float
    """The largest after any weighing: reaching 100 once is what counts, and only a new ledger
    takes it back."""
    weighings: int
    begun: int
    skipped: int

    @classmethod
    def of(cls, page: Page) -> Standing:
        """What the weighings of a page add up to."""
        values = [evidence(_weighings(page.told[:n])) for n in range(1, len(page.told) + 1)]
        return cls(
            e_value=values[-1] if values else 1.0,
            largest=max(values, default=1.0),
            weighings=len({told.weighing for told in page.told}),
            begun=page.begun,
            skipped=page.skipped,
        )

    @property
    def off(self) -> bool:
        """Whether equal arms differed here more than chance allows."""
        return self.largest >= OFF_BALANCE

    def to_json(self, path: Path) -> Json:
        """As verdict.json keeps it."""
        return {
            "e_value": float(f"{self.e_value:.6g}"),
            "weighings": self.weighings,
            "largest_e_value": float(f"{self.largest:.6g}"),
            "off_balance": self.off,
            "ledgers": self.begun,
            "skipped_lines": self.skipped,
            "path": str(path),
        }


def consult(question: Question, inspection: Inspection, progress: Progress) -> Inspection:
    """The inspection, with a threat more where this machine's balance is off."""
    if question.ledger is None:
        return inspection
    page = Ledger(question.ledger).page(_machine(inspection))
    if page.skipped:
        lines = "1 line" if page.skipped == 1 else f"{page.skipped} lines"
        progress.note(f"{lines} of the ledger could not be read and is left out: {question.ledger}")
    standing = Standing.of(page)
    if question.new_ledger or not standing.off:
        return inspection
    threat = _threat(standing)
    progress.threat(threat.to_json())
    return replace(inspection, threats=(*inspection.threats, threat))


def _threat(standing: Standing) -> Threat:
    times = "1 weighing" if standing.weighings == 1 else f"{standing.weighings} weighings"
    return raise_threat(
        ThreatKind.LEDGER,
        f"{times} of equal arms on this machine reached an e-value of {standing.largest:.3g}; "
        f"equal arms reach {OFF_BALANCE:g} on 1 machine of 100 at most, however often one looks",
    )


def tell(
    question: Question,
    plan: Mapping[str, Any],
    inspection: Inspection,
    contrasts: Sequence[Contrast],
    progress: Progress,
) -> Json | None:
    """Tell the ledger what equal arms read, once an epoch; how it stands then, None without one.

    A ledger that cannot be written is a note: the weighing itself is done and kept.
    """
    if question.ledger is None:
        return None
    ledger, machine = Ledger(question.ledger), _machine(inspection)
    try:
        if question.new_ledger:
            _begin_anew(ledger, machine)
        equals = {arm.name for arm in question.study.equals}
        equal = next((one for one in contrasts if one.arm in equals), None)
        if equal is not None and plan.get("weighing"):
            _tell(ledger, machine, plan, equal)
    except OSError as reason:
        progress.note(f"could not write the ledger: {reason}")
    return Standing.of(ledger.page(machine)).to_json(question.ledger)


def _begin_anew(ledger: Ledger, machine: Mapping[str, Any]) -> None:
    closed = Standing.of(ledger.page(machine))
    if closed.weighings:
        ledger.begin_anew(machine, {"closed": closed.to_json(ledger.path)})


def _tell(
    ledger: Ledger, machine: Mapping[str, Any], plan: Mapping[str, Any], equal: Contrast
) -> None:
    page, weighing = ledger.page(machine), str(plan["weighing"])
    first = page.known.get(weighing, 0)
    new = equal.details["d"][first:]
    if all(value is None for value in new):
        return
    s0 = equal.terms.s0
    told = Told(weighing, first, tuple(np.nan if x is None else x for x in new), s0)
    after = Standing.of(replace(page, told=(*page.told, told)))
    facts = {
        "s0": s0,
        "study": plan["study"],
        "arm": equal.arm,
        "control": equal.control,
        "metric": plan["metric"],
        "seed": plan["seed"],
        "e_value": float(f"{after.e_value:.6g}"),
        "steelyard": __version__,
    }
    ledger.tell(machine, weighing, first, new, facts)


def _weighings(told: Sequence[Told]) -> list[EqualArms]:
    """What was told, put together by weighing: one that was gone on with is one weighing."""
    parts: dict[str, EqualArms] = {}
    for one in told:
        earlier = parts.get(one.weighing, EqualArms((), one.s0))
        parts[one.weighing] = EqualArms((*earlier.d, *one.d), earlier.s0)
    return list(parts.values())


def _machine(inspection: Inspection) -> Mapping[str, Any]:
    machine: Mapping[str, Any] = inspection.environment.get("machine", {})
    return machine
