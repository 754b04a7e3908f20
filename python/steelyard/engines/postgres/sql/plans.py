"""Reads the plan of every statement that a script would execute, without executing any."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from steelyard.engines.postgres.sql.session import connect
from steelyard.model.script_text import VARIABLE, split_statements, without_commands

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
