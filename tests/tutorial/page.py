"""Reads a tutorial: the commands that its reader types, and what it shows of their output.

A fence of `sh` is executed as it stands; a fence of `text` behind it shows lines of what that says.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.wording.contrast_text import MARKS

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorial"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NUMBER = r"[+−-]?\d[\d.,:]*"
_PIECES = re.compile(rf"(?P<number>{_NUMBER})|(?P<rest>\.\.\.)|(?P<space>\s+)|(?P<text>[^\s\d]|\S)")
_VERDICT = re.compile(rf"\b(?:{'|'.join(MARKS)})\b", re.IGNORECASE)
_MARKED = re.compile(rf"^[{''.join(MARKS.values())}] (?:{'|'.join(MARKS)})", re.IGNORECASE)


@dataclass(frozen=True)
class Step:
    """A block of commands, and the lines that the tutorial shows of its output."""

    commands: str
    shown: tuple[str, ...] = ()


def steps(text: str) -> Iterator[Step]:
    """The steps of a tutorial, in order."""
    step: Step | None = None
    for kind, content in _FENCE.findall(text):
        if kind == "sh":
            if step is not None:
                yield step
            step = Step(content)
        elif kind == "text":
            assert step is not None, "an output is shown before any command"
            step = Step(step.commands, (*step.shown, *filter(None, content.splitlines())))
    if step is not None:
        yield step


def fences(text: str, kind: str) -> list[str]:
    """The contents of all fences of a kind."""
    return [content for found, content in _FENCE.findall(text) if found == kind]


def missing(shown: Sequence[str], output: str) -> list[str]:
    """Lines that are shown and have no line of their shape in the output, in this order.

    A shape is the line with any number for a number, any space for a space and anything for `...`.
    A verdict may be another, and what it says then is not compared: small budgets decide nothing.
    """
    lines = [" ".join(line.split()) for line in output.splitlines()]
    found, at = [], 0
    for line in shown:
        shape = _shape(" ".join(line.split()))
        place = next((n for n in range(at, len(lines)) if re.fullmatch(shape, lines[n])), None)
        if place is None:
            found.append(line)
        else:
            at = place + 1
    return found


def _shape(line: str) -> str:
    if _MARKED.match(line):
        return _MARKED.pattern.replace("^", "(?i:") + ").*"
    if _VERDICT.search(line):
        return ".+"
    pieces = []
    for piece in _PIECES.finditer(line):
        word = {"number": _NUMBER, "rest": ".*", "space": r"\s+"}.get(piece.lastgroup or "")
        pieces.append(word or re.escape(piece[0]))
    return "".join(pieces)


def run(step: Step, directory: Path, environment: Mapping[str, str]) -> str:
    """What the commands of a step say on either stream; AssertionError where they fail, or say
    another thing than is shown."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", step.commands],
        cwd=directory,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{step.commands}\n{done.stdout}"
    absent = missing(step.shown, done.stdout)
    assert not absent, f"not said: {absent}\n{done.stdout}"
    return done.stdout
