"""Pairs rows that are about the same: a query, a number of clients, a block. Never pools others.

A cell is one combination of what rows are about and of what was asked for. Rows of one cell are
compared with each other; a cell that not all arms have is left out and named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.foreign.series import Factor, FactorKind, Floats, Series

Key = tuple[str, ...]
_MOST_NAMED = 4
_SHARED = 0.5
"""Of its values: what names rows of both arms, and not rows of one."""
_FEWEST_BLOCKS = 2


@dataclass(frozen=True, slots=True)
class Pairs:
    """Which rows of all arms belong together."""

    rows: Mapping[str, Sequence[Sequence[int]]]
    """Arm → for each pair, its rows, counted within the arm; several count as one."""
    names: tuple[str, ...]
    """What each pair is called."""
    paired: bool
    """Whether row k of one arm belongs to row k of the others: else they were only chosen."""
    repeated: bool
    """Whether cells were measured several times."""
    notes: tuple[str, ...] = ()


def varying_factors(arms: Mapping[str, Sequence[Factor]]) -> tuple[str, ...]:
    """The factors that all arms have, that vary within one, and whose values arms share."""
    every = list(arms.values())
    names = [
        factor.name
        for factor in every[0]
        if all(factor.name in _names(factors) for factors in every)
    ]
    return tuple(name for name in names if _varies([_of(factors, name) for factors in every]))


def _names(factors: Sequence[Factor]) -> set[str]:
    return {factor.name for factor in factors}


def _of(factors: Sequence[Factor], name: str) -> Factor:
    return next(factor for factor in factors if factor.name == name)


def _varies(factors: Sequence[Factor]) -> bool:
    values = [set(factor.values) for factor in factors]
    if all(len(levels) < 2 for levels in values):
        return False
    if factors[0].kind is not FactorKind.PARAMETER:
        return True
    shared = set.intersection(*values)
    return len(shared) >= _SHARED * len(set.union(*values))


def pairs_of(
    arms: Mapping[str, Sequence[Factor]],
    blocks: Mapping[str, Sequence[str]] | None = None,
    block_name: str = "",
    counted: bool = False,
) -> Pairs | None:
    """The pairs of rows of arms with these factors; None where nothing connects rows.

    `blocks`: of each row, the block that it is of: several rows of an arm in one are one. A block
    that an arm lacks is left out where most are of all arms, unless blocks are only `counted`.
    """
    names = varying_factors(arms)
    labels = {name: _of(next(iter(arms.values())), name).kind for name in names}
    keys = {arm: _keys(factors, names, blocks, arm) for arm, factors in arms.items()}
    cells = {arm: dict.fromkeys(groups) for arm, groups in keys.items()}
    common = [
        key for key in next(iter(cells.values())) if all(key in some for some in cells.values())
    ]
    if not common or len(arms) < 2:
        return None
    notes = _left_out(cells, common, labels)
    within = {arm: _places(groups, set(common)) for arm, groups in keys.items()}
    if blocks is not None:
        joined, alone = _by_block(within, blocks, counted)
        if joined:
            notes += _left_out(alone, (), labels | {block_name: FactorKind.PARAMETER})
            titles = {key: _title(key, labels) for key in common}
            first = next(iter(joined.values()))
            called = tuple(f"{titles[key]}, {block}" if key else block for key, block in first)
            rows = {arm: list(groups.values()) for arm, groups in joined.items()}
            pooled = any(len(some) > 1 for groups in rows.values() for some in groups)
            mean = ("several rows of an arm in a block are taken as one: their geometric mean",)
            return Pairs(rows, called, True, False, (*notes, *(mean if pooled else ())))
        notes = (*notes, f'column "{block_name}" does not hold every arm in every block')
    if len(common) == 1:
        if not notes:
            return None
        rows = {arm: [[row] for row in groups[common[0]]] for arm, groups in within.items()}
        return Pairs(rows, (), False, False, notes)
    return _by_cell(within, common, labels, notes)


def _keys(
    factors: Sequence[Factor],
    names: Sequence[str],
    blocks: Mapping[str, Sequence[str]] | None,
    arm: str,
) -> list[Key]:
    """The cell of every row of an arm."""
    if not names:
        count = len(blocks[arm]) if blocks is not None else len(factors[0].values) if factors else 0
        return [()] * count
    return list(zip(*(_of(factors, name).values for name in names), strict=True))


def _places(keys: Sequence[Key], common: set[Key]) -> dict[Key, list[int]]:
    if len(set(keys)) == 1:
        return {keys[0]: list(range(len(keys)))} if keys[0] in common else {}
    groups: dict[Key, list[int]] = {}
    for row, key in enumerate(keys):
        if key in common:
            groups.setdefault(key, []).append(row)
    return groups


def _by_block(
    within: Mapping[str, Mapping[Key, Sequence[int]]],
    blocks: Mapping[str, Sequence[str]],
    counted: bool,
) -> tuple[dict[str, dict[tuple[Key, str], list[int]]], dict[str, dict[Key, None]]]:
    """Rows by cell and block in the order of the first arm, none where too few of them hold every
    arm; and, of each arm, the others."""
    groups = {arm: _blocks_of_cells(cells, blocks[arm]) for arm, cells in within.items()}
    first, *others = groups.values()
    shared = set(first).intersection(*others)
    every = set(first).union(*others)
    common = [key for key in first if key in shared]
    enough = len(common) >= max(_FEWEST_BLOCKS, _SHARED * len(every)) and not counted
    if len(common) < len(every) and not enough:
        return {}, {}
    alone = {
        arm: dict.fromkeys((*key, block) for key, block in arm_groups if (key, block) not in shared)
        for arm, arm_groups in groups.items()
        if len(arm_groups) > len(shared)
    }
    # Where arms took turns, all have them in one order already.
    in_order = {
        arm: some if list(some) == common else {key: some[key] for key in common}
        for arm, some in groups.items()
    }
    return in_order, alone


def _blocks_of_cells(
    cells: Mapping[Key, Sequence[int]], blocks: Sequence[str]
) -> dict[tuple[Key, str], list[int]]:
    """The rows of an arm by cell and block, in their order."""
    placed = ((row, key) for key, rows in cells.items() for row in rows)
    groups = defaultdict[tuple[Key, str], list[int]](list)
    for row, key in placed if len(cells) == 1 else sorted(placed):
        groups[key, blocks[row]].append(row)
    return groups


def _by_cell(
    within: Mapping[str, Mapping[Key, Sequence[int]]],
    common: Sequence[Key],
    labels: Mapping[str, FactorKind],
    notes: tuple[str, ...],
) -> Pairs:
    """Repetition k of a cell in one arm beside repetition k in the others; cells that were
    measured unequally often count once, by their geometric mean."""
    rows: dict[str, list[list[int]]] = {arm: [] for arm in within}
    titles: list[str] = []
    pooled = repeated = False
    for key in common:
        counts = {len(cells[key]) for cells in within.values()}
        equal = len(counts) == 1
        times = counts.pop() if equal else 1
        repeated |= times > 1
        pooled |= not equal
        for k in range(times):
            titles.append(_title(key, labels))
            for arm, cells in within.items():
                rows[arm].append([cells[key][k]] if equal else list(cells[key]))
    if pooled:
        notes = (*notes, "cells measured unequally often count once: their geometric mean")
    return Pairs(rows, tuple(titles), True, repeated, notes)


def _title(key: Key, labels: Mapping[str, FactorKind]) -> str:
    """`clients 8, Q1`: parameters by name, labels bare; what is beyond them is a block."""
    parts = [
        value if kind is FactorKind.LABEL else f"{name} {value}"
        for (name, kind), value in zip(labels.items(), key, strict=False)
    ]
    return ", ".join([*parts, *key[len(labels) :]])


def _left_out(
    cells: Mapping[str, Mapping[Key, None]], common: Sequence[Key], labels: Mapping[str, FactorKind]
) -> tuple[str, ...]:
    """Of the cells that not all arms have: in words."""
    shared, notes = set(common), []
    for arm, keys in cells.items():
        alone = [key for key in keys if key not in shared]
        if alone:
            titles = in_short([_title(key, labels) for key in alone])
            notes.append(f"rows of {arm} that another arm lacks were left out: {titles}")
    return tuple(notes)


def in_short(titles: Sequence[str]) -> str:
    """The first few names of rows, and how many more there are."""
    more = f" and {len(titles) - _MOST_NAMED} more" if len(titles) > _MOST_NAMED else ""
    return "; ".join(titles[:_MOST_NAMED]) + more


def joined(values: Floats, rows: Sequence[Sequence[int]]) -> Floats:
    """One number a pair, shape (pairs,): the geometric mean of its rows."""
    if all(len(some) == 1 for some in rows):
        return values[[some[0] for some in rows]]
    return np.array(
        [
            values[some[0]] if len(some) == 1 else np.exp(np.log(values[list(some)]).mean())
            for some in rows
        ]
    )


def factors_of_rows(factors: Sequence[Factor], rows: Sequence[int]) -> tuple[Factor, ...]:
    """The factors of some of the rows."""
    return tuple(
        replace(factor, values=tuple(factor.values[row] for row in rows)) for factor in factors
    )


def conditions_of(series: Series) -> dict[str, tuple[str, ...]]:
    """Name → every value that a condition or a factor of an arm had, in the order of the file.

    What differs from nearly every row to the next was measured, and is no condition.
    """
    groups = dict(series.conditions)
    for factor in series.factors:
        values = tuple(dict.fromkeys(factor.values))
        scattered = factor.kind is FactorKind.PARAMETER and 2 * len(values) > len(factor.values) > 3
        if not scattered:
            groups[factor.name] = values
    return groups
