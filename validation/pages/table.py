"""Writes tables in Markdown, and proportions as cells of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from steelyard.model.units import format_percent
from validation.proportion import Proportion


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def paragraph(text: str) -> str:
    """Text from indented source lines, as one line each paragraph."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def signed(value: float, digits: int) -> str:
    """`"+1.20"`, `"−0.85"` with a real minus, and a zero without a sign."""
    return format_percent(value, digits).removesuffix(" %")


def effect(line: Mapping[str, Any]) -> list[str]:
    """The estimate and the interval of a contrast as cells, in percent."""
    middle = line["estimate_percent"]
    ends = ["unbounded" if line[f"{end}_percent"] is None else signed(line[f"{end}_percent"], 1)
            for end in ("low", "high")]  # fmt: skip
    estimate = "–" if middle is None else f"{signed(middle, 1)} %"
    return [estimate, f"[{ends[0]}, {ends[1]}] %"]


def at_most(share: Proportion, bound: float) -> str:
    """A share that must not exceed a bound, in percent with its interval; bold where it does."""
    if not share.trials:
        return "–"
    return f"**{share}**" if share.exceeds(bound) else str(share)


def percent(share: Proportion) -> str:
    """A share in percent, without its interval."""
    return f"{100 * share.value:.0f}" if share.trials else "–"
