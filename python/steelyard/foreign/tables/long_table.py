"""Reads a table in long form: a column names the arm of each row, another holds the number."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

import numpy as np
from numpy.typing import NDArray

from steelyard.foreign.metric import Metric
from steelyard.foreign.number import Spot, floats_of
from steelyard.foreign.series import Floats, Order, Rows, Series, Sheet
from steelyard.foreign.source import Place
from steelyard.foreign.tables.column_roles import Roles
from steelyard.foreign.tables.table import Table
from steelyard.foreign.tables.unit_column import metric_in, unit_named

MOST_ARMS = 100
_RUNS_Z = -1.645
_SAY = "Say which column was measured: --column value=NAME."
Arranged = Mapping[str, Sequence[Sequence[int]]]
"""Arm → for each of its rows, the rows of the table that make it."""
Indices = NDArray[np.int64]
_METRIC_HEADINGS = {"metric", "measure", "quantity", "measurement"}


def read_long_table(table: Table, roles: Roles, form: str) -> Sheet:
    """The sheet of such a table, arms in the order of their first row."""
    if roles.arm is None or not roles.numbers:
        raise table.source.error(
            "no column holds numbers that were measured", Place(1, 1), hint=_SAY
        )
    labels = [label.strip() for label in table.columns[roles.arm]]
    _refuse_labels(table, roles.arm, labels)
    _refuse_mixture(table)
    timestamps = _timestamps(table, roles.order)
    sorted_rows = (
        np.arange(len(labels)) if timestamps is None else np.argsort(timestamps, kind="stable")
    )
    order = sorted_rows.tolist()
    blocks = table.columns[roles.block] if roles.block is not None else None
    arranged = _blocks(labels, blocks, order) if blocks else None
    rows = arranged or {}
    first = {arm: np.array([some[0] for some in own]) for arm, own in rows.items()}
    first = first or _by_arm(labels, order)
    named_unit = unit_named(table, roles.unit)
    metrics = []
    for column in roles.numbers:
        spot = partial(_spot, table, column)
        values, unit = floats_of(
            table.columns[column], table.source, spot, decimal_comma=table.decimal_comma
        )
        series = tuple(
            Series(
                arm,
                _joined(rows[arm], values) if rows else values[own],
                timestamps=None if timestamps is None else timestamps[own],
                spot=partial(_spot_of, spot, own),
            )
            for arm, own in first.items()
        )
        metric = metric_in(table, column, unit, named_unit, alone=len(roles.numbers) == 1)
        metrics.append((metric, series))
    return Sheet(
        source=table.source.name,
        form=form,
        metrics=ranked(metrics),
        order=order_of([labels[i] for i in order]) if timestamps is not None else Order.UNKNOWN,
        rows=Rows.BLOCKS if arranged else Rows.APART,
        clients=_clients(table, roles.clients, labels),
        ordered=not (arranged and timestamps is None and _named(table, roles.block)),
        row_names=_block_names(arranged, blocks) if arranged and blocks else (),
        notes=_notes(arranged is None and blocks is not None, roles, table),
    )


def _spot(table: Table, column: int, row: int) -> Place:
    return table.spot(row, column)


def _by_arm(labels: Sequence[str], order: Sequence[int]) -> dict[str, Indices]:
    """The rows of every arm, in the given order."""
    names = list(dict.fromkeys(labels))
    codes = {name: code for code, name in enumerate(names)}
    coded = np.array([codes[label] for label in labels])[order]
    return {name: np.asarray(order)[coded == code] for name, code in codes.items()}


def order_of(labels: Sequence[str]) -> Order:
    """The order of arms measured one after the other, given their labels in that order.

    Sequential: no arm comes back after another, or (Wald & Wolfowitz, Annals of Mathematical
    Statistics 11 (1940) 147) far fewer changes than chance gives. Else the arms took turns.
    """
    counts = Counter(labels)
    changes = sum(one != other for one, other in itertools.pairwise(labels))
    if changes == len(counts) - 1 and max(counts.values()) > 1:
        return Order.SEQUENTIAL
    n = len(labels)
    same = sum(count * (count - 1) for count in counts.values()) / (n * (n - 1)) if n > 1 else 1
    expected = (n - 1) * (1 - same)
    spread = math.sqrt(max(expected * same, 1e-9))
    return Order.SEQUENTIAL if (changes - expected) / spread < 3 * _RUNS_Z else Order.ALTERNATING


def _blocks(labels: Sequence[str], blocks: Sequence[str], order: Sequence[int]) -> Arranged | None:
    """Rows by block, where every block has every arm; several rows of an arm count as one."""
    arms = dict.fromkeys(labels)
    found: dict[str, dict[str, list[int]]] = {}
    for index in order:
        found.setdefault(blocks[index].strip(), {}).setdefault(labels[index], []).append(int(index))
    if len(arms) < 2 or any(len(inside) != len(arms) for inside in found.values()):
        return None
    return {arm: [inside[arm] for inside in found.values()] for arm in arms}


def _named(table: Table, block: int | None) -> bool:
    """Whether blocks have names (of queries): numbers would give their order, names do not."""
    return block is not None and table.is_text(block)


def _block_names(arranged: Arranged, blocks: Sequence[str]) -> tuple[str, ...]:
    first = next(iter(arranged.values()))
    return tuple(blocks[rows[0]].strip() for rows in first)


def _joined(rows: Sequence[Sequence[int]], values: Floats) -> Floats:
    """One number a block: the geometric mean of its rows."""
    return np.array(
        [
            values[some[0]] if len(some) == 1 else math.exp(np.log(values[list(some)]).mean())
            for some in rows
        ]
    )


def _spot_of(spot: Spot, rows: Indices, index: int) -> Place:
    return spot(int(rows[index]))


def ranked(
    metrics: Sequence[tuple[Metric, tuple[Series, ...]]],
) -> tuple[tuple[Metric, tuple[Series, ...]], ...]:
    """What is known as throughput first, then latency and time, then the rest in their order."""
    places = {"throughput": 0, "latency_mean": 1, "time": 2}
    return tuple(sorted(metrics, key=lambda one: places.get(one[0].name, 3)))


def _timestamps(table: Table, column: int | None) -> Floats | None:
    """When each row was measured: a number, or a date and time."""
    if column is None:
        return None
    cells = table.columns[column]
    if not table.is_text(column):
        values, _ = floats_of(cells, table.source, partial(_spot, table, column), positive=False)
        return values
    stamps = []
    for row, cell in enumerate(cells):
        try:
            stamps.append(datetime.fromisoformat(cell.strip()).timestamp())
        except (ValueError, OverflowError, OSError):
            raise table.source.error(
                f'"{cell.strip()[:40]}" is neither a number nor a date',
                table.spot(row, column),
                hint="Dates are read as 2026-11-21 or 2026-11-21T14:03:22.",
            ) from None
    return np.array(stamps)


def _clients(table: Table, column: int | None, labels: Sequence[str]) -> dict[str, float]:
    """The clients of each arm, where all its rows agree."""
    if column is None:
        return {}
    values, _ = floats_of(table.columns[column], table.source, partial(_spot, table, column))
    found: dict[str, set[float]] = {}
    for label, value in zip(labels, values.tolist(), strict=True):
        found.setdefault(label, set()).add(value)
    return {label: next(iter(some)) for label, some in found.items() if len(some) == 1}


def _refuse_labels(table: Table, column: int, labels: Sequence[str]) -> None:
    if "" in labels:
        raise table.source.error("an arm without a name", table.spot(labels.index(""), column))
    if len(set(labels)) > MOST_ARMS:
        raise table.source.error(
            f'column "{table.name(column)}" names {len(set(labels))} arms: more than {MOST_ARMS}, '
            "the limit",
            table.spot(0, column),
            hint="Say which column names the arms: --column arm=NAME.",
        )


def _refuse_mixture(table: Table) -> None:
    """Throughputs and latencies in one column are not to be averaged."""
    for column in range(len(table.columns)):
        if table.name(column).strip().lower() not in _METRIC_HEADINGS or not table.is_text(column):
            continue
        cells = [cell.strip() for cell in table.columns[column]]
        other = next((row for row, cell in enumerate(cells) if cell != cells[0]), None)
        if other is not None:
            raise table.source.error(
                f'several metrics in one column: "{cells[other][:40]}" after "{cells[0][:40]}"',
                table.spot(other, column),
                hint="Keep the rows of one metric, or give each a column of its own.",
            )


def _notes(blocks_in_vain: bool, roles: Roles, table: Table) -> tuple[str, ...]:
    if blocks_in_vain and roles.block is not None:
        return (f'column "{table.name(roles.block)}" does not hold every arm in every block',)
    return ()
