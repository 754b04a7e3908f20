"""What a server only counted becomes a mix, its values drawn from the planner's statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from steelyard.engines.postgres.sql.statement_mix import ColumnStatistics, CountedStatement
from steelyard.workloads.capturing.parameter_columns import (
    ROWS,
    ParameterColumn,
    mix_of_counted,
    parameter_columns,
)

COLUMNS = (
    ColumnStatistics("t", "id", 0.0, (), (), tuple(str(n) for n in range(0, 101, 10))),
    ColumnStatistics("t", "kind", 0.0, ("a", "b"), (0.75, 0.25), ()),
    ColumnStatistics("t", "empty", 1.0, (), (), ()),
)


def known(tables: Sequence[str]) -> Sequence[ColumnStatistics]:
    return [one for one in COLUMNS if one.table in tables]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT 1 FROM t WHERE t.id = $1", {1: ParameterColumn("t", "id")}),
        ("SELECT 1 FROM t AS x WHERE x.id < $1", {1: ParameterColumn("t", "id")}),
        ("SELECT 1 FROM t WHERE $1 = id", {1: ParameterColumn(None, "id")}),
        (
            "SELECT 1 FROM t WHERE id IN ($1, $2)",
            {1: ParameterColumn(None, "id"), 2: ParameterColumn(None, "id")},
        ),
        (
            "SELECT 1 FROM t WHERE id BETWEEN $1 AND $2",
            {1: ParameterColumn(None, "id"), 2: ParameterColumn(None, "id")},
        ),
        ("SELECT 1 FROM t ORDER BY id LIMIT $1 OFFSET $2", {1: None, 2: None}),
        (
            "INSERT INTO t (id, kind) VALUES ($1, $2)",
            {1: ParameterColumn("t", "id"), 2: ParameterColumn("t", "kind")},
        ),
        (
            "UPDATE t SET kind = $1 WHERE id = $2",
            {1: ParameterColumn("t", "kind"), 2: ParameterColumn(None, "id")},
        ),
        ("SELECT 1 FROM t WHERE id = ANY ($1)", {}),
        ("SELECT 1 FROM t WHERE d > now() - $1::interval", {}),
        ("SELECT f($1) FROM t", {}),
        (
            "SELECT 1 FROM t WHERE id IN (SELECT id FROM u WHERE u.k = $1)",
            {1: ParameterColumn("u", "k")},
        ),
    ],
)
def test_the_column_of_a_value_is_found(
    text: str, columns: Mapping[int, ParameterColumn | None]
) -> None:
    found = parameter_columns(text)
    assert found is not None
    assert dict(found.columns) == dict(columns)


def test_values_follow_the_statistics_of_their_columns() -> None:
    asked = [CountedStatement("SELECT id FROM t WHERE id = $1 AND kind = $2 LIMIT $3", 7, 1.4)]
    mix = mix_of_counted(asked, known, seed=1)
    [kind] = mix.kinds
    assert (kind.count, kind.seconds, len(kind.rows)) == (7, 1.4, ROWS)
    bounds = {str(n) for n in range(0, 101, 10)}
    assert {row[0] for row in kind.rows} == bounds
    shares = Counter(row[1] for row in kind.rows)
    # 750 of 1,000; 5 standard deviations are 68.
    assert abs(shares["a"] - 750) < 70
    assert {row[2] for row in kind.rows} == {"10"}


def test_what_has_no_values_to_draw_is_left_out_with_its_share() -> None:
    asked = [
        CountedStatement("SELECT 1 FROM t WHERE id = $1", 10, 1.0),
        CountedStatement("SELECT f($1)", 2, 0.2),
        CountedStatement("SELECT 1 FROM t WHERE empty = $1", 3, 0.3),
        CountedStatement("SELECT 1 FROM u WHERE other = $1", 4, 0.4),
        CountedStatement("BEGIN", 5, 0.0),
        CountedStatement("SET work_mem = $1", 1, 0.0),
        CountedStatement("SELECT count(*) FROM t", 6, 0.6),
    ]
    mix = mix_of_counted(asked, known)
    assert [kind.count for kind in mix.kinds] == [10, 6]
    assert mix.ledger.total == 2 + 3 + 4 + 5 + 1
    assert mix.statements == 31
