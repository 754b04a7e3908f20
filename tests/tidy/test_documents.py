"""Documents keep up: rooms are named, commands have a page, links lead somewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

ARCHITECTURE = "ARCHITECTURE.md"
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
MOST_LINES = 250
ROOMS = ("python/steelyard/*/", "crates/*/", "tests/*/")
_ROW = re.compile(r"^\| `([\w/]+)/` \|(.*)$", re.MULTILINE)
"""Of the map of rooms."""
_STEP = re.compile(
    r"`(\w+)\(([a-z_]\w*(?:, \w+)*)\)`[^|`]*(?:`\w+`s?)? *\| `(python/[^`]+\.py)` \|"
)
_PATH = re.compile(r"`((?:python|crates|tests|docs|validation|benches|fuzz|\.ci)/[^`\s]*)`")


def rooms_not_named(paths: Collection[str], text: str) -> list[str]:
    """Folders of the package, of the crates and of the tests that the page does not name."""
    rooms = {
        "/".join(path.split("/")[: pattern.count("/")]) + "/"
        for path in paths
        for pattern in ROOMS
        if fnmatch(path, pattern + "*")
    }
    return [
        f"{ARCHITECTURE}: {room} is not named; use a line on what it is for"
        for room in sorted(rooms)
        if f"`{room}`" not in text and f"`{room.split('/')[-2]}/`" not in text
    ]


def rows_that_differ(paths: Collection[str], text: str) -> list[str]:
    """Folders of code in a room that neither its row of the map nor one of their own names, and
    folders that a row names and the room has not."""
    rows = dict(_ROW.findall(text))
    messages = []
    for room, row in rows.items():
        below = f"python/steelyard/{room}/"
        folders = {
            path.removeprefix(below).removesuffix("/__init__.py")
            for path in paths
            if fnmatch(path, f"{below}*/__init__.py")
        }
        named = {*re.findall(r"`(\w+)/`", row)}
        own = {other.removeprefix(f"{room}/") for other in rows}
        messages += [
            f"{ARCHITECTURE}: {below}{name}/ is not in the row of `{room}/`; use a word on it"
            for name in sorted(folders - named - own)
            if "/" not in name
        ]
        messages += [
            f"{ARCHITECTURE}: `{room}/` has no `{name}/`; use the name of a folder"
            for name in sorted(named)
            if not any(fnmatch(path, f"{below}*{name}/*") for path in paths)
        ]
    return messages


def signatures_that_differ(text: str, source: Callable[[str], str]) -> Iterator[str]:
    """Functions that a row shows with parameters which the one in its file has not."""
    for name, parameters, path in _STEP.findall(text):
        functions = [f for f in ast.parse(source(path)).body if isinstance(f, ast.FunctionDef)]
        signatures = [[each.arg for each in f.args.args] for f in functions if f.name == name]
        if parameters.split(", ") not in signatures:
            yield f"{ARCHITECTURE}: {name}({parameters}) is not in {path}; use what is there"


def paths_that_are_gone(paths: Collection[str], text: str) -> list[str]:
    """Paths in backquotes, `*` and NAME standing for anything, that no file or folder has."""
    return [
        f"{ARCHITECTURE}: {name} is no file; use the name of one"
        for name in _PATH.findall(text)
        if not any(fnmatch(path, name.replace("NAME", "*").rstrip("/") + "*") for path in paths)
    ]


def broken_links(path: str, text: str, root: Path) -> Iterator[str]:
    """Links to files and headings that are not there; addresses of other sites are not asked."""
    prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    for match in _LINK.finditer(prose):
        target = match[1] or match[2]
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        end = root / (Path(path).parent / name) if name else root / path
        if not end.exists():
            yield f"{path}: link to {target} is broken; use a path that exists"
        elif anchor and end.suffix == ".md" and anchor not in anchors(end.read_text("utf-8")):
            yield f"{path}: link to {target} is broken; use a heading that exists"


def anchors(text: str) -> set[str]:
    """The names under which the headings of a Markdown text can be linked."""
    headings = re.findall(r"^#+ +(.*?)\s*$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def undocumented(commands: Collection[str], documents: str) -> list[str]:
    return [
        f'command "{name}" is not documented; use README.md or docs/reference/ to show it'
        for name in commands
        if not re.search(rf"steelyard {re.escape(name)}\b", documents)
    ]


def test_the_architecture_is_short_and_names_every_room_and_no_file_that_is_gone(
    tree: Any,
) -> None:
    text = tree.text(ARCHITECTURE)
    found = [*rooms_not_named(tree.paths, text), *paths_that_are_gone(tree.paths, text)]
    found += [*rows_that_differ(tree.paths, text), *signatures_that_differ(text, tree.text)]
    assert not found, "\n" + "\n".join(found)
    assert text.count("\n") <= MOST_LINES


def test_every_link_in_a_document_leads_somewhere(tree: Any) -> None:
    documents = tree.ending(".md")
    found = [m for path, text in documents for m in broken_links(path, text, tree.root)]
    assert not found, "\n" + "\n".join(found)


def test_every_command_is_documented(tree: Any) -> None:
    from steelyard.cli.commands import COMMANDS

    pages = [
        t for p, t in tree.ending(".md") if p == "README.md" or p.startswith("docs/reference/")
    ]
    found = undocumented(list(COMMANDS), "\n".join(pages))
    assert not found, "\n" + "\n".join(found)


def test_the_rule_sees_rooms_that_are_not_named_and_files_that_are_gone() -> None:
    paths = ["python/steelyard/study/read.py", "crates/wire/src/lib.rs", "tests/study/test_read.py"]
    text = "- `study/`: what is asked\n- `crates/wire/`: bytes\n"
    assert rooms_not_named(paths, text) == []
    assert len(rooms_not_named([*paths, "crates/pages/src/lib.rs"], text)) == 1
    assert paths_that_are_gone(paths, "`python/steelyard/study/NAME.py` and `crates/wire/`") == []
    assert len(paths_that_are_gone(paths, "`python/steelyard/study/gone.py`")) == 1


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ("| `study/` | the question; `reaching/`: poolers |", 0),
        ("| `study/` | the question |\n| `study/reaching/` | poolers |", 0),
        ("| `study/` | the question |", 1),
        ("| `study/` | `reaching/`, `moved/` |", 1),
        ("| `study/` | `moved/` |", 2),
    ],
)
def test_the_rule_sees_folders_that_a_row_of_the_map_lacks_or_makes_up(
    row: str, wrong: int
) -> None:
    paths = [f"python/steelyard/study/{name}" for name in ("__init__.py", "reaching/__init__.py")]
    assert len(rows_that_differ(paths, row)) == wrong


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ("| prepare | `prepare(opened, progress)` → `Setup` | `python/a.py` |", False),
        ("| prepare | `prepare(kept, progress)` → `Setup` | `python/a.py` |", True),
        ("| the page | `write(opened)` | `python/a.py` |", True),
    ],
)
def test_the_rule_sees_parameters_of_another_name(row: str, wrong: bool) -> None:
    source = "def prepare(opened: int, progress: int) -> None: ...\n"
    assert bool([*signatures_that_differ(row, lambda path: source)]) == wrong


@pytest.mark.parametrize(
    ("link", "broken"),
    [
        ("[x](there.md)", False),
        ("[x](gone.md)", True),
        ("![x](gone.png)", True),
        ("[x](#a-heading-of-two)", False),
        ("[x](there.md#none)", True),
        ("[x](https://example.org/gone)", False),
        ("`[x](gone.md)`", False),
    ],
)
def test_the_rule_sees_broken_links(tmp_path: Path, link: str, broken: bool) -> None:
    (tmp_path / "there.md").write_text("# Here\n")
    (tmp_path / "page.md").write_text(text := f"## A heading, of two\n\n{link}\n")
    assert bool(list(broken_links("page.md", text, tmp_path))) == broken


def test_the_rule_sees_an_undocumented_command() -> None:
    assert undocumented(["weigh", "drive"], "`steelyard weigh STUDY`") != []
    assert undocumented(["weigh"], "`steelyard weigh STUDY`") == []
    assert undocumented(["weigh"], "`steelyard weighs`") != []
