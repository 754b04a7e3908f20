"""Files stay under 400 lines, functions under 70, code within 100 columns, rooms small."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from typing import Any

from tidy.syntax import nodes_of

FILE_LINES = 400
FUNCTION_LINES = 70
COLUMNS = 100
ROOM_FILES = 16
"""Sources that lie flat in a folder of the package or of a crate; more want sub-rooms."""
FULL_ROOMS = ("crates/script/src", "crates/pages/src")
"""Rooms that hold more still. This list only becomes shorter."""

CODE = (".py", ".pyi", ".rs", ".sql", ".toml", ".css", ".js", ".j2", ".html", "Makefile", ".ci/run")
PROSE = (".toml", ".j2", ".html")  # sentences for people: they are not cut at a column
EXEMPT = ("tests/golden/*", "python/steelyard/workloads/*/scripts/*")
"""What the program printed, and what is sent to servers to the letter, as pgbench sends it."""

_QUIET = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(\#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\[^']+|[^'\\])'""", re.DOTALL
)
_FUNCTION = re.compile(r"\bfn\s+(\w+)")


def lines_over(path: str, text: str) -> Iterator[str]:
    count = len(text.splitlines())
    if count > FILE_LINES:
        yield f"{path}: a file of {count} lines is not used here; name the missing noun and cut"


def rooms_over(paths: Iterable[str]) -> Iterator[str]:
    rooms = Counter(path.rpartition("/")[0] for path in paths)
    for room, count in sorted(rooms.items()):
        if count > ROOM_FILES and room not in FULL_ROOMS:
            yield f"{room}: {count} files in a room are not used here; use sub-rooms"


def columns_over(path: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), start=1):
        if len(line) > COLUMNS:
            yield f"{path}:{number}: {len(line)} columns are not used here; use at most {COLUMNS}"


def python_functions_over(path: str, text: str) -> Iterator[str]:
    for node in nodes_of(text):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield _long(path, node.lineno, node.name, length)


def rust_functions_over(path: str, text: str) -> Iterator[str]:
    quiet = _QUIET.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for function in _FUNCTION.finditer(quiet):
        start = quiet.count("\n", 0, function.start()) + 1
        length = quiet.count("\n", function.start(), _rust_end(quiet, function.end())) + 1
        if length > FUNCTION_LINES:
            yield _long(path, start, function[1], length)


def _rust_end(quiet: str, position: int) -> int:
    """Where the body that follows a signature closes, or the `;` of one without a body."""
    depth = {"{": 0, "(": 0}
    opening = {"}": "{", ")": "(", "]": "("}
    for offset in range(position, len(quiet)):
        letter = quiet[offset]
        if letter in "{([":
            depth["{" if letter == "{" else "("] += 1
        elif letter in opening:
            depth[opening[letter]] -= 1
            if letter == "}" and depth["{"] == 0:
                return offset
        elif letter == ";" and not any(depth.values()):
            return offset
    return len(quiet)


def _long(path: str, line: int, name: str, length: int) -> str:
    return (
        f'{path}:{line}: function "{name}" of {length} lines is not used here; '
        f"use at most {FUNCTION_LINES}"
    )


def _code(tree: Any) -> Iterator[tuple[str, str]]:
    return ((p, t) for p, t in tree.ending(*CODE) if not any(fnmatch(p, e) for e in EXEMPT))


def test_no_file_is_longer_than_its_noun(tree: Any) -> None:
    found = [m for path, text in _code(tree) for m in lines_over(path, text)]
    assert not found, "\n" + "\n".join(found)


def test_a_room_holds_few_files(tree: Any) -> None:
    sources = [path for path, _ in tree.ending(".py", ".rs") if not path.endswith("__init__.py")]
    kept = [path for path in sources if path.startswith(("python/", "crates/"))]
    found = list(rooms_over(kept))
    assert not found, "\n" + "\n".join(found)


def test_the_rule_sees_a_full_room() -> None:
    assert list(rooms_over(f"python/a/{n}.py" for n in range(17))) != []
    assert list(rooms_over(f"python/a/{n}.py" for n in range(16))) == []


def test_every_line_of_code_fits_its_columns(tree: Any) -> None:
    files = [(path, text) for path, text in _code(tree) if not path.endswith(PROSE)]
    found = [m for path, text in files for m in columns_over(path, text)]
    assert not found, "\n" + "\n".join(found)


def test_every_python_function_is_short(tree: Any) -> None:
    files = tree.ending(".py")
    found = [m for path, text in files for m in python_functions_over(path, text)]
    assert not found, "\n" + "\n".join(found)


def test_every_rust_function_is_short(tree: Any) -> None:
    files = tree.ending(".rs")
    found = [m for path, text in files for m in rust_functions_over(path, text)]
    assert not found, "\n" + "\n".join(found)


def test_the_rules_count_lines_and_columns() -> None:
    assert list(lines_over("a.py", "x\n" * 400)) == []
    assert "401 lines" in next(lines_over("a.py", "x\n" * 401))
    assert list(columns_over("a.py", "é" * 100)) == []
    assert next(columns_over("a.py", "short\n" + "x" * 101)).startswith("a.py:2: 101 columns")


def test_the_rule_counts_python_functions_and_methods() -> None:
    body = "        pass\n"
    assert list(python_functions_over("a.py", "class A:\n    def m(self):\n" + body * 69)) == []
    (found,) = python_functions_over("a.py", "class A:\n    async def m(self):\n" + body * 70)
    assert '"m" of 71 lines' in found


def test_the_rule_counts_rust_functions_past_quoted_braces() -> None:
    tricky = """let a = "}"; let b = '}'; let c = r#"}"#; // }\n/* } */\n let d = '\\''; }\n"""
    short = "fn one<'a>(x: &'a [u8; 4]) -> [u8; 2] {\n" + "x;\n" * 60 + tricky
    assert list(rust_functions_over("a.rs", short)) == []
    long = "trait T { fn none(&self); }\nfn two() {\n" + "x;\n" * 70 + tricky
    (found,) = rust_functions_over("a.rs", short + long)
    assert '"two"' in found
    assert "is not used here; use" in found
