"""What the arms are and where they differ, as inspection.json keeps it."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.record.epoch import LedgerStanding
from steelyard.record.frozen import Frozen

Difference = tuple[str, str, str]
"""(name, value of the control, value of the arm)."""


class DifferencesFound(Frozen):
    """Settings that differ between an arm and the control."""

    declared: tuple[Difference, ...] = ()
    derived: tuple[Difference, ...] = ()
    undeclared: tuple[Difference, ...] = ()


class ArmInspection(Frozen):
    """An arm against the control, before it is weighed."""

    may_differ: tuple[str, ...] = ()
    """Names of settings that may differ; "data_checksums" and "version" among them."""
    differences: DifferencesFound = DifferencesFound()
    builds: tuple[Difference, ...] = ()
    seen: tuple[tuple[str, str], ...] = ()
    """(threat, what was seen): of records of format 1, which kept no plans."""


class Inspection(Frozen):
    """What was found of the arms before the pilot, and what the A/A ledger said."""

    compared: int
    """Settings compared."""
    statements: int
    """Of the scripts, that have a plan: only these return or change rows."""
    writes: bool
    arms: Mapping[str, ArmInspection]
    """Arm → against the control."""
    plans: Mapping[str, Mapping[str, str]] = {}
    """Arm, the control among them → statement → its plan."""
    build_profile: str = "release"
    """Of the load driver."""
    machine_changes: tuple[str, ...] = ()
    """What of the machine is no longer as it was before an interruption."""
    ledger: LedgerStanding | None = None
    """As it was consulted; None: there is none, or a new one begins with this weighing."""
    seen: tuple[tuple[str, str], ...] = ()
    """(threat, what was seen) about every arm: of records of format 1."""
