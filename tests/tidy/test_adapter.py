"""An engine is known to its adapter only: client library, classes, views, builds, addresses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tidy.syntax import nodes_of

PACKAGE = "python/steelyard/"
ADAPTERS = {
    PACKAGE + "engines/postgres/": "psycopg",
    PACKAGE + "engines/mysql/": "pymysql",
}
"""Where an engine is known, and its client library, which no other place imports."""
_ROOMS = ("steelyard.engines.postgres", "steelyard.engines.mysql")
COMPOSITION_POINTS = {
    PACKAGE + "engines/adapters.py": "selects by an engine's name, and by what a server speaks",
    PACKAGE + "cli/commands/drill.py": "names the places of a drill",
    PACKAGE + "cli/commands/upgrade.py": "rehearses an upgrade of PostgreSQL",
    PACKAGE + "cli/commands/engines.py": "lists, adds and removes builds",
    PACKAGE + "cli/commands/workloads.py": "loads with a build that is named",
    PACKAGE + "cli/commands/workloads_capture.py": "asks a server what it counted",
    PACKAGE + "cli/options/drive_options.py": "reads a libpq connection string",
    PACKAGE + "cli/options/address_options.py": "reads connection strings",
    PACKAGE + "cli/options/arm_options.py": "reads a postgresql.conf",
    PACKAGE + "cli/options/source_options.py": "takes a base backup of a running server",
    PACKAGE + "cli/options/weigh_options.py": "compares two directories of programs",
    PACKAGE + "cli/views/host_view.py": "lists builds",
    PACKAGE + "cli/views/upgrades/": "words an upgrade of PostgreSQL",
    PACKAGE + "cli/weighing/upgrade.py": "weighs what an upgrade of PostgreSQL changes",
    PACKAGE + "integrity/": "reads and damages PostgreSQL's own files",
}
"""Files and rooms that may import the adapter, and for what."""

OF_ONE_ENGINE = re.compile(PACKAGE + r"(?:workloads/[^/]+/.*\.(?:sql|toml)|studies/[^/]+\.toml)$")
"""A workload's own statements, in the dialects that it has; a study, which sets its engine's
settings and loads its modules."""

_CLASSES = re.compile(r"^(?:Postgres|Cluster|Mysql|MysqlInstance)$")
_VIEWS = re.compile(
    r"\b(?:pg_stat_\w+|pg_statio_\w+|pg_catalog|pg_class|pg_attribute|pg_database|pg_settings"
    r"|pg_current_wal\w*|pg_is_in_recovery|pg_backend_pid)\b"
)

_CONNECTION_STRING = re.compile(r"\b(?:dbname|sslmode)=|\bPG(?:HOST|PORT|USER|DATABASE|OPTIONS)\b")
_CLIENT_FLAGS = {"-h", "-U"}


def client_library_imports(path: str, text: str) -> Iterator[str]:
    for line, module in _imports(text):
        name = module.partition(".")[0]
        room = next((room for room, library in ADAPTERS.items() if library == name), None)
        if room is not None and not path.startswith(room):
            yield f"{path}:{line}: {name} is not used here; use a protocol of engines/engine.py"


def adapter_imports(path: str, text: str) -> Iterator[str]:
    if path.startswith(tuple(COMPOSITION_POINTS)):
        return
    for line, module in _imports(text):
        if module.startswith(_ROOMS):
            yield f'{path}:{line}: "{module}" is not used here; use engines/adapters.py'


def class_checks(path: str, text: str) -> Iterator[str]:
    for node in nodes_of(text):
        called = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and called == "isinstance" and len(node.args) == 2:
            names = [getattr(n, "id", getattr(n, "attr", "")) for n in ast.walk(node.args[1])]
            for name in filter(_CLASSES.match, names):
                yield f'{path}:{node.lineno}: "{name}" is not used here; use a protocol'


def view_names(path: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), start=1):
        if found := _VIEWS.search(line):
            yield f'{path}:{number}: "{found[0]}" is not used here; use the adapter\'s sql/'


def libpq_addresses(path: str, text: str) -> Iterator[str]:
    """Connection strings of libpq, and the options by which its programs find a server."""
    if path.startswith(tuple(COMPOSITION_POINTS)):
        return
    for node in nodes_of(text):
        if isinstance(node, ast.List | ast.Tuple):
            words = {one.value for one in node.elts if isinstance(one, ast.Constant)}
            found = words >= _CLIENT_FLAGS and "-h"
        else:
            said = isinstance(node, ast.Constant) and isinstance(node.value, str)
            match = _CONNECTION_STRING.search(node.value) if said else None
            found = match and match[0]
        if found:
            yield f'{path}:{node.lineno}: "{found}" is not used here; use the adapter\'s libpq/'


def _imports(text: str) -> Iterator[tuple[int, str]]:
    for node in nodes_of(text):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""
            if node.module == "steelyard.engines":
                yield from ((node.lineno, f"{node.module}.{a.name}") for a in node.names)


def _outside(tree: Any, *suffixes: str) -> Iterator[tuple[str, str]]:
    for path, text in tree.ending(*suffixes):
        if path.startswith(PACKAGE) and not path.startswith(tuple(ADAPTERS)):
            yield path, text


@pytest.mark.long
def test_no_stage_imports_a_client_library_or_an_adapter(tree: Any) -> None:
    own = [(path, text) for path, text in tree.ending(".py") if path.startswith(PACKAGE)]
    found = [m for p, t in own for m in client_library_imports(p, t)]
    found += [m for p, t in _outside(tree, ".py") for m in adapter_imports(p, t)]
    assert not found, "\n" + "\n".join(found)


def test_no_stage_asks_which_engine_a_server_is(tree: Any) -> None:
    found = [m for path, text in _outside(tree, ".py") for m in class_checks(path, text)]
    assert not found, "\n" + "\n".join(found)


def test_no_stage_names_a_view_of_postgresql(tree: Any) -> None:
    files = _outside(tree, ".py", ".sql", ".toml", ".j2")
    found = [m for p, t in files if not OF_ONE_ENGINE.match(p) for m in view_names(p, t)]
    assert not found, "\n" + "\n".join(found)


def test_no_stage_writes_an_address_in_the_words_of_libpq(tree: Any) -> None:
    found = [m for path, text in _outside(tree, ".py") for m in libpq_addresses(path, text)]
    assert not found, "\n" + "\n".join(found)


def test_every_composition_point_is_needed(tree: Any) -> None:
    """What has been mended leaves the list."""
    python = [(path, text) for path, text in tree.ending(".py") if path.startswith(PACKAGE)]
    for place in COMPOSITION_POINTS:
        inside = [text for path, text in python if path.startswith(place)]
        modules = [module for text in inside for _, module in _imports(text)]
        assert any(module.startswith(_ROOMS) for module in modules), place


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import psycopg", 1),
        ("def f():\n    from psycopg.rows import dict_row", 1),
        ("import pymysql", 1),
        ("import psycopgbouncer", 0),
    ],
)
def test_the_rule_sees_the_client_library(text: str, expected: int) -> None:
    assert len(list(client_library_imports("running/a.py", text))) == expected


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("running/a.py", "from steelyard.engines.postgres.postgres import Postgres", 1),
        ("running/a.py", "def f():\n    from steelyard.engines import postgres", 1),
        ("running/a.py", "from steelyard.engines.mysql.mysql import Mysql", 1),
        ("running/a.py", "from steelyard.engines.adapters import adapter", 0),
        ("engines/adapters.py", "from steelyard.engines.postgres import adapter", 0),
    ],
)
def test_the_rule_sees_the_adapter_outside_composition_points(
    path: str, text: str, expected: int
) -> None:
    assert len(list(adapter_imports(PACKAGE + path, text))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if isinstance(engine, Postgres): ...", 1),
        ("if isinstance(x, (int, module.Cluster)): ...", 1),
        ("if isinstance(engine, Clonable): ...", 0),
    ],
)
def test_the_rule_sees_questions_for_a_class(text: str, expected: int) -> None:
    assert len(list(class_checks("running/a.py", text))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('q = "SELECT 1 FROM pg_stat_wal"', 1),
        ("SELECT pg_current_wal_insert_lsn()", 1),
        ('"""As pg_settings says."""', 1),
        ('program = "pg_basebackup"', 0),
    ],
)
def test_the_rule_sees_views(text: str, expected: int) -> None:
    assert len(list(view_names("report/a.py", text))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('f"host={self.host} port={self.port} dbname={self.database}"', 1),
        ('["-h", self.host, "-p", str(self.port), "-U", self.user]', 1),
        ('environ["PGHOST"]', 1),
        ('option("-d", "--dbname")', 0),
        ('["sort", "-h"]', 0),
    ],
)
def test_the_rule_sees_addresses_in_the_words_of_libpq(text: str, expected: int) -> None:
    assert len(list(libpq_addresses("model/endpoint.py", text))) == expected
