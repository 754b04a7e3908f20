"""Raises the threats that the arms show before they are weighed: builds, plans, machine, ledger.

Raises the threats of external data: what is otherwise than on the server that it belonged to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import shorten

from steelyard.analysis.calibration.balance import OFF_BALANCE
from steelyard.evaluation.plans.flips import flips
from steelyard.model.threat import Threat, raise_threat
from steelyard.model.threat_kind import ThreatKind
from steelyard.model.units import format_digits
from steelyard.record.environment import Difference, Inspection, SourceFacts
from steelyard.record.epoch import LedgerBalance

MOST_STATEMENTS = 3
MOST_WORDS = 160
"""Statements, and characters of each, that a threat names."""
MOST_FLIPS = 2
"""Flips of each."""


def inspection_threats(inspection: Inspection, control: str, arm: str) -> tuple[Threat, ...]:
    """What is seen of every arm, then of this one against the control."""
    return (*common_threats(inspection), *own_threats(inspection, control, arm))


def common_threats(inspection: Inspection) -> Iterator[Threat]:
    """The threats about every arm: the machine, the driver's build, the A/A ledger."""
    if inspection.machine_changes:
        yield raise_threat(ThreatKind.MACHINE_CHANGED, "; ".join(inspection.machine_changes))
    if inspection.build_profile != "release":
        yield raise_threat(ThreatKind.DEBUG_BUILD, "the load driver is a debug build")
    if inspection.ledger is not None and inspection.ledger.off_balance:
        yield _ledger(inspection.ledger)
    yield from _carried_over(inspection.seen)


def own_threats(inspection: Inspection, control: str, arm: str) -> Iterator[Threat]:
    """The threats about one arm: another build, other plans."""
    inspected, pair = inspection.arms.get(arm), f"{control} and {arm}"
    if inspected is None:
        return
    if inspected.builds:
        yield raise_threat(
            ThreatKind.BUILDS_DIFFER, f"{pair}: {differences_in_words(inspected.builds)}"
        )
    ours, theirs = (inspection.plans.get(name, {}) for name in (control, arm))
    changed = [
        statement
        for statement in {**ours, **theirs}
        if ours.get(statement) != theirs.get(statement)
    ]
    if changed and not inspected.plans_meant:
        flips_of = {
            statement: flips(ours.get(statement, ""), theirs.get(statement, "")).names
            for statement in changed
        }
        yield raise_threat(
            ThreatKind.PLANS_DIFFER, f"{pair}: {shown_statements(changed, flips_of)}"
        )
    yield from _carried_over(inspected.seen)


def shown_statements(statements: Sequence[str], flips_of: Mapping[str, Sequence[str]]) -> str:
    """The first few, those with a flip before the others, each cut to what distinguishes it and
    with what flipped; and how many more there are."""
    ordered = sorted(statements, key=lambda statement: not flips_of.get(statement))
    displayed = [
        _with_flips(statement, flips_of.get(statement, ()))
        for statement in ordered[:MOST_STATEMENTS]
    ]
    more = len(ordered) - len(displayed)
    return "; ".join(displayed) + (f"; and {more} more" if more else "")


def _with_flips(statement: str, names: Sequence[str]) -> str:
    shortened = shorten(statement, MOST_WORDS, placeholder=" …")
    if not names:
        return shortened
    more = len(names) - MOST_FLIPS
    listed = ", ".join(names[:MOST_FLIPS]) + (f" and {more} more" if more > 0 else "")
    return f"{shortened} flipped: {listed}"


def differences_in_words(differences: Sequence[Difference]) -> str:
    """`origin: bundle and npm; cflags: -O2 and -Os`: each with the control's value first."""
    return "; ".join(f"{name}: {ours} and {theirs}" for name, ours, theirs in differences)


def _ledger(ledger: LedgerBalance) -> Threat:
    times = "1 weighing" if ledger.weighings == 1 else f"{ledger.weighings} weighings"
    return raise_threat(
        ThreatKind.LEDGER,
        f"{times} of equal arms on this machine reached an e-value of "
        f"{format_digits(ledger.largest_e_value, 3)}; "
        f"equal arms reach {OFF_BALANCE:g} on 1 machine of 100 at most, however often one looks",
    )


def _carried_over(differences: Sequence[tuple[str, str]]) -> Iterator[Threat]:
    for kind, observation in differences:
        yield raise_threat(ThreatKind(kind), observation)


def source_threats(source: SourceFacts | None) -> Iterator[Threat]:
    """Where the arms have not the settings of the data's server."""
    if source is not None and source.settings_missing:
        yield raise_threat(ThreatKind.OTHER_SETTINGS, source.settings_missing)
    for setting in () if source is None else source.replaced:
        if setting.name == "shared_buffers" and "default" not in (setting.theirs, setting.used):
            observation = (
                f"shared_buffers is {setting.theirs} there, and {setting.used} here: {setting.why}"
            )
            yield raise_threat(ThreatKind.OTHER_SETTINGS, observation)


def source_notes(source: SourceFacts | None) -> Iterator[str]:
    """What is otherwise in the copy, a line each; the lists themselves are in the report."""
    if source is None:
        return
    if source.changes:
        yield f"{source.changes}: in the report, and environment.json (source)"
    yield from source.doubts
