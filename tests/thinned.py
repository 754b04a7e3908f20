"""A table of cases of which `make test` tries a few, spread over it, and `make test-long` all.

For tests that start a server or a program for each case, where every case takes the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def thinned(
    names: str | Sequence[str], values: Iterable[object], fast: int, **options: Any
) -> pytest.MarkDecorator:
    """`pytest.mark.parametrize` with all values but `fast` of them marked as long."""
    table = list(values)
    chosen = {round(n * len(table) / fast) for n in range(fast)}
    several = not isinstance(names, str) or "," in names
    return pytest.mark.parametrize(
        names,
        [v if n in chosen else _long(v, several=several) for n, v in enumerate(table)],
        **options,
    )


def _long(value: object, *, several: bool) -> ParameterSet:
    if isinstance(value, ParameterSet):
        return value._replace(marks=[*value.marks, pytest.mark.long])
    values = value if several and isinstance(value, Sequence) else (value,)
    return pytest.param(*values, marks=pytest.mark.long)
