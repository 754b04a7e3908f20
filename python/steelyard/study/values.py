"""Turns what people write in a study into values: durations, sizes, shares, settings."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from steelyard.model.price import ACCEPTED as PRICES
from steelyard.model.price import parse_price
from steelyard.model.units import (
    NS_PER_MS,
    format_duration,
    parse_bytes,
    parse_duration,
    parse_percent,
)


class StudyModel(BaseModel):
    """A table of a study: frozen; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _duration(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


def _size(value: object) -> object:
    if isinstance(value, bool | float):
        raise ValueError("accepted: 64kB, 200MB, 1.5GB")
    size = parse_bytes(value) if isinstance(value, str) else value
    if isinstance(size, int) and 0 < size < _FEWEST_BYTES:
        raise ValueError(f"{size} has no unit: {size}MB, {size}GB")
    return size


_FEWEST_BYTES = 1024
"""Nobody means so few."""


def unless_none(value: object) -> object:
    """The word `none` takes back what a study file has: TOML has no null."""
    return None if value == "none" else value


def _fraction(value: object) -> object:
    """A record has 0.01 where people write 1%."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value <= 100:
        raise ValueError(f"{value:g} has no unit: {value:g}%")
    return parse_percent(value) if isinstance(value, str) else value


class WrittenFloat(float):
    """A number of a study file that remembers its letters: 1.10, 1e3."""

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.text = text
        return number

    text: str


def settings_words(value: object) -> object:
    """Settings as a configuration file has them: on and off, numbers as they are written."""
    if not isinstance(value, dict):
        return value
    return {key: _setting_word(v) for key, v in value.items()}


def _setting_word(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return value.text if isinstance(value, WrittenFloat) else str(value)


def version_word(value: object) -> object:
    """A version as text: 18 is "18"."""
    return str(value) if type(value) is int else value


def by_name(value: object) -> object:
    """A table of which only the name is given."""
    return {"name": value} if isinstance(value, str) else value


def price_word(value: object) -> object:
    """A price as it is kept: `$0.504/hour` is "0.504 USD/h"."""
    if value is None:
        return None
    if isinstance(value, int | float):
        raise ValueError(f"{value:g} has no period: {value:g}/h; accepted: {PRICES}")
    return parse_price(value).words if isinstance(value, str) else value


def _one_or_more(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def absolute(value: str | None) -> str | None:
    """The name of a directory that is the same wherever the study is read."""
    if value is not None and (not value.startswith("/") or any(ord(c) < ord(" ") for c in value)):
        raise ValueError("a place is a directory by its whole path: /mnt/fast")
    return None if value is None else "/" + "/".join(part for part in value.split("/") if part)


def by_place(value: object) -> object:
    """A table of which only the place is given."""
    return {"place": value} if isinstance(value, str) else value


def at_least(duration: str) -> AfterValidator:
    """A lower bound that is written, and reported, in the units of study files."""
    bound_ns = parse_duration(duration)

    def check(value: int) -> int:
        if 0 < value < min(bound_ns, NS_PER_MS):  # nobody means so few nanoseconds
            raise ValueError(f"{value} has no unit: {value}s, {value}m")
        if value < bound_ns:
            raise ValueError(f"must be at least {format_duration(bound_ns)}")
        return value

    return AfterValidator(check)


Nanoseconds = Annotated[int, BeforeValidator(_duration)]
Bytes = Annotated[int, BeforeValidator(_size)]
Share = Annotated[float, BeforeValidator(_fraction)]
Settings = Annotated[dict[str, str], BeforeValidator(settings_words)]
PlaceName = Annotated[str | None, AfterValidator(absolute)]
Statements = Annotated[tuple[str, ...], BeforeValidator(_one_or_more)]
