"""Small files of others are read by one function, within bounds: model/files/small_file.py."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import pytest

from tidy.syntax import nodes_of

PACKAGE = "python/steelyard/"
ROOMS = (
    PACKAGE + "study/",
    PACKAGE + "reproductions/",
    PACKAGE + "workloads/reading/",
    PACKAGE + "fleet/matrix/matrix.py",
    PACKAGE + "cli/driving/",
    PACKAGE + "cli/options/",
    PACKAGE + "engines/postgres/intake/",
    PACKAGE + "engines/postgres/sql/relation_files.py",
    PACKAGE + "integrity/scrub/backup/archive_paths.py",
)
"""Rooms and files that read what a user or a stranger has written."""
EXCEPTIONS = {
    PACKAGE + "cli/options/source_options.py": "writes",
    PACKAGE + "engines/postgres/intake/base_backup.py": "reads /proc",
    PACKAGE + "engines/postgres/intake/configuration_file.py": "reads includes, within its limits",
    PACKAGE + "engines/postgres/intake/copying.py": "copies what was opened by descriptor",
    PACKAGE + "engines/postgres/intake/dumps/archive.py": "reads a dump as a stream",
    PACKAGE + "engines/postgres/intake/dumps/format.py": "reads a dump as a stream",
    PACKAGE + "engines/postgres/intake/dumps/session.py": "reads /proc",
    PACKAGE + "engines/postgres/intake/manifest.py": "reads by lines, within a limit",
    PACKAGE + "engines/postgres/intake/place.py": "reads what was opened by descriptor",
}
"""This list only shrinks."""
_READS = frozenset({"read_text", "read_bytes", "open", "fdopen"})
_PARSES = frozenset({("tomllib", "loads"), ("tomllib", "load"), ("json", "load")})


def unbounded_reads(path: str, text: str) -> Iterator[str]:
    if not path.startswith(ROOMS) or path in EXCEPTIONS:
        return
    for node in nodes_of(text):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        owner = getattr(called.value, "id", "") if isinstance(called, ast.Attribute) else ""
        if name in _READS or (owner, name) in _PARSES:
            yield (
                f"{path}:{node.lineno}: {name}() is not used here; use read_small and parse_toml "
                "of model/files/small_file.py"
            )


def test_small_files_of_others_are_read_within_bounds(tree: Any) -> None:
    python = tree.ending(".py")
    assert [words for path, text in python for words in unbounded_reads(path, text)] == []


def test_what_is_excepted_is_there(tree: Any) -> None:
    assert [path for path in EXCEPTIONS if not tree.text(path)] == []


@pytest.mark.parametrize(
    "call",
    [
        'Path("a").read_text()',
        "file.read_bytes()",
        'open("a")',
        'Path("a").open("rb")',
        "tomllib.loads(text)",
        "json.load(file)",
        "os.open(file, 0)",
    ],
)
def test_a_bare_read_is_noticed(call: str) -> None:
    assert list(unbounded_reads(PACKAGE + "study/read.py", f"x = {call}\n"))
    assert not list(unbounded_reads(PACKAGE + "telemetry/host.py", f"x = {call}\n"))
