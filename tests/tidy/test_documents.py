"""Documents keep up: every file has its sentence, every command its page, every link its end."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

ARCHITECTURE = "ARCHITECTURE.md"
DESCRIBED = tuple(
    f"python/*.{end}" for end in ("py", "pyi", "sql", "toml", "j2", "css", "js", "html")
)
DESCRIBED += ("crates/*.rs", "benches/*.py", "fuzz/*.rs", "validation/*.py", "Makefile", ".ci/*")
_HEADING = re.compile(r"#+ .*?`([^`]+/)`")
_ITEM = re.compile(r"\s*[-*] ((?:`[^`]+`(?:, )?)+):? *(.*)")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
SENTENCE_WORDS = 3


def described(text: str) -> Iterator[tuple[str, str]]:
    """(path or pattern, sentence) of every list item, under the folder its heading names."""
    folder = ""
    for line in text.splitlines():
        if line.startswith("#"):
            heading = _HEADING.match(line)
            folder = heading[1] if heading else ""
        elif item := _ITEM.match(line):
            for name in re.findall(r"`([^`]+)`", item[1]):
                yield folder + name, item[2]


def undescribed(paths: Collection[str], text: str) -> list[str]:
    """Files that no item names with a sentence, and items that name no file."""
    items = dict(described(text))
    found = [
        f"{ARCHITECTURE}: {path} has no sentence; use a list item `name` and what it is"
        for path in paths
        if not any(fnmatch(path, name) and _enough(items[name]) for name in items)
    ]
    gone = [name for name in items if not any(fnmatch(path, name) for path in paths)]
    return found + [f"{ARCHITECTURE}: {name} is no file; use the name of one" for name in gone]


def _enough(sentence: str) -> bool:
    return len(sentence.split()) >= SENTENCE_WORDS


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


def _to_describe(tree: Any) -> list[str]:
    """Sources one by one, root documents, and folders of tests (which mirror the package).

    Package initialisers that only hold a docstring are spoken for by their folder's heading.
    """
    sources = {p for p in tree.paths if any(fnmatch(p, pattern) for pattern in DESCRIBED)}
    documents = {p for p in tree.paths if p.endswith(".md") and "/" not in p}
    tests = {
        "/".join(p.split("/")[:2]) + "/"
        for p in tree.paths
        if p.startswith("tests/") and p.count("/") > 1
    }
    return sorted({p for p in sources if not _only_a_docstring(tree, p)} | documents | tests)


def _only_a_docstring(tree: Any, path: str) -> bool:
    return path.endswith("__init__.py") and "import" not in tree.text(path)


def test_every_file_has_its_sentence_in_the_architecture(tree: Any) -> None:
    found = undescribed(_to_describe(tree), tree.text(ARCHITECTURE))
    assert not found, "\n" + "\n".join(found)


def test_every_link_in_a_document_leads_somewhere(tree: Any) -> None:
    documents = tree.ending(".md")
    found = [m for path, text in documents for m in broken_links(path, text, tree.root)]
    assert not found, "\n" + "\n".join(found)


def test_every_command_is_documented(tree: Any) -> None:
    import typer.main

    from steelyard.cli.app import app

    names = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    pages = [
        t for p, t in tree.ending(".md") if p == "README.md" or p.startswith("docs/reference/")
    ]
    found = undocumented(list(names), "\n".join(pages))
    assert not found, "\n" + "\n".join(found)


TEXT = """# Files

## `a/`
- `one.py`: Does the first thing.
- `two.py`, `two_pg*.sql`: Does the other thing.
- `mute.py`:
## Elsewhere
- `Makefile`: Says what to do.
"""


def test_the_rule_sees_files_without_a_sentence_and_sentences_without_a_file() -> None:
    present = ["a/one.py", "a/two.py", "a/two_pg14.sql", "a/mute.py", "Makefile"]
    (mute,) = undescribed(present, TEXT)
    assert "a/mute.py has no sentence; use" in mute
    missing = undescribed([*present, "a/three.py"], TEXT)
    assert any("a/three.py" in message for message in missing)
    gone = undescribed([p for p in present if p != "Makefile"], TEXT)
    assert any("Makefile is no file" in message for message in gone)


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
