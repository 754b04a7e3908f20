"""Reads the plan of every statement of a script, to compare arms by plan."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from steelyard.engines.postgres.sql.session import connect

_PLANNED = re.compile(r"\s*(select|insert|update|delete|merge|values|with)\b", re.IGNORECASE)
_PIECES = re.compile(
    r"'(?:[^']|'')*'"  # a string: pgbench would substitute inside, a plan does not need it
    r'|"(?:[^"]|"")*"'
    r"|--[^\n]*"
    r"|::"  # a cast, not a variable
    r"|:(?P<variable>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<end>;)"
)


def statements(script: str) -> list[str]:
    """The statements of a pgbench script that have a plan, `:variables` as `$1`, `$2`, ...

    Backslash commands and transaction control are left out.
    """
    text = re.sub(r"^\s*\\(?:[^\n]*\\\n)*[^\n]*$", "", script, flags=re.MULTILINE)
    found: list[str] = []
    current: list[str] = []
    slots: dict[str, int] = {}
    position = 0
    for piece in _PIECES.finditer(text + ";"):
        current.append(text[position : piece.start()])
        position = piece.end()
        if name := piece["variable"]:
            current.append(f"${slots.setdefault(name, len(slots) + 1)}")
        elif piece["end"] is None:
            current.append("" if piece[0].startswith("--") else piece[0])
        else:
            statement = "".join(current).strip()
            if _PLANNED.match(statement):
                found.append(statement)
            current, slots = [], {}
    return found


def read_plans(conninfo: str, scripts: Mapping[str, str]) -> dict[str, str]:
    """The generic plan of each statement of each script (name -> text), by `script: statement`.

    Nothing is executed. Costs are left out: clones have the same statistics, and separate loads
    differ in sampling without differing in plan. PREPARE with forced generic plans works on every
    version; EXPLAIN (GENERIC_PLAN) only from 16 on. A statement that cannot be planned has the
    server's message in place of a plan.
    """
    plans: dict[str, str] = {}
    with connect(conninfo) as connection:
        connection.execute("SET plan_cache_mode = force_generic_plan")
        for name, script in scripts.items():
            for statement in statements(script):
                plans[f"{name}: {' '.join(statement.split())}"] = _plan(connection, statement)
    return plans


def _plan(connection: Any, statement: str) -> str:
    import psycopg

    try:
        connection.execute(f"PREPARE steelyard_plan AS {statement}")
    except psycopg.Error as refusal:
        return f"cannot be planned: {str(refusal).splitlines()[0]}"
    try:
        count = len(set(re.findall(r"\$\d+", statement)))
        nothing = f"({', '.join(['NULL'] * count)})" if count else ""
        rows = connection.execute(f"EXPLAIN (COSTS OFF) EXECUTE steelyard_plan{nothing}").fetchall()
        return "\n".join(row[0] for row in rows)
    finally:
        connection.execute("DEALLOCATE steelyard_plan")
