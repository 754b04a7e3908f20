"""Reads a table in long form: a column names the arm of each row, another holds the number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from steelyard.foreign.cells import Pairs, factors_of_rows, joined, pairs_of, varying_factors
from steelyard.foreign.number import Spot, floats_of
from steelyard.foreign.series import (
    MOST_ARMS,
    Factor,
    FactorKind,
    Floats,
    Grain,
    Order,
    Rows,
    Series,
    Sheet,
)
from steelyard.foreign.source import TextPosition
from steelyard.foreign.tables.column_roles import Roles
from steelyard.foreign.tables.factors import (
    factors_of,
    require_comparable_rows,
)
from steelyard.foreign.tables.number_columns import number_columns
from steelyard.foreign.tables.outcomes.transaction_counts import outcome_of
from steelyard.foreign.tables.row_times import (
    Indices,
    order_of,
    row_moments,
    run_column,
    run_means,
    slices_of,
)
from steelyard.foreign.tables.table import Table

_SAY = "Say which column was measured: --column value=NAME."


@dataclass(frozen=True, eq=False)
class _Arms:
    """The rows of every arm, in the order of their times."""

    rows: Mapping[str, Indices]
    order: Order
    grain: Grain
    instead: str
    """Why the rows are slices."""
    runs: Mapping[str, tuple[list[Indices], list[str]]]
    """The rows of each run, where they are taken together."""


def read_long_table(table: Table, roles: Roles, form: str) -> Sheet:
    """The sheet of such a table, arms in the order of their first row."""
    if roles.arm is None or not (roles.numbers or roles.spare):
        raise table.source.error(
            "no column holds numbers that were measured", TextPosition(1, 1), hint=_SAY
        )
    labels = [label.strip() for label in table.columns[roles.arm]]
    _refuse_labels(table, roles.arm, labels)
    require_comparable_rows(table, roles)
    timestamps = row_moments(table, roles)
    arms = _arms(table, roles, labels, timestamps)
    factors = factors_of(table, roles)
    factors_by_arm = {
        arm: factors_of_rows(factors, rows.tolist()) for arm, rows in arms.rows.items()
    }
    runs = arms.runs
    sliced = arms.grain is Grain.SLICE
    pairs = None if sliced or runs else _pairs(table, roles, arms, factors_by_arm)
    means = {arm: rows for arm, (rows, _) in runs.items()}
    metrics, unreadable = number_columns(
        table,
        roles,
        lambda column, values: tuple(
            _series(
                table,
                column,
                arm,
                arms,
                factors_by_arm,
                (pairs, means.get(arm)),
                values,
                timestamps,
            )
            for arm in arms.rows
        ),
    )
    every = {arm: outcome_of(table, roles, rows.tolist()) for arm, rows in arms.rows.items()}
    names = pairs.names if pairs is not None and pairs.paired else ()
    return Sheet(
        source=table.source.name,
        form=form,
        metrics=metrics,
        chosen=roles.chosen,
        order=arms.order,
        rows=Rows.BLOCKS if names else Rows.APART,
        clients=_clients(table, roles.clients, labels),
        outcomes={arm: outcome for arm, outcome in every.items() if outcome is not None},
        ordered=not names
        or timestamps is not None
        or not _lost(table, roles, factors_by_arm, pairs),
        row_names=names,
        apart=_apart(table, roles, arms, pairs),
        notes=(
            *(pairs.notes if pairs is not None else ()),
            *(
                (f'rows of one run are taken together by column "{_run_name(table, roles, arms)}"',)
                if runs
                else ()
            ),
        ),
        unreadable=unreadable,
    )


def _run_name(table: Table, roles: Roles, arms: _Arms) -> str:
    column = run_column(table, roles, arms.rows)
    return table.name(column) if column is not None else ""


def _arms(table: Table, roles: Roles, labels: Sequence[str], timestamps: Floats | None) -> _Arms:
    rising = np.arange(len(labels)) if timestamps is None else np.argsort(timestamps, kind="stable")
    rows = _by_arm(labels, rising)
    order = order_of([labels[i] for i in rising.tolist()]) if timestamps is not None else None
    runs = run_means(table, roles, rows)
    instead = "" if runs else slices_of(table, roles, rows, timestamps, order)
    grain = Grain.SLICE if instead else Grain.REPETITION
    return _Arms(rows, order or Order.UNKNOWN, grain, instead, runs)


def _series(
    table: Table,
    column: int,
    arm: str,
    arms: _Arms,
    factors: Mapping[str, tuple[Factor, ...]],
    grouping: tuple[Pairs | None, Sequence[Indices] | None],
    values: Floats,
    timestamps: Floats | None,
) -> Series:
    """The numbers of one arm: its rows, its pairs, or the means of its runs."""
    rows, (pairs, runs) = arms.rows[arm], grouping
    arm_values, mine = values[rows], factors[arm]
    if runs is not None:
        arm_values = np.array([float(values[run].mean()) for run in runs])
        rows = np.array([int(run[0]) for run in runs])
        mine = factors_of_rows(factors[arm], [0] * 0)
    elif pairs is not None:
        arm_values = joined(arm_values, pairs.rows[arm])
        first = [some[0] for some in pairs.rows[arm]]
        rows, mine = rows[first], factors_of_rows(mine, first)
    return Series(
        arm,
        arm_values,
        arms.grain,
        timestamps=None if timestamps is None else timestamps[rows],
        spot=partial(_spot_of, partial(_spot, table, column), rows),
        factors=tuple(f for f in mine if f.values),
        instead=arms.instead,
    )


def _pairs(
    table: Table, roles: Roles, arms: _Arms, factors: Mapping[str, tuple[Factor, ...]]
) -> Pairs | None:
    """Rows by block and by what they are about; a counter of rows pairs them only where the arms
    took turns: run 3 of either arm were of one time only then."""
    column = roles.block
    if column is None and roles.index is not None and _took_turns(table, roles, arms):
        column = roles.index
    counted = {
        arm: _padded(arm_factors, len(arms.rows[arm])) for arm, arm_factors in factors.items()
    }
    if column is None:
        return pairs_of(counted)
    cells = table.columns[column]
    blocks = {arm: [cells[row].strip() for row in rows] for arm, rows in arms.rows.items()}
    return pairs_of(counted, blocks, table.name(column), counted=roles.block is None)


def _padded(factors: tuple[Factor, ...], count: int) -> tuple[Factor, ...]:
    """Factors of at least one name, so that rows are counted."""
    return factors or (Factor("", FactorKind.PARAMETER, ("",) * count),)


def _took_turns(table: Table, roles: Roles, arms: _Arms) -> bool:
    if roles.order is not None:
        return arms.order is Order.ALTERNATING
    assert roles.arm is not None
    return order_of([label.strip() for label in table.columns[roles.arm]]) is not Order.SEQUENTIAL


def _lost(
    table: Table,
    roles: Roles,
    factors: Mapping[str, tuple[Factor, ...]],
    pairs: Pairs | None,
) -> bool:
    """Whether pairs have names that tell no order: of queries, of cells measured once each."""
    if roles.block is not None:
        return table.is_text(roles.block)
    if pairs is None or pairs.repeated:
        return False
    if roles.index is not None and not table.is_text(roles.index) and not varying_factors(factors):
        return False
    cells = {name.rpartition(", ")[0] or name for name in pairs.names}
    return len(cells) == len(pairs.names) or roles.index is None


def _apart(table: Table, roles: Roles, arms: _Arms, pairs: Pairs | None) -> str:
    """Why a column that numbers or names rows does not pair them."""
    if pairs is not None and pairs.paired:
        return ""
    if roles.block is not None:
        return f'column "{table.name(roles.block)}" does not hold every arm in every block'
    if roles.index is None:
        return ""
    name = table.name(roles.index)
    if not _took_turns(table, roles, arms):
        return f'column "{name}" counts the rows of arms that stand one after the other'
    return f'column "{name}" does not number every arm alike'


def _spot(table: Table, column: int, row: int) -> TextPosition:
    return table.spot(row, column)


def _by_arm(labels: Sequence[str], order: Indices) -> dict[str, Indices]:
    """The rows of every arm, in the given order."""
    codes = {name: code for code, name in enumerate(dict.fromkeys(labels))}
    coded = np.array([codes[label] for label in labels])[order]
    return {name: order[coded == code] for name, code in codes.items()}


def _spot_of(spot: Spot, rows: Indices, index: int) -> TextPosition:
    return spot(int(rows[index]))


def _clients(table: Table, column: int | None, labels: Sequence[str]) -> dict[str, float]:
    """The clients of each arm, where all its rows agree."""
    if column is None:
        return {}
    values, _ = floats_of(table.columns[column], table.source, partial(_spot, table, column))
    matches: dict[str, set[float]] = {}
    for label, value in zip(labels, values.tolist(), strict=True):
        matches.setdefault(label, set()).add(value)
    return {label: next(iter(some)) for label, some in matches.items() if len(some) == 1}


def _refuse_labels(table: Table, column: int, labels: Sequence[str]) -> None:
    if "" in labels:
        raise table.source.error(
            "an arm without a name",
            table.spot(labels.index(""), column),
            hint="Write its name in every row, or leave the row out.",
        )
    if len(set(labels)) > MOST_ARMS:
        raise table.source.error(
            f'column "{table.name(column)}" names {len(set(labels))} arms: more than {MOST_ARMS}, '
            "the limit",
            table.spot(0, column),
            hint="Say which column names the arms: --column arm=NAME.",
        )
