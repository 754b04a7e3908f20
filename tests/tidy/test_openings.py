"""Every source file opens with a sentence that says what it is."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatch
from typing import Any

from tidy.syntax import syntax_of

EXEMPT = ("tests/golden/*", "python/steelyard/workloads/*/scripts/*")
"""What the program printed, and what is sent to servers to the letter, as pgbench sends it."""


def opening(path: str, text: str) -> str:
    """The first paragraph of a file's opening comment, on one line; empty when there is none."""
    if path.endswith((".py", ".pyi")):
        paragraph = (ast.get_docstring(syntax_of(text)) or "").partition("\n\n")[0]
    else:
        mark = "//!" if path.endswith(".rs") else "--"
        lines = []
        for line in text.lstrip().splitlines():
            if not line.startswith(mark) or line.strip() == mark:
                break
            lines.append(line.removeprefix(mark).strip())
        paragraph = "\n".join(lines)
    return " ".join(paragraph.split())


def first_sentence(path: str, text: str) -> str:
    """Up to the first full stop that ends a word; empty when no sentence opens the file."""
    found = re.match(r".*?\w.*?\.(?=\s|$)", opening(path, text))
    return found[0] if found else ""


def opens_badly(path: str, text: str) -> str:
    """What is wrong with the opening of a file; empty when nothing is."""
    if not text.strip() or first_sentence(path, text):
        return ""
    return f"{path}: a file without an opening is not used here; use one sentence on what it is"


def test_every_source_file_says_what_it_is(tree: Any) -> None:
    files = tree.ending(".py", ".pyi", ".rs", ".sql")
    kept = [(path, text) for path, text in files if not any(fnmatch(path, e) for e in EXEMPT)]
    found = [message for path, text in kept if (message := opens_badly(path, text))]
    assert not found, "\n" + "\n".join(found)


def test_the_rule_sees_a_file_that_opens_without_a_sentence() -> None:
    assert opens_badly("a.py", "import os\n").startswith("a.py: a file without an opening")
    assert opens_badly("a.py", '"""no full stop"""\n')
    assert opens_badly("a.rs", "use std::io;\n")
    assert opens_badly("a.rs", "// An ordinary comment is no opening.\n")
    assert opens_badly("a.sql", "SELECT 1;\n")


def test_the_rule_accepts_a_sentence_in_every_language() -> None:
    assert opens_badly("a.py", '"""Reads 1.5 things.\n\nMore."""\n') == ""
    assert opens_badly("a.rs", "//! Says so\n//! on two lines.\n\nfn a() {}\n") == ""
    assert opens_badly("a.sql", "-- Counts all there is.\nSELECT 1;\n") == ""
    assert first_sentence("a.py", '"""Reads 1.5 things. And more."""') == "Reads 1.5 things."
