"""Blanks what fio's JSON has beside JSON: notes around it, and options that were given twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from steelyard.foreign.source import Source

_STRING = r'"(?:[^"\\]|\\.)*+"'
_OPTION = re.compile(rf"\s*+({_STRING})\s*+:\s*+{_STRING}\s*+,?+")
_OPTIONS = re.compile(rf'"(?:job|global) options"\s*+:\s*+\{{((?:{_OPTION.pattern})*+)')


def without_notes(source: Source) -> Source:
    """The source with every value at its line and column; another than fio's as it is.

    fio prints notes and errors to its standard output too, before its JSON and between several, and
    with `--output-format=normal,json` a text after it.
    """
    text = source.text
    if '"fio version"' not in text or text.lstrip()[:1] == "[":
        return source
    text = "\n".join(_lines_of_json(text))
    return replace(source, text=_OPTIONS.sub(_last_of_each, text))


def _lines_of_json(text: str) -> Iterator[str]:
    """Every line; empty where it lies outside an object that begins and ends at a line's start."""
    inside = False
    for line in text.split("\n"):
        begins = not inside and line.startswith("{")
        yield line if inside or begins else ""
        last = line.rstrip()
        inside = (inside or begins) and not (last == "}" or (begins and last.endswith("}")))


def _last_of_each(options: re.Match[str]) -> str:
    """Options with blanks in place of those that a later one overrides: fio prints both."""
    found = list(_OPTION.finditer(options[1]))
    last = {one[1]: one.start() for one in found}
    kept = "".join(
        one[0] if last[one[1]] == one.start() else re.sub(r"[^\n]", " ", one[0]) for one in found
    )
    begin = options.start(1) - options.start()
    return options[0][:begin] + kept + options[1][len(kept) :]
