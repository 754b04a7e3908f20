"""Reads texts as `judge` would, for the tests of the formats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from steelyard.foreign.formats import read_sheet
from steelyard.foreign.series import Series, Sheet
from steelyard.foreign.source import open_source, source_of
from steelyard.model.errors import NumbersError

GOLDEN = Path(__file__).parents[1] / "golden" / "numbers"


def sheet_of(text: str | bytes, form: str | None = None, **columns: str) -> Sheet:
    """The sheet of a text, which is called f.txt."""
    content = text.encode() if isinstance(text, str) else text
    return read_sheet(source_of(content, "f.txt"), form, columns)


def golden_sheet(name: str) -> Sheet:
    """The sheet of a real output."""
    return read_sheet(open_source(GOLDEN / name))


def arms_of(sheet: Sheet, metric: int = 0) -> dict[str, list[float]]:
    """Arm → its values, of one metric of a sheet."""
    return {one.arm: one.values.tolist() for one in sheet.metrics[metric][1]}


def only(sheet: Sheet, metric: int = 0) -> Series:
    """The only series of a metric."""
    (series,) = sheet.metrics[metric][1]
    return series


def refusal(text: str | bytes, form: str | None = None) -> str:
    """The primary line of what is said of a text that is refused."""
    with pytest.raises(NumbersError) as refused:
        sheet_of(text, form)
    assert refused.value.exit_status == 2
    return refused.value.primary


def assert_values(series: Series, expected: list[float]) -> None:
    """The values of a series, to rounding."""
    np.testing.assert_allclose(series.values, expected)
