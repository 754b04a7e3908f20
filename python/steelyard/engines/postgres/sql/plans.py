"""Reads the plan of every statement that a script would execute, without executing any; and has
single statements explained, with what their execution costs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from steelyard.engines.postgres.sql.session import connect
from steelyard.model.script_text import VARIABLE, split_statements, without_commands

if TYPE_CHECKING:
    import psycopg

_PLANNED = re.compile(
    r"(?:[\s(]|/\*.*?\*/)*(?:select|insert|update|delete|merge|values|with|table)\b",
    re.IGNORECASE | re.DOTALL,
)
_NAME = r"[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*"
_PIECES = re.compile(
    r"\b[eE]'(?:[^'\\]|''|\\.)*'"
    r"|'(?:[^']|'')*'"  # a string: pgbench would substitute inside, a plan does not need it
    r'|"(?:[^"]|"")*"'
    rf"|(?<![\w$])\$(?P<tag>(?:{_NAME})?)\$.*?\$(?P=tag)\$"
    r"|/\*\+.*?\*/"  # hints of pg_hint_plan
    r"|(?P<comment>--[^\n]*|/\*(?:[^*/]|\*(?!/)|/(?!\*)|/\*.*?\*/)*\*/)"
    r"|::"  # a cast, not a variable
    rf"|:(?P<variable>{_NAME})",
    re.DOTALL,
)
_PARAMETER = re.compile(r"\$\d+")
_UNPLANNED = "cannot be planned"


def statements(script: str) -> list[str]:
    """The statements of a pgbench script that have a plan, `:variables` as `$1`, `$2`, ...

    They are cut as the driver cuts them, each of them alone: what follows one would be executed
    with it. Backslash commands and transaction control are left out, and what cannot be cut.
    """
    planned = map(_with_parameters, _cut(without_commands(script)))
    return [text for text in planned if _PLANNED.match(text) and len(_cut(text)) == 1]


def _cut(text: str) -> list[str]:
    """Its statements, with their variables by name; none where it cannot be cut."""
    by_name = {name: f":{name}" for name in VARIABLE.findall(text)}
    try:
        return split_statements("plan", text, by_name)
    except ValueError:
        return []


def _with_parameters(statement: str) -> str:
    """A statement without its semicolon and its comments, each variable a parameter."""
    slots: dict[str, int] = {}

    def replacement(piece: re.Match[str]) -> str:
        if name := piece["variable"]:
            return f"${slots.setdefault(name, len(slots) + 1)}"
        return " " if piece["comment"] else piece[0]

    return _PIECES.sub(replacement, statement.rstrip().removesuffix(";")).strip()


def read_plans(conninfo: str, scripts: Mapping[str, str]) -> dict[str, str]:
    """The generic plan of each statement of each script (name -> text), by `script: statement`.

    Nothing is executed. Costs are left out: clones have the same statistics, and separate loads
    differ in sampling without differing in plan. PREPARE with forced generic plans works on every
    version; EXPLAIN (GENERIC_PLAN) only from 16 on. A statement that cannot be planned has the
    server's message in place of a plan.
    """
    with connect(conninfo) as connection:
        return plans_in(connection, scripts)


def plans_in(session: Any, scripts: Mapping[str, str]) -> dict[str, str]:
    """The plans as an open session makes them, which plans generically from then on."""
    plans: dict[str, str] = {}
    session.execute("SET plan_cache_mode = force_generic_plan")
    for name, script in scripts.items():
        for statement in statements(script):
            plans[f"{name}: {' '.join(statement.split())}"] = _plan(session, statement)
    return plans


def _plan(connection: Any, statement: str) -> str:
    import psycopg

    try:
        connection.execute(f"PREPARE steelyard_plan AS {statement}")
    except psycopg.Error as refusal:
        # A variable that is used as two types is two parameters to the load driver.
        apart = _one_parameter_each(statement)
        if apart != statement:
            return _plan(connection, apart)
        return f"{_UNPLANNED}: {str(refusal).splitlines()[0]}"
    try:
        count = len(set(_PARAMETER.findall(statement)))
        nothing = f"({', '.join(['NULL'] * count)})" if count else ""
        rows = connection.execute(f"EXPLAIN (COSTS OFF) EXECUTE steelyard_plan{nothing}").fetchall()
        return "\n".join(row[0] for row in rows)
    except psycopg.Error as refusal:
        return f"{_UNPLANNED}: {str(refusal).splitlines()[0]}"
    finally:
        connection.execute("DEALLOCATE steelyard_plan")


def _one_parameter_each(statement: str) -> str:
    """The statement with a parameter of its own wherever one stands."""
    parts = _PARAMETER.split(statement)
    return "".join(f"{part}${number}" for number, part in enumerate(parts[:-1], 1)) + parts[-1]


COUNTED = {
    "wal_records": "WAL Records",
    "wal_full_page_images": "WAL FPI",
    "wal_bytes": "WAL Bytes",
    "blocks_hit": "Shared Hit Blocks",
    "blocks_read": "Shared Read Blocks",
    "blocks_dirtied": "Shared Dirtied Blocks",
}
_PLAIN = (
    # The only way to these rows is their key: whatever reads a page at once would touch all rows.
    "SET enable_seqscan = off",
    "SET enable_bitmapscan = off",
    "SET enable_hashjoin = off",
    "SET enable_mergejoin = off",
    "SET enable_memoize = off",
    "SET max_parallel_workers_per_gather = 0",
    "SET jit = off",
)


class PostgresProber:
    """A connection on which statements are explained; implements Prober."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        for setting in _PLAIN:
            connection.execute(setting.encode())

    def explain(self, settings: Sequence[str], query: str) -> dict[str, int]:
        """Counter → amount of one execution, with settings that hold for it alone."""
        explained = f"EXPLAIN (ANALYZE, BUFFERS, WAL, FORMAT JSON) {query}"
        with self._connection.transaction():
            for setting in settings:
                self._connection.execute(setting.encode())
            row = self._connection.execute(explained.encode()).fetchone()
        assert row is not None  # EXPLAIN answers with one row of JSON
        return _counts(row[0][0]["Plan"])


def _counts(plan: Mapping[str, object]) -> dict[str, int]:
    return {name: int(str(plan.get(key, 0))) for name, key in COUNTED.items()}
