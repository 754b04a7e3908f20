"""Transactions by the servers' own count: each database once, and a number only where all tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from steelyard.engines.engine import Instance
from steelyard.running.measuring.arm_readings import EndedTransactions


@dataclass
class Counting:
    """A server that tells these numbers, one a question."""

    name: str
    told: list[int | None] = field(default_factory=list)

    def counted_in(self) -> tuple[str, ...]:
        return (self.name, "db")

    def ended_transactions(self) -> int | None:
        return self.told.pop(0)


def read(*arms: Any) -> float | None:
    standing = {f"arm {number}": cast(Instance, one) for number, one in enumerate(arms)}
    return EndedTransactions(standing).reading().value


def test_a_database_that_both_arms_use_is_counted_once() -> None:
    one, same = Counting("a", [100, 350]), Counting("a", [100, 350])
    assert read(one, same) == 250


def test_two_servers_are_added_up() -> None:
    assert read(Counting("a", [100, 350]), Counting("b", [7, 8])) == 251


@pytest.mark.parametrize("told", [[None, 5], [5, None], [50, 4]])
def test_a_server_that_does_not_tell_or_was_reset_leaves_no_number(told: list[int | None]) -> None:
    assert read(Counting("a", [0, 10]), Counting("b", told)) is None


def test_an_arm_that_counts_nothing_leaves_no_number() -> None:
    assert read(Counting("a", [0, 10]), object()) is None
