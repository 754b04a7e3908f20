"""Reads what servers count of each statement over the measured slices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from steelyard.engines.counting.protocols import CountedStatements
from steelyard.engines.engine import Instance
from steelyard.engines.loading import DATABASE
from steelyard.model.errors import EngineError
from steelyard.model.statements import StatementCounts, between
from steelyard.record.epoch import StatementLine, StatementsLine


class StatementReadings:
    """Of the arms whose statements are to be counted: made before the load connects.

    EngineError: the build of an arm cannot count them.
    """

    def __init__(self, standing: Mapping[str, Instance]) -> None:
        self._standing = {
            arm: one for arm, one in standing.items() if isinstance(one, CountedStatements)
        }
        self._before: dict[str, StatementCounts] = {}
        for instance in self._standing.values():
            instance.prepare_statement_counts()

    def border(self) -> None:
        """At a border of the measured slices; only the first is read."""
        if not self._before:
            self._before = self._counts()

    def lines(self) -> dict[str, StatementsLine]:
        """Arm → what was counted since the first border; read once the load has gone."""
        after = self._counts()
        return {arm: _line(between(self._before[arm], after[arm])) for arm in self._before}

    def _counts(self) -> dict[str, StatementCounts]:
        return {arm: _read(one) for arm, one in self._standing.items()}


def _read(instance: CountedStatements) -> StatementCounts:
    """What a server tells; nothing, with its reason, where it does not."""
    try:
        return instance.statement_counts(DATABASE)
    except EngineError as reason:
        return StatementCounts(missing=reason.primary)


def _line(found: StatementCounts) -> StatementsLine:
    counts = tuple(StatementLine(**asdict(one)) for one in found.by_text.values())
    return StatementsLine(missing=found.missing, counts=counts)
