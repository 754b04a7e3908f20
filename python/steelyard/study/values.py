"""Turns what people write in a study into values: durations, sizes, shares, settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, time
from math import isfinite
from typing import Annotated, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    SerializationInfo,
    ValidationInfo,
    field_validator,
)

from steelyard.model.price import ACCEPTED as PRICES
from steelyard.model.price import parse_price
from steelyard.model.units import (
    NS_PER_MS,
    NS_PER_S,
    NS_PER_US,
    format_duration,
    parse_bytes,
    parse_duration,
    parse_percent,
)
from steelyard.study.change import setting_name, spelling_free


class StudyModel(BaseModel):
    """A table of a study: frozen; unknown keys are errors, and so are numbers that are none: TOML
    has nan and inf."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_switch_for_a_number(cls, value: object, info: ValidationInfo) -> object:
        """A truth value is no 1 and no 0 where a number is to be."""
        if isinstance(value, bool) and info.field_name is not None:
            field = cls.model_fields[info.field_name]
            types = {*_plain_types(field.annotation, field.metadata)}
            if types & {int, float} and bool not in types:
                raise ValueError("accepted: a number")
        return value


def _plain_types(annotation: object, metadata: Sequence[object] = ()) -> Iterator[object]:
    """The types of a union whose values no function of ours reads first."""
    if any(isinstance(each, BeforeValidator) and each.func != unless_none for each in metadata):
        return
    inner = getattr(annotation, "__metadata__", None)
    if inner is not None:
        yield from _plain_types(get_args(annotation)[0], inner)
    elif members := get_args(annotation):
        for member in members:
            yield from _plain_types(member)
    else:
        yield annotation


def _duration(value: object, info: ValidationInfo) -> object:
    if isinstance(value, bool):
        raise ValueError("accepted: 50ms, 90s, 2m, 1h 30m")
    if isinstance(value, int) and value >= _FEWEST_NS and _needs_units(info):
        raise ValueError(f"{value} has no unit: {value}us, {value}ms, {value}s")
    return parse_duration(value) if isinstance(value, str) else value


def _size(value: object, info: ValidationInfo) -> object:
    if isinstance(value, bool | float):
        raise ValueError("accepted: 64kB, 200MB, 1.5GB")
    size = parse_bytes(value) if isinstance(value, str) else value
    if isinstance(size, int) and 0 < size < _FEWEST_BYTES:
        raise ValueError(f"{size} has no unit: {size}MB, {size}GB")
    bare = not isinstance(value, str) or value.strip()[-1:].isdecimal()
    if bare and isinstance(size, int) and size > 0 and _needs_units(info):
        raise ValueError(f"{size} has no unit: {size}kB, {size}MB, or {size}B for bytes")
    return size


def _needs_units(info: ValidationInfo) -> bool:
    """Whether a number alone is no size and no duration: in all but records of earlier versions,
    which hold bytes and nanoseconds."""
    return (info.context or {}).get(BARE_SHARES) == ()


_FEWEST_NS = 1000
"""Fewer are refused in records too, by the bounds of each key."""
_FEWEST_BYTES = 1024
"""Fewer are no size, in records either."""


def unless_none(value: object) -> object:
    """The word `none` takes back what a study file has: TOML has no null."""
    return None if value == "none" else value


BARE_SHARES = "bare shares"
"""In the context of validation, of a study that people wrote, who may mean 2 % by 0.02, or 0.02 %:
the class of the numbers below 1 that are not refused. Without it none are. Where it is empty, sizes
and durations have units, too."""
AS_TOML = "as TOML"
"""In the context of a dump: what is said so that it has one meaning."""


def _fraction(value: object, info: ValidationInfo) -> object:
    """A program, and an older record, has 0.01 where people write 1%."""
    if isinstance(value, bool):
        raise ValueError("accepted: 1%, 0.5%")
    if isinstance(value, int | float) and 1 <= value <= 100:
        raise ValueError(f"{value:g} has no unit: {value:g}%")
    accepted = (info.context or {}).get(BARE_SHARES, float)
    if isinstance(value, float) and 0 < value < 1 and not isinstance(value, accepted):
        raise ValueError(f'{value:g} has no unit: "{100 * value:g}%", or "{value:g}%"')
    return parse_percent(value) if isinstance(value, str) else value


def _percent_word(share: float, info: SerializationInfo) -> float | str:
    """`"1%"` in a study's file, where that reads back as the same number."""
    text = f"{100 * share:.12f}".rstrip("0").rstrip(".") + "%"
    written = (info.context or {}).get(AS_TOML) and parse_percent(text) == share
    return text if written else share


def _duration_word(nanoseconds: int, info: SerializationInfo) -> int | str:
    """`"2m"` in a study's file, where that reads back as the same number."""
    return _in_unit(nanoseconds, _DURATIONS, parse_duration, info)


def _size_word(size: int, info: SerializationInfo) -> int | str:
    """`"2GB"` in a study's file."""
    return _in_unit(size, _SIZES, parse_bytes, info)


_DURATIONS = {"m": 60 * NS_PER_S, "s": NS_PER_S, "ms": NS_PER_MS, "us": NS_PER_US}
_SIZES = {"GB": 1 << 30, "MB": 1 << 20, "kB": 1 << 10, "B": 1}


def _in_unit(
    number: int, units: Mapping[str, int], parse: Callable[[str], int], info: SerializationInfo
) -> int | str:
    """In the largest unit that it is a whole number of."""
    unit = next((unit for unit, size in units.items() if number > 0 and not number % size), None)
    if unit is None or not (info.context or {}).get(AS_TOML):
        return number
    text = f"{number // units[unit]}{unit}"
    return text if parse(text) == number else number


class WrittenFloat(float):
    """A number of a study file that remembers its letters: 1.10, 1e3."""

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.text = text.replace("_", "")  # TOML's, between digits
        return number

    text: str


def variable_words(value: object) -> object:
    """Variables of scripts as -D of pgbench has them: a switch is the word true or false, a date
    and a number its letters."""
    if not isinstance(value, dict):
        return value
    return {key: _variable_word(variable) for key, variable in value.items()}


def _variable_word(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, WrittenFloat) and isfinite(value) and repr(float(value)) != value.text:
        return value.text
    return value


def settings_words(value: object) -> object:
    """Settings as a configuration file has them: on and off, numbers as they are written. Servers
    tell no capital letters in their names. ValueError: one stands there twice, or is a list or a
    table."""
    if not isinstance(value, dict):
        return value
    words: dict[str, str] = {}
    spelt: set[str] = set()
    for key, v in value.items():
        name = setting_name(key)
        if spelling_free(name) in spelt:
            raise ValueError(f'setting "{name}" stands there twice')
        spelt.add(spelling_free(name))
        words[name] = _setting_word(name, v)
    return words


def _setting_word(name: str, value: object) -> str:
    if isinstance(value, list | tuple):
        raise ValueError(
            f'setting "{name}" is a list: write one text, as in the server\'s file: "one, two"'
        )
    if isinstance(value, dict):  # TOML takes a dot for the border of a table
        raise ValueError(
            f'setting "{name}" is a table: a name that has dots stands in quotes: '
            f'"{name}.{next(iter(value), "...")}"'
        )
    if isinstance(value, bool):
        # One with a dot may be a script's own: current_setting('app.is_admin') = 'true'.
        words = ("false", "true") if "." in name else ("off", "on")
        return words[value]
    return value.text if isinstance(value, WrittenFloat) else str(value)


def version_word(value: object) -> object:
    """A version as text: 18 is "18", and 18.10 of a file "18.10"."""
    if isinstance(value, WrittenFloat):
        return value.text
    return str(value) if type(value) is int else value


def by_name(value: object) -> object:
    """A table of which only the name is given."""
    return {"name": value} if isinstance(value, str) else value


def price_word(value: object) -> object:
    """A price as it is kept: `$0.504/hour` is "0.504 USD/h"."""
    if unless_none(value) is None:
        return None
    if isinstance(value, bool):
        raise ValueError(f"accepted: {PRICES}")
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
            units = ("ms", "s") if bound_ns < NS_PER_S else ("s", "m")
            raise ValueError(f"{value} has no unit: {', '.join(f'{value}{u}' for u in units)}")
        if value < bound_ns:
            raise ValueError(f"must be at least {format_duration(bound_ns)}")
        return value

    return AfterValidator(check)


Nanoseconds = Annotated[
    int, BeforeValidator(_duration), PlainSerializer(_duration_word, when_used="json")
]
Bytes = Annotated[int, BeforeValidator(_size), PlainSerializer(_size_word, when_used="json")]
Share = Annotated[
    float, BeforeValidator(_fraction), PlainSerializer(_percent_word, when_used="json")
]
Settings = Annotated[dict[str, str], BeforeValidator(settings_words)]
Variables = Annotated[dict[str, str | int | float], BeforeValidator(variable_words)]
PlaceName = Annotated[str | None, AfterValidator(absolute), BeforeValidator(unless_none)]
Statements = Annotated[tuple[str, ...], BeforeValidator(_one_or_more)]
