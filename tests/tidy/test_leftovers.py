"""Nothing is left over: no reminder, no path of one machine, no address of a package registry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

REMINDERS = re.compile(r"\b(FIXME|TODO|XXX|HACK)\b")
MACHINE_PATHS = re.compile(r"(?<![\w.~$}/-])/(?:work|home|root|Users)/\w")
REGISTRIES = re.compile(
    r"(?:files\.python)hosted\.org|(?:py)pi\.org/simple|(?:registry\.npm)js\.org"
    r"|(?:static|index)\.crates\.io|--(?:extra-)?index-url"
)
EXEMPT = {"tests/tidy/test_leftovers.py"}  # the bad examples stand here
CANONICAL = '"registry+https://github.com/rust-lang/crates.io-index"'
TEXT = (
    ".py", ".pyi", ".rs", ".sql", ".toml", ".md", ".css", ".js", ".j2", ".html", ".txt", ".lock",
    ".json", ".jsonl", ".csv", ".c", ".sh", "Makefile",
    ".ci/run", ".ci/test", ".ci/check", ".ci/parts", ".ci/arm", ".ci/tools",
)  # fmt: skip


def leftovers(path: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), start=1):
        if found := REMINDERS.search(line):
            yield f'{path}:{number}: "{found[0]}" is not used here; use an issue, or do it'
        if found := MACHINE_PATHS.search(line):
            yield f'{path}:{number}: "{found[0]}…" is not used here; use a relative path'
        if found := REGISTRIES.search(line):
            yield f'{path}:{number}: "{found[0]}" is not used here; use the client\'s own setting'


def lock_addresses(path: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("source = ") and line != f"source = {CANONICAL}":
            yield f"{path}:{number}: {line} is not used here; use the index's canonical name"


@pytest.mark.long
def test_no_file_holds_what_should_have_gone(tree: Any) -> None:
    files = [(path, text) for path, text in tree.ending(*TEXT) if path not in EXEMPT]
    found = [m for path, text in files for m in leftovers(path, text)]
    assert not found, "\n" + "\n".join(found)


def test_the_lock_file_names_no_address_but_the_canonical_one(tree: Any) -> None:
    found = list(lock_addresses("Cargo.lock", tree.text("Cargo.lock")))
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "# TODO: later",
        "// FIXME",
        'open("/home/someone/x")',
        "cd /" + "work/somewhere",
        "see https://files.python" + "hosted.org/packages/x",
        "pip install --index-url x",
    ],
)
def test_the_rule_sees_each_kind_of_leftover(line: str) -> None:
    (found,) = leftovers("a.py", f"fine\n{line}\n")
    assert found.startswith("a.py:2: ")
    assert "is not used here; use" in found


def test_the_rule_leaves_ordinary_words_alone() -> None:
    fine = "to do a work/home thing in $HOME/x or ~/there/work, /var/cache/steelyard and /proc/stat"
    assert list(leftovers("a.py", fine)) == []


def test_the_rule_sees_a_lock_file_with_another_address() -> None:
    assert list(lock_addresses("Cargo.lock", 'source = "registry+https://mirror.example/"\n'))
    assert not list(lock_addresses("Cargo.lock", f"source = {CANONICAL}\n"))
