"""No figure that people read has an exponent: `format_digits` writes significant digits."""

from __future__ import annotations

import re
from typing import Any

_DIGITS = re.compile(r":[^{}\"']*\.[0-9]g[}:]")
_READ_BACK = "float(f"
"""Rounding: the text is a number again at once."""
ELSEWHERE = {
    "python/steelyard/model/units.py": "where digits are written",
    "python/steelyard/tuning/search/space.py": "values of settings, as a server reads them",
    "python/steelyard/analysis/pilot/slice_length.py": "percents below a hundred",
}


def exponents(path: str, text: str) -> list[str]:
    return [
        f"{path}:{number}: use format_digits of model/units.py"
        for number, line in enumerate(text.splitlines(), 1)
        if _DIGITS.search(line) and _READ_BACK not in line
    ]


def test_digits_are_written_in_one_place(tree: Any) -> None:
    files = [
        (path, text) for path, text in tree.ending(".py") if path.startswith("python/steelyard/")
    ]
    assert [m for path, text in files if path not in ELSEWHERE for m in exponents(path, text)] == []
    texts = dict(files)
    assert all(exponents(path, texts[path]) for path in ELSEWHERE)


def test_the_rule_sees_a_format_that_may_write_an_exponent() -> None:
    assert exponents("a.py", 'f"{value:.3g} %"')
    assert exponents("a.py", 'f"{value:10.4g}"')
    assert not exponents("a.py", 'float(f"{value:.6g}")')
    assert not exponents("a.py", 'f"{value:.3f}"')
