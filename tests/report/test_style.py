"""Colours of the page can be told from the paper by everyone, in light and in dark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import steelyard.report

STYLE = (Path(steelyard.report.__file__).parent / "style.css").read_text(encoding="utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--([a-z0-9-]+):\s*(#[0-9a-f]{3,6})", block))
    for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
)


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(c * 2 for c in colour[1:])
    channels = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    bright, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_everything_written_can_be_read(palette: dict[str, str]) -> None:
    verdicts = ["slower", "faster", "equivalent", "inconclusive", "invalid"]
    arms = [f"arm-{number}" for number in range(6)]
    for name in ["ink", "quiet", *verdicts, *arms]:
        for ground in ("paper", "card"):
            assert contrast(palette[name], palette[ground]) >= 4.5, f"{name} on {ground}"


def test_both_palettes_name_the_same_colours() -> None:
    assert LIGHT.keys() == DARK.keys()
