"""Holds what a file says: the numbers of each arm and metric, and how they were measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from steelyard.foreign.metric import Metric
from steelyard.foreign.source import TextPosition
from steelyard.model.errors import NumbersError
from steelyard.model.threat import ThreatKind

Floats = NDArray[np.float64]
MOST_ARMS = 100
"""Of one comparison."""


class Grain(StrEnum):
    """What one number is a measurement of."""

    REPETITION = "repetition"
    """A measurement from its beginning to its end."""
    SLICE = "slice"
    """A part of one measurement that went on: a second of a log, a transaction."""


class Order(StrEnum):
    """In which order the arms were measured."""

    UNKNOWN = "unknown"
    RANDOM = "random"
    """Drawn at random, by the user's word: a file cannot show it."""
    ALTERNATING = "alternating"
    """The arms took turns; whether by chance is not known."""
    SEQUENTIAL = "sequential"
    """All of one arm, then all of another."""


class Rows(StrEnum):
    """Whether number k of one arm belongs to number k of another."""

    APART = "apart"
    """They are in different lists that nothing connects."""
    BESIDE = "beside"
    """In one row of a table, or at one place of two lists of a file."""
    BLOCKS = "blocks"
    """The file says that they belong together: a block, an epoch, a query."""


class FactorKind(StrEnum):
    """What a factor says of a row."""

    LABEL = "label"
    """What the row is about: a query, a benchmark."""
    LOAD = "load"
    """A parameter of the load: clients, scale. Where arms differ in it, it explains any effect."""
    PARAMETER = "parameter"
    """Anything else that was asked for, or that names rows."""


@dataclass(frozen=True, eq=False)
class Factor:
    """What distinguishes the rows of an arm besides their numbers."""

    name: str
    kind: FactorKind
    values: tuple[str, ...]
    """One a row."""


@dataclass(frozen=True, eq=False)
class Series:
    """The numbers of one arm in the order of the file, shape (n,)."""

    arm: str
    values: Floats
    grain: Grain = Grain.REPETITION
    weights: Floats | None = None
    """Of slices of a mean: how many transactions each is the mean of, shape (n,)."""
    timestamps: Floats | None = None
    """When each was measured, on a scale that all arms share; None where the file does not say."""
    until: float | None = None
    """When the last of it was measured, where that is known better than by the last moment."""
    spot: Callable[[int], TextPosition] | None = None
    """The place of each in the file."""
    conditions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What was asked for, where the file says so: name → every value that it had ("bs": "4k")."""
    loads: frozenset[str] = frozenset()
    """Names of the conditions that are of the load: where arms differ in one, it explains any
    effect."""
    factors: tuple[Factor, ...] = ()
    """What rows are about and what was asked for, row by row."""
    instead: str = ""
    """Why its rows are slices of one run, where the file does not say so itself."""


@dataclass(frozen=True, slots=True)
class TransactionCounts:
    """Counts of transactions, of one file or of all files of an arm."""

    tried: int
    troubled: int
    """Failed, were retried or were skipped."""
    wrong: int = 0
    """Returned other rows than they should."""
    shares: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """What rows say of the share that failed or succeeded, or of failures by time, by column."""

    def __add__(self, other: TransactionCounts) -> TransactionCounts:
        return TransactionCounts(
            self.tried + other.tried,
            self.troubled + other.troubled,
            self.wrong + other.wrong,
            {
                name: (*self.shares.get(name, ()), *other.shares.get(name, ()))
                for name in {**self.shares, **other.shares}
            },
        )


@dataclass(frozen=True, slots=True)
class RequestedRate:
    """What runs say of the rate that they were held to, where none is printed."""

    begun: float
    """Transactions that began, or were skipped, within the time."""
    due: float
    """How many at most should have begun by then."""
    seconds: float

    def __add__(self, other: RequestedRate) -> RequestedRate:
        return RequestedRate(
            self.begun + other.begun, self.due + other.due, self.seconds + other.seconds
        )


@dataclass(frozen=True, eq=False)
class Sheet:
    """What one file holds: one or more metrics, each with its arms."""

    source: str
    form: str
    """The name of its format."""
    metrics: tuple[tuple[Metric, tuple[Series, ...]], ...]
    """The first is taken where none is asked for."""
    chosen: bool = False
    """Whether the user said which column was measured: the only metric."""
    order: Order = Order.UNKNOWN
    rows: Rows = Rows.APART
    clients: Mapping[str, float] = field(default_factory=dict)
    """How many clients each arm had, where the file says so."""
    outcomes: Mapping[str, TransactionCounts] = field(default_factory=dict)
    """What became of each arm's transactions, where the file says so."""
    requested: RequestedRate | None = None
    """The rate that its only arm was held to, where it was and the file does not print it."""
    connecting: bool | None = None
    """Whether throughput counts the time to connect; None where the file does not say."""
    lines: tuple[int, ...] = ()
    """The line of each row, where rows have lines; to be named in findings."""
    row_names: tuple[str, ...] = ()
    """What each row is called (a block, a query); empty where rows are only counted."""
    apart: str = ""
    """Why rows are not paired although a column numbers or names them; empty: no column does."""
    ordered: bool = True
    """Whether the order of the rows is that of time, as far as the file can tell."""
    machine: tuple[tuple[ThreatKind, str], ...] = ()
    """What the file says of the machine that makes its numbers doubtful."""
    notes: tuple[str, ...] = ()
    """What was left out or taken for granted, in words."""
    nested: tuple[str, ...] = ()
    """Keys that were left out, and hold rates, times or counts within them."""
    unreadable: tuple[tuple[Metric, NumbersError], ...] = ()
    """Columns of numbers that cannot be judged, and why: refused where they are asked for."""
