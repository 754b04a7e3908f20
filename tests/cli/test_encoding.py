"""What a terminal does not have is written alike: a minus stays one, in any encoding."""

from __future__ import annotations

import ast
import io
import sys
import unicodedata
from pathlib import Path

import pytest
import typer

import steelyard
from steelyard.cli.terminal import Output, redraws
from steelyard.cli.views.scrubbed import ProgressLine
from steelyard.report.charts.scale import Linear
from steelyard.wording.contrast_text import MARKS

NARROW = ("ascii", "latin-1", "iso8859-15", "cp1252", "koi8-r")


def written(text: str, encoding: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What stands on a terminal of that encoding after it was printed as commands print."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    output = Output(stream)
    monkeypatch.setattr(sys, "stdout", output)
    typer.echo(text)
    output.flush()
    return output.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]


@pytest.mark.parametrize("encoding", NARROW)
def test_a_reading_keeps_its_direction(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = written("−3.06 % [−3.51, +0.20] … ±1 %", encoding, monkeypatch)
    assert text.startswith("-3.06 % [-3.51, +0.20]")
    assert "?" not in text


@pytest.mark.parametrize("encoding", NARROW)
def test_signs_of_verdicts_stay_apart(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    signs = {written(mark, encoding, monkeypatch) for mark in MARKS.values()}
    assert len(signs) == len(MARKS)


INPUTS = ("foreign/", "workloads/capturing/", "model/files/printable.py")
"""Modules whose letters are read, and not printed."""


def letters_of(source: Path) -> set[str]:
    """Letters beyond ASCII of the texts of a module that are no documentation."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return {
        letter
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said
        for letter in node.value
        if not letter.isascii() and unicodedata.category(letter) not in ("Cs", "Co")
    } - {"\N{REPLACEMENT CHARACTER}"}


@pytest.mark.long
def test_whatever_is_printed_has_something_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "?" is the sign of a verdict, and of what the doctor could not see."""
    package = Path(steelyard.__file__).parent
    sources = {file.relative_to(package).as_posix(): file for file in package.rglob("*.py")}
    printed = [file for name, file in sources.items() if not name.startswith(INPUTS)]
    assert len(printed) > 300
    every = sorted(set().union(*map(letters_of, printed)))
    assert {"✓", "◇", "◉", "┅", "°"} <= {*every}
    assert "?" not in written("".join(every), "ascii", monkeypatch)


def test_a_power_is_no_number_of_more_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert written("10¹² bytes, 3 °C", "ascii", monkeypatch) == "10^12 bytes, 3 deg C\n"


@pytest.mark.parametrize("encoding", NARROW)
@pytest.mark.parametrize("signs", ["●◇◉", "!·✓?", "●━┅"])
def test_signs_of_charts_stay_apart(
    signs: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len({written(sign, encoding, monkeypatch) for sign in signs}) == len(signs)


@pytest.mark.parametrize("encoding", NARROW)
def test_a_chart_keeps_its_columns(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from record.made import line_of
    from steelyard.cli.views.interval_chart import axis_lines, interval_line

    x = Linear(-10, 10, 0, 60)
    contrast = line_of(low_percent=-4.0, estimate_percent=-2.0, high_percent=None)
    for line in (interval_line(contrast, x), *axis_lines(x, 1.0)):
        text = written(line, encoding, monkeypatch).rstrip("\n")
        assert len(text) == len(line)
        assert "?" not in text


@pytest.mark.parametrize("encoding", [*NARROW, "utf-8"])
def test_a_name_orders_no_terminal_about(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in written("a\x1b[31mb\x9b2J", encoding, monkeypatch)


@pytest.mark.parametrize("encoding", NARROW)
def test_what_has_nothing_alike_is_a_question_mark(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert written("基准", encoding, monkeypatch) == "??\n"


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("kind", "drawn"), [("xterm", True), ("dumb", False), ("unknown", False)])
def test_a_progress_is_drawn_over_only_where_a_terminal_can(
    kind: str, drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setattr("steelyard.cli.views.scrubbed._INTERVAL_S", 0.0)
    terminal = Terminal()
    with ProgressLine(terminal) as progress:
        progress(1, 10, 0, 0)
    assert ("\r" in terminal.getvalue()) is drawn
    assert bool(terminal.getvalue()) is drawn
    assert redraws(terminal) is drawn
    assert not redraws(io.StringIO())
