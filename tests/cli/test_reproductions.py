"""The published judgements are what the command prints today, of the numbers on the page."""

from __future__ import annotations

import csv
import os
import re
import shlex
from pathlib import Path

import pytest

from cli.test_judge import shown
from steelyard.foreign.comparison import Options

PAGES = Path(__file__).parents[2] / "docs" / "reproductions"
_SHOWN = re.compile(r"^```\n\$ steelyard judge (.*)\n((?:.*\n)*?)```$", re.MULTILINE)
_ROW = re.compile(r"^\| (.*) \|$", re.MULTILINE)


def pages() -> list[str]:
    """Those of numbers that were judged; of what was repeated there is no file of numbers."""
    return sorted(path.with_suffix(".md").name for path in PAGES.glob("*.csv"))


def test_there_are_three_and_the_index_links_them_all() -> None:
    index = (PAGES / "README.md").read_text("utf-8")
    assert len(pages()) == 3
    assert all(f"({name})" in index for name in pages())
    assert all((PAGES / name).is_file() for name in pages())


@pytest.mark.parametrize("name", pages())
def test_a_page_shows_what_the_command_prints_today(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PAGES)
    found = _SHOWN.findall((PAGES / name).read_text("utf-8"))
    assert len(found) == 1
    command, printed = found[0]
    file, *options = shlex.split(command)
    asked = dict(zip((o.removeprefix("--") for o in options[::2]), options[1::2], strict=True))
    assert set(asked) <= set(Options.__slots__), "an option that this test does not pass on"
    assert shown(Path(file), 100, **asked) + "\n" == printed, (
        f"{os.path.basename(name)} shows an old judgement: judge {command} again, at 100 columns"
    )


@pytest.mark.parametrize("name", pages())
def test_the_numbers_on_a_page_are_those_of_its_file(name: str) -> None:
    with (PAGES / name).with_suffix(".csv").open(newline="") as opened:
        rows = list(csv.reader(opened))[1:]
    told = [set(row.split(" | ")) for row in _ROW.findall((PAGES / name).read_text("utf-8"))]
    for row in rows:
        figures = {cell for cell in row if re.search(r"[0-9]", cell) and cell not in ("256", "32")}
        assert any(figures <= cells for cells in told), row
