"""Reads how many transactions the servers ended while a load by several machines was connected.

Drivers count the answers that they got; on one machine their sums are the load's by construction,
on several they are compared with the servers' own counts.
"""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.engines.counting.protocols import CountedTransactions
from steelyard.engines.engine import Instance
from steelyard.model.readings import ENDED_TRANSACTIONS, Reading

_UNTOLD = "a server does not tell, or sessions stayed"


class EndedTransactions:
    """What the databases of all arms have counted since this was made."""

    def __init__(self, standing: Mapping[str, Instance]) -> None:
        counted = [one for one in standing.values() if isinstance(one, CountedTransactions)]
        self._databases = {tuple(one.counted_in()): one for one in counted}
        self._whole = len(counted) == len(standing)
        self._before = self._counts()

    def reading(self) -> Reading:
        """Transactions of all of them together, ours and others'."""
        before, after = self._before, self._counts()
        if before is None or after is None or after < before:  # or its statistics were reset
            return Reading(ENDED_TRANSACTIONS, "transactions", None, _UNTOLD)
        return Reading(ENDED_TRANSACTIONS, "transactions", after - before)

    def _counts(self) -> int | None:
        found = [one.ended_transactions() for one in self._databases.values()]
        known = [one for one in found if one is not None]
        return sum(known) if self._whole and len(known) == len(found) else None
