"""What a server only counted becomes a mix, its values drawn from the planner's statistics."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pglast import parse_sql, parser
from pglast.parser import scan

from steelyard.cli.views.workload_view import capture_lines, captured_json
from steelyard.engines.postgres.sql.capture_source import ColumnStatistics, CountedStatement
from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.ledger import StatementOutcome
from steelyard.workloads.capturing.mix import TransactionKind
from steelyard.workloads.capturing.parameter_columns import (
    ROWS,
    ParameterColumn,
    mix_of_counted,
    parameter_columns,
)
from steelyard.workloads.capturing.shapes import _levels, parsed_statements, shape_of
from steelyard.workloads.capturing.writing import write_workload
from thinned import thinned

COLUMNS = (
    ColumnStatistics("public", "t", "id", 0.0, (), (), tuple(str(n) for n in range(0, 101, 10))),
    ColumnStatistics("public", "t", "kind", 0.0, ("a", "b"), (0.75, 0.25), ()),
    ColumnStatistics("public", "t", "empty", 1.0, (), (), ()),
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
        ("SELECT 1 FROM t ORDER BY id LIMIT $1", {1: None}),
        ("SELECT 1 FROM t FETCH FIRST $1 ROWS ONLY", {1: None}),
        ("SELECT 1 FROM t LIMIT $1::bigint", {1: None}),
        # How many were passed over, or came out of a part, is not counted.
        ("SELECT 1 FROM t ORDER BY id LIMIT $1 OFFSET $2", {}),
        ("SELECT 1 FROM t ORDER BY id FETCH FIRST $1 ROWS WITH TIES", {}),
        ("SELECT 1 FROM (SELECT id FROM t LIMIT $1) AS x", {}),
        ("DELETE FROM t WHERE id IN (SELECT id FROM t LIMIT $1)", {}),
        ("SELECT 1 FROM t LIMIT $1 + $2", {}),
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
        # What is added to a column, or matched with it, is no value of it.
        *((f"SELECT 1 FROM t WHERE id {sign} $1 = $2", {}) for sign in "+-*/%^&|#"),
        *(
            (f"SELECT 1 FROM t WHERE words {sign} $1", {})
            for sign in ("LIKE", "NOT ILIKE", "SIMILAR TO", "~", "@@", "@>", "<@", "&&", "?", "^@")
        ),
        ("SELECT words || $1, words ->> $2, id <-> $3 FROM t", {}),
        ("SELECT 1 FROM t WHERE d > now() - $1 AND id < $2 + $3", {}),
        ("UPDATE t SET bal = bal + $1, id = $2 * id", {}),
        (
            "UPDATE t SET bal = coalesce($1, bal), kind = CASE WHEN id = $2 THEN $3 ELSE $4 END",
            {
                1: ParameterColumn("t", "bal"),
                3: ParameterColumn("t", "kind"),
                4: ParameterColumn("t", "kind"),
                2: ParameterColumn(None, "id"),
            },
        ),
        (
            "UPDATE t AS x SET (kind, id) = ($1, $2)",
            {1: ParameterColumn("t", "kind"), 2: ParameterColumn("t", "id")},
        ),
        (
            "SELECT 1 FROM t WHERE id <> $1 AND id IS DISTINCT FROM $2 AND nullif(id, $3) >= $4",
            {n: ParameterColumn(None, "id") for n in (1, 2, 3)},
        ),
        ("SELECT 1 FROM t WHERE id OPERATOR(pg_catalog.=) $1", {1: ParameterColumn(None, "id")}),
        ("SELECT 1 FROM a.t WHERE t.id = $1", {1: ParameterColumn("t", "id", "a")}),
        (
            "SELECT 1 FROM a.t JOIN b.t ON a.t.id = $1 AND b.t.id = $2",
            {1: ParameterColumn("t", "id", "a"), 2: ParameterColumn("t", "id", "b")},
        ),
        ("INSERT INTO a.t AS x (id) VALUES ($1)", {1: ParameterColumn("t", "id", "a")}),
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


CHAINS = {
    "added": ("SELECT $1", " + $1", ""),
    "joined": ("SELECT a", " || a", ""),
    "cast": ("SELECT $1", "::int", ""),
    "of rows": ("INSERT INTO t SELECT $1, $2", " UNION ALL SELECT $1, $2", ""),
    "of tables": ("SELECT 1 FROM t", " JOIN u USING (a, b)", ""),
    "in brackets": ("SELECT 1, (2, 3 + ($1", " - f(1, 2)", "))"),
    "of conditions": ("SELECT 1 FROM t WHERE a", " IS NOT NULL", ""),
}


@thinned(("beginning", "more", "end"), CHAINS.values(), 1, ids=CHAINS)
def test_a_long_chain_of_operators_is_read_and_none_ends_the_process(
    beginning: str, more: str, end: str
) -> None:
    assert parameter_columns(f"{beginning}{3000 * more}{end}") is not None
    assert shape_of(f"{beginning}{3000 * more}{end}") is not None
    assert parameter_columns(f"{beginning}{60_000 * more}{end}") is None
    assert shape_of(f"{beginning}{60_000 * more}{end}") is None


@pytest.mark.long
def test_long_lists_are_no_chains() -> None:
    rows = ", ".join(["(-1::int, coalesce(1 + 2, - 3) || 'a')"] * 3000)
    assert shape_of(f"INSERT INTO t VALUES {rows}") is not None
    conditions = " OR ".join(["a IS NULL AND (b = -1 OR c <> 'x'::text)"] * 3000)
    assert shape_of(f"SELECT 1 FROM t WHERE {conditions}") is not None


@pytest.mark.parametrize("terms", [1, 1500, 3000])
@pytest.mark.parametrize("read", [shape_of, parsed_statements])
def test_a_text_is_scanned_once_however_long_it_is(
    read: Callable[[str], object], terms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3,000 terms are more letters than may be parsed unseen, and no deeper than may be parsed."""
    scans: list[str] = []

    def counting(text: str) -> Sequence[object]:
        scans.append(text)
        return scan(text)

    monkeypatch.setattr(parser, "scan", counting)
    text = f"SELECT {' + '.join(['1'] * terms)} AS {read.__name__}"
    assert read(text) is not None
    assert len(scans) <= 1


LEAVES = st.sampled_from(["1", "$1", "a.b", "'x'", "f(a, 1)", "ARRAY[1, 2]", "x[1]"])
TERMS = st.recursive(
    LEAVES,
    lambda terms: st.one_of(
        st.builds("{} {} {}".format, terms, st.sampled_from(["+", "-", "||", "*", "%"]), terms),
        st.builds("({}, {})".format, terms, terms),
        st.builds("({})".format, terms),
        st.builds("f({}, {})".format, terms, terms),
        st.builds("({})::int".format, terms),
        st.builds("({} IS NOT NULL AND {} OR NOT {})".format, terms, terms, terms),
        st.builds("CASE WHEN {} THEN {} ELSE {} END".format, terms, terms, terms),
        st.builds("(SELECT {} FROM t JOIN u USING (a) UNION SELECT {})".format, terms, terms),
        st.builds("ARRAY[{}, - {}]".format, terms, terms),
    ),
    max_leaves=30,
)


@given(TERMS)
def test_no_tree_is_deeper_than_its_tokens_say(term: str) -> None:
    parsed = parse_sql(f"SELECT {term}")
    assert _chain(parsed[0].stmt) <= 1 + _levels(scan(f"SELECT {term}"))


def _chain(node: object) -> int:
    """Nodes of operators on the longest way down."""
    if isinstance(node, tuple):
        return max(map(_chain, node), default=0)
    names = getattr(node, "__slots__", None) or ()
    counts = type(node).__name__ in (
        *("A_Expr", "TypeCast", "CollateClause", "NullTest", "JoinExpr", "SelectStmt"),
    )
    return counts + max((_chain(getattr(node, name, None)) for name in names), default=0)


def test_values_follow_the_statistics_of_their_columns() -> None:
    asked = [CountedStatement("SELECT id FROM t WHERE id = $1 AND kind = $2 LIMIT $3", 7, 1.4, 22)]
    mix = mix_of_counted(asked, known, seed=1)
    [kind] = mix.kinds
    assert (kind.count, kind.seconds, len(kind.rows)) == (7, 1.4, ROWS)
    bounds = {str(n) for n in range(0, 101, 10)}
    assert {row[0] for row in kind.rows} == bounds
    shares = Counter(row[1] for row in kind.rows)
    # 750 of 1,000; 5 standard deviations are 68.
    assert abs(shares["a"] - 750) < 70
    assert {row[2] for row in kind.rows} == {"4"}


def test_what_has_no_values_to_draw_is_left_out_with_its_share() -> None:
    asked = [
        CountedStatement("SELECT 1 FROM t WHERE id = $1", 10, 1.0, 0),
        CountedStatement("SELECT f($1)", 2, 0.2, 0),
        CountedStatement("SELECT 1 FROM t WHERE empty = $1", 3, 0.3, 0),
        CountedStatement("SELECT 1 FROM u WHERE other = $1", 4, 0.4, 0),
        CountedStatement("BEGIN", 5, 0.0, 0),
        CountedStatement("SET work_mem = $1", 1, 0.0, 0),
        CountedStatement("SELECT count(*) FROM t", 6, 0.6, 0),
    ]
    mix = mix_of_counted(asked, known)
    assert [kind.count for kind in mix.kinds] == [10, 6]
    assert mix.ledger.total == 2 + 3 + 4 + 5 + 1
    assert mix.statements == 31


def test_what_the_server_does_not_show_is_left_out_by_name(tmp_path: Path) -> None:
    """Of other roles' statements it counts the calls, and shows no text."""
    asked = [CountedStatement("", 30, 1.0, 0), CountedStatement("SELECT count(*) FROM t", 10, 3, 0)]
    mix = mix_of_counted(asked, known)
    assert mix.ledger.statements == {StatementOutcome.HIDDEN: 30}
    mix.ledger.forgotten = 2
    captured = write_workload(mix, tmp_path / "made", name="made", source="counters")
    lines = list(capture_lines(captured))
    [left_out] = [line for line in lines if line.startswith("left out: 75.0 %")]
    assert "GRANT pg_read_all_stats" in left_out
    [note] = [line for line in lines if line.startswith("note: ")]
    assert "forgot statements 2 times" in note
    unknown = "how they came, and with which values, is not known"
    assert f"statements are sent as extended: {unknown}" in lines
    assert json.loads(captured_json(captured))["protocols"] == {}
    hidden = mix_of_counted(asked[:1], known)
    with pytest.raises(UsageError, match="nothing is left") as refused:
        write_workload(hidden, tmp_path / "none", name="none", source="counters")
    assert "GRANT pg_read_all_stats" in str(refused.value.hint)


def kind_of(text: str, rows: int = 0) -> TransactionKind | StatementOutcome:
    """What becomes of a statement that was called ten times."""
    mix = mix_of_counted([CountedStatement(text, 10, 1.0, rows)], known)
    [outcome] = [*mix.kinds, *(outcome for outcome, n in mix.ledger.statements.items() if n)]
    return outcome


@pytest.mark.parametrize(
    "text",
    [
        "START TRANSACTION", "start transaction isolation level serializable", "END", "ABORT",
        "COMMIT AND CHAIN", "SAVEPOINT a", "RELEASE a", "ROLLBACK TO a", "/* a */ END",
        "SAVEPOINT $1", "RELEASE $1", "ROLLBACK TO $1", "PREPARE TRANSACTION $1",
        "COMMIT PREPARED $1", "SET LOCAL a = $1", "SET CONSTRAINTS ALL DEFERRED",
        "SELECT pg_advisory_lock(id) FROM t WHERE id = $1", "SELECT set_config($1, $2, $3)",
    ],
)  # fmt: skip
def test_what_belongs_to_a_transaction_is_none(text: str) -> None:
    assert kind_of(text) is StatementOutcome.NO_SESSION


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("SELECT 1 FROM t WHERE id IN ($1 /*, ... */)", StatementOutcome.LIST_LENGTH),
        ("SELECT 1 FROM t WHERE id = $1 AND id IN ($2 /*, ... */)", StatementOutcome.LIST_LENGTH),
        ("SELECT 1 FROM t WHERE id = ANY (ARRAY[$1 /*, ... */])", StatementOutcome.LIST_LENGTH),
        ("SELECT 1 FROM t WHERE id + $1 = id", StatementOutcome.NO_COLUMN),
        ("SELECT 1 FROM t LIMIT $1 OFFSET $2", StatementOutcome.NO_COLUMN),
        ("SELECT 1 FROM t_102008 WHERE id OPERATOR(pg_catalog.=) $1", StatementOutcome.NODES),
        ("SELECT pg_reload_conf()", StatementOutcome.SERVER),
        ("ALTER SYSTEM SET a = $1", StatementOutcome.SERVER),
        ("ALTER SYSTEM RESET a", StatementOutcome.SERVER),
    ],
)
def test_what_is_not_counted_is_named(text: str, outcome: StatementOutcome) -> None:
    assert kind_of(text) is outcome


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 /*, ... */ FROM t WHERE id = $1", "SELECT 1 FROM t WHERE id IN ($1, $2)",
        'SELECT 1 AS "/*, ... */" FROM t WHERE id = $1',
        "SELECT 1 FROM t WHERE id = $1 /* a, ... */",
    ],
)  # fmt: skip
def test_a_comment_of_the_applications_is_no_list(text: str) -> None:
    assert isinstance(kind_of(text), TransactionKind)


@given(calls=st.integers(1, 10**6), rows=st.integers(0, 10**9))
def test_a_limit_lets_through_what_a_call_returned(calls: int, rows: int) -> None:
    mix = mix_of_counted([CountedStatement("SELECT id FROM t LIMIT $1", calls, 1.0, rows)], known)
    [limit] = {int(str(row[0])) for row in mix.kinds[0].rows}
    assert limit >= 1
    assert rows <= limit * calls < rows + calls or (rows, limit) == (0, 1)


def of_schema(schema: str, value: str, unqualified: bool) -> ColumnStatistics:
    return ColumnStatistics(schema, "t", "id", 0.0, (value,), (1.0,), (), unqualified)


@pytest.mark.parametrize(
    ("text", "visible", "drawn"),
    [
        ("SELECT 1 FROM a.t WHERE id = $1", "b", "of a"),
        ("SELECT 1 FROM b.t AS x WHERE x.id = $1", "a", "of b"),
        ("SELECT 1 FROM t WHERE id = $1", "b", "of b"),
        ("UPDATE a.t SET id = $1", "b", "of a"),
        ("SELECT 1 FROM t WHERE id = $1", "", None),
        ("SELECT 1 FROM c.t WHERE id = $1", "a", None),
        ("SELECT 1 FROM a.t JOIN b.t ON b.t.id = $1", "a", "of b"),
    ],
)
def test_tables_of_one_name_are_told_apart_by_schema(
    text: str, visible: str, drawn: str | None
) -> None:
    both = [of_schema(name, f"of {name}", visible == name) for name in ("a", "b")]
    mix = mix_of_counted([CountedStatement(text, 1, 1.0, 0)], lambda tables: both)
    if drawn is None:
        assert mix.ledger.statements == {StatementOutcome.NO_STATISTICS: 1}
    else:
        assert {row[-1] for kind in mix.kinds for row in kind.rows} == {drawn}


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        # A name means a table of its own query before those of the queries around it.
        ("SELECT 1 FROM t WHERE k IN (SELECT k FROM u WHERE id = $1)", "of u"),
        ("SELECT (SELECT k FROM u WHERE u.k = t.k) FROM t WHERE id = $1", "of t"),
        ("SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM v WHERE v.k = t.k AND id = $1)", "of t"),
        ("DELETE FROM t WHERE k IN (SELECT k FROM u WHERE id = $1)", "of u"),
        ("INSERT INTO t (k) SELECT k FROM u WHERE id = $1", "of u"),
        ("SELECT 1 FROM t WHERE k = 1 UNION SELECT 1 FROM u WHERE id = $1", "of u"),
        # Django calls the table of every query within another U0.
        (
            "SELECT 1 FROM v WHERE a IN (SELECT U0.k FROM t U0) "
            "AND b IN (SELECT U0.k FROM u U0 WHERE U0.id = $1)",
            "of u",
        ),
        ("SELECT 1 FROM t x WHERE k IN (SELECT x.k FROM u x) AND x.id = $1", "of t"),
        ("SELECT 1 FROM t x, LATERAL (SELECT 1 FROM u WHERE x.id = $1) y", "of t"),
        ("SELECT 1 FROM t x JOIN u y USING (k) WHERE y.id = $1 FOR UPDATE OF y", "of u"),
        # What a query in FROM or WITH returns is taken for a column of its tables.
        ("SELECT 1 FROM (SELECT id FROM u) AS x WHERE id = $1", "of u"),
        ("WITH x AS (SELECT id FROM u) SELECT 1 FROM x WHERE id = $1", "of u"),
    ],
)
def test_a_column_is_of_the_query_in_which_it_stands(text: str, drawn: str) -> None:
    both = [
        ColumnStatistics("public", name, "id", 0.0, (f"of {name}",), (1.0,), ())
        for name in ("t", "u")
    ]
    mix = mix_of_counted([CountedStatement(text, 1, 1.0, 0)], lambda tables: both)
    [kind] = mix.kinds
    assert {value for row in kind.rows for value in row if "of" in str(value)} == {drawn}
