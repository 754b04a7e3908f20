"""Reads the plan of every statement that a script would execute, without executing any."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from steelyard.engines.mysql.sql.session import connected, words_of
from steelyard.model.endpoint import Endpoint
from steelyard.model.files.bounded_json import parse_json

if TYPE_CHECKING:
    from pymysql.connections import Connection

_PLANNED = re.compile(
    r"[\s(]*(?:select|insert|update|delete|replace|with|table|values)\b", re.IGNORECASE
)
_PIECES = re.compile(
    r"'(?:[^'\\]|''|\\.)*'"  # a string: pgbench would substitute inside, a plan does not need it
    r'|"(?:[^"\\]|""|\\.)*"'
    r"|`[^`]*`"
    # Hints for the optimizer, and what servers execute of a comment, are part of the statement.
    r"|/\*(?:\+|M?!).*?\*/"
    r"|(?P<comment>--(?=\s|\Z)[^\n]*|\#[^\n]*|/\*.*?\*/)"
    r"|(?P<assigned>@?:=)"
    r"|:(?P<variable>[A-Za-z_][A-Za-z0-9_]*)"
    # A backslash command ends the statement before it, as \gset does that stores its answer.
    r"|(?P<end>;|\\;|\\(?:[^\n]*\\\n)*[^\n]*)",
    re.DOTALL,
)
_UNPLANNED = "cannot be planned"
_CHANGING = frozenset({"query_cost", "read_cost", "eval_cost", "prefix_cost", "sort_cost", "cost"})
_CHANGING_ROWS = frozenset({"rows", "rows_examined_per_scan", "rows_produced_per_join"})
_ESTIMATED = frozenset({"estimated_first_row_cost", "estimated_rows", "estimated_total_cost"})
"""Of explain_json_format_version 2, which MySQL 8.3 brought."""
_SAMPLED = (
    _CHANGING | _CHANGING_ROWS | _ESTIMATED | {"data_read_per_join", "filtered", "cost_info"}
    | {"loops"}  # of MariaDB 11: the rows of the tables before
)  # fmt: skip
"""Of a plan in JSON, what is estimated from a sample of pages: left out, as costs are."""


def statements(script: str) -> Iterator[tuple[str, str, int]]:
    """(as the script has it, with `?` for each `:variable`, how many of those) of the statements
    that have a plan."""
    written: list[str] = []
    prepared: list[str] = []
    position = count = 0
    for piece in _PIECES.finditer(script + "\n;"):
        between = script[position : piece.start()]
        written.append(between)
        prepared.append(between)
        position = piece.end()
        if piece["variable"]:
            written.append(piece[0])
            prepared.append("?")
            count += 1
        elif piece["end"] is None:
            text = " " if piece["comment"] else piece[0]
            written.append(text)
            prepared.append(text)
        else:
            if _PLANNED.match("".join(prepared)):
                yield "".join(written).strip(), "".join(prepared).strip(), count
            written, prepared, count = [], [], 0


def read_plans(address: Endpoint, scripts: Mapping[str, str]) -> dict[str, str]:
    """The plan of each statement of each script (name → text), by `script: statement`, in JSON
    without its estimates. Each variable is 1: InnoDB looks into the index for the value it is
    given, so a plan is that of the value. A statement that cannot be planned, such as a CALL, has
    no plan; one that the server refuses has its message."""
    with connected(address) as connection:
        return {
            f"{name}: {' '.join(written.split())}": _plan(connection, prepared, count)
            for name, script in scripts.items()
            for written, prepared, count in statements(script)
        }


def _plan(connection: Connection[Any], statement: str, count: int) -> str:
    import pymysql

    arguments = ", ".join("@steelyard_one" for _ in range(count))
    with connection.cursor() as cursor:
        try:
            cursor.execute("SET @steelyard_one = 1")
            cursor.execute("PREPARE steelyard_plan FROM %s", (f"EXPLAIN FORMAT=JSON {statement}",))
            cursor.execute("EXECUTE steelyard_plan" + (f" USING {arguments}" if arguments else ""))
            [(text,)] = cursor.fetchall()
            cursor.execute("DEALLOCATE PREPARE steelyard_plan")
        except pymysql.MySQLError as refusal:
            return f"{_UNPLANNED}: {words_of(refusal)}"
    try:
        return json.dumps(_without_estimates(parse_json(text)), indent=1)
    except ValueError:  # MariaDB does not escape the quotes of a condition
        return str(text)


def _without_estimates(plan: Any) -> Any:
    if isinstance(plan, list):
        return [_without_estimates(part) for part in plan]
    if not isinstance(plan, dict):
        return plan
    return {name: _without_estimates(part) for name, part in plan.items() if name not in _SAMPLED}
