"""Finds how long the transactions of a script sleep: keying and thinking times, for example."""

from __future__ import annotations

import re
from collections.abc import Mapping

from steelyard._core import script_statements

EXECUTIONS = 200
"""That are tried, nobody sleeping: pauses are drawn at random and depend on options."""
UNIT_NS = {"": 1_000_000_000, "s": 1_000_000_000, "ms": 1_000_000, "us": 1_000}
_SLEEP = re.compile(r"^[ \t]*\\sleep[ \t]+(\S+)(?:[ \t]+(us|ms|s))?[ \t]*$", re.IGNORECASE | re.M)
_TOLD = re.compile(r"SELECT 'steelyard sleeps', (\d+), '(\w*)'")


def longest_pause_ns(name: str, text: str, variables: Mapping[str, str]) -> int:
    """The longest that one of the executions that are tried sleeps in all, in ns; 0: none does."""
    if not _SLEEP.search(text):
        return 0
    telling = _SLEEP.sub(r"SELECT 'steelyard sleeps', \1, '\2';", text)
    return max(_pause_ns(name, telling, variables, seed) for seed in range(EXECUTIONS))


def _pause_ns(name: str, telling: str, variables: Mapping[str, str], seed: int) -> int:
    try:
        statements = script_statements(name, telling, dict(variables), seed)
    except ValueError:  # no result with these draws: the transaction ends there
        return 0
    told = _TOLD.findall("\n".join(statements))
    return sum(int(amount) * UNIT_NS[unit.lower()] for amount, unit in told)
