r"""Regular expressions mean the same in every Python that the project runs on.

Before 3.11.5 a group that is repeated possessively, `(?:…)*+`, matched wrongly where what it holds
can be matched in more than one way (https://github.com/python/cpython/issues/106052), and Debian 12
has 3.11.2: statements of a dump were cut in their middle, and passwords stayed. `(?>(?:…)*)` is the
same in all. One character, as in `[^']*+`, may be.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("python", "validation", "benches", ".ci", "action")
_POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{{1,2}\d*,?\d*\}{1,2})\+")


def groups_repeated_possessively(text: str) -> list[str]:
    """The lines of a text with one."""
    return [line.strip() for line in text.splitlines() if _POSSESSIVE_GROUP.search(line)]


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        (r"""r"(?:a|b)*+" """, True),
        (r"""rb"(" + INNER + rb")++" """, True),
        (r"""r"(a){0,3}+" """, True),
        (r"""rf"(?:{A}|b){{1,20}}+" """, True),
        (r"""r"(?>(?:a|b)*)" """, False),
        (r"""r"[^)]*+" """, False),
        (r"""r"\)++" """, False),
    ],
)
def test_the_rule_refuses_what_it_should(line: str, refused: bool) -> None:
    assert bool(groups_repeated_possessively(line)) == refused


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_group_is_repeated_possessively(folder: str) -> None:
    wrong = {
        str(path.relative_to(ROOT)): lines
        for path in sorted((ROOT / folder).rglob("*.py"))
        if (lines := groups_repeated_possessively(path.read_text(encoding="utf-8")))
    }
    assert wrong == {}
