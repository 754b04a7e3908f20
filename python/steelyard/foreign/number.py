"""Turns texts into numbers, with the unit where one is written behind them.

Read too: `81.2 ± 1.1` (the error is left out), `15.2k`, and durations (`1:23.4`, `1m23.4s`).

Refused with their place: words, mixed units, thousands separators, NaN, infinity, zero and
negative numbers (a ratio of logs has no place for them), a decimal comma that could be another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal

import numpy as np

from steelyard.foreign.series import Floats
from steelyard.foreign.source import SourceText, TextPosition, quoted
from steelyard.foreign.vocabulary.units import unit_of

_NUMBER = re.compile(r"([+-]?[0-9]+(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]+)?|[+-]?[.,][0-9]+)\s*(.*)")
_UNIT = re.compile(r"[A-Za-zµμ%][A-Za-zµμ%/²]*")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+")
_ERROR = re.compile(r"\s*(?:±|\+/-|\+-)\s*[0-9][0-9.,]*(?:[eE][+-]?[0-9]+)?\s*%?")
_CLOCK = re.compile(r"(?:([0-9]{1,3}):)?([0-9]{1,3}):([0-9]{2}(?:\.[0-9]+)?)")
_SPELLED = re.compile(r"(?:([0-9]+)h)?(?:([0-9]+)m(?:in)?)?([0-9]+(?:\.[0-9]+)?)s")
_SCALES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_AMOUNT = re.compile(r"([0-9]{1,18}(?:[.,][0-9]{1,6})?)\s*([A-Za-zµμ%][A-Za-zµμ%/²]*)?")
_NOUGHTS = {"k": 3, "m": 6, "g": 9, "t": 12}
"""Behind a number: before "b" or "ib", or alone."""
_MISSING = {"", "na", "n/a", "null", "none", "-", "nan", ".", "?", "missing"}

Spot = Callable[[int], TextPosition]
"""The place of the n-th text of a column."""


def floats_of(
    texts: Sequence[str],
    source: SourceText,
    spot: Spot,
    *,
    positive: bool = True,
    decimal_comma: str = "",
) -> tuple[Floats, str]:
    """The numbers of a column, shape (n,), and the unit behind them ("" where there is none).

    `decimal_comma`: a cell of the same table whose comma is surely a decimal one, if there is any.
    """
    unit = ""
    values = _plain(texts) if not decimal_comma else None
    if values is None:
        values, unit = _careful(texts, source, spot, decimal_comma)
    bad = ~np.isfinite(values) | ((values <= 0) if positive else False)
    if bad.any():
        index = int(np.argmax(bad))
        raise _refused(texts[index], float(values[index]), source, spot(index))
    return values, unit


def has_decimal_comma(text: str) -> bool:
    """Whether a text is a number whose comma can be no separator of thousands: `0,981`, `98,14`."""
    if "," not in text or not is_number(text):
        return False
    match = _NUMBER.fullmatch(text.strip())
    return match is not None and "," in match[1] and not _THOUSANDS.fullmatch(match[1])


def is_missing(text: str) -> bool:
    """Whether a cell says that there is no value."""
    return text.strip().lower() in _MISSING


def is_number(text: str) -> bool:
    """Whether a text is a number, perhaps with a unit behind it."""
    if text.isdecimal() and text.isascii():
        return True
    match = _NUMBER.fullmatch(_without_error(text))
    matches = match is not None and (not match[2] or _UNIT.fullmatch(match[2]) is not None)
    return matches or clock_seconds(text.strip()) is not None


def amounts_of(texts: Sequence[str]) -> tuple[Decimal, ...] | None:
    """Numbers as parameters are written: "8", "0.9", "4k", "64 KB", "20 %", "8 clients"; None where
    a text is none, or where what stands behind them differs other than in its size."""
    amounts, units = [], set()
    for text in texts:
        match = _AMOUNT.fullmatch(text.strip())
        if match is None:
            return None
        unit = (match[2] or "").lower()
        noughts, rest = _NOUGHTS.get(unit[:1], 0), unit[1:]
        if not noughts or rest not in ("", "b", "ib"):
            noughts, rest = 0, unit
        units.add("" if rest in ("b", "ib") else rest)
        amounts.append(Decimal(match[1].replace(",", ".")).scaleb(noughts))
    return tuple(amounts) if len(units) < 2 else None


def _without_error(text: str) -> str:
    """A text without what stands behind ±: "81.2 ms" of "81.2 ± 1.1 ms"."""
    return (
        _ERROR.sub(" ", text).strip()
        if "±" in text or "+-" in text or "+/-" in text
        else (text.strip())
    )


def clock_seconds(text: str) -> float | None:
    """The seconds of a duration or a time of day that has minutes; None for what is none."""
    match = _CLOCK.fullmatch(text) or _SPELLED.fullmatch(text)
    if match is None or not (match[1] or match[2]):
        return None
    return 3600 * float(match[1] or 0) + 60 * float(match[2] or 0) + float(match[3])


def _plain(texts: Sequence[str]) -> Floats | None:
    """The fast way: only what is a number in the C locale, and nothing else."""
    try:
        values = np.fromiter(map(float, texts), np.float64, len(texts))
    except ValueError:
        return None
    # Python reads 1_000 and Arabic digits as numbers; a file of measurements does not mean them.
    joined = "".join(texts)
    return values if joined.isascii() and "_" not in joined else None


def _careful(
    texts: Sequence[str], source: SourceText, spot: Spot, decimal_comma: str
) -> tuple[Floats, str]:
    """One by one, with units and decimal commas, or the error that names the first bad one."""
    parts = [_parts(text, source, spot, index) for index, text in enumerate(texts)]
    units = [unit_of(unit) or unit for _, unit in parts]
    for index, unit in enumerate(units):
        if unit != units[0]:
            raise source.error(
                f"mixed units: {quoted(texts[index].strip())} after {quoted(texts[0].strip())}",
                spot(index),
                hint="Write all numbers of a column in one unit.",
            )
    numbers = [number for number, _ in parts]
    _refuse_ambiguous_commas(numbers, source, spot, decimal_comma)
    values = [float(number.replace(",", ".")) for number in numbers]
    unit = units[0] if units else ""
    if unit in _SCALES:
        return np.array(values, dtype=np.float64) * _SCALES[unit], ""
    return np.array(values, dtype=np.float64), unit


def _parts(text: str, source: SourceText, spot: Spot, index: int) -> tuple[str, str]:
    """The number and the unit behind it."""
    seconds = clock_seconds(text.strip())
    if seconds is not None:
        return repr(seconds), "s"
    match = _NUMBER.fullmatch(_without_error(text))
    if match is not None and (not match[2] or _UNIT.fullmatch(match[2])):
        return match[1], match[2]
    cell = quoted(text.strip())
    if is_missing(text) and text.strip().lower() != "nan":
        raise source.error("a number is missing", spot(index), hint=_HOLE)
    if text.strip().lower().lstrip("+-") in ("nan", "inf", "infinity"):
        raise source.error(f"{cell} is not a finite number", spot(index), hint=_HOLE)
    hint = None
    if re.fullmatch(r"[+-]?[0-9]{1,3}([ ,.'’_\u00a0\u202f][0-9]{3})+([.,][0-9]+)?", text.strip()):
        hint = "Write numbers without separators of thousands."
    raise source.error(f"{cell} is not a number", spot(index), hint=hint)


_HOLE = "Leave the whole row out, or judge with --unpaired from a file without it."


def _refuse_ambiguous_commas(
    numbers: Sequence[str], source: SourceText, spot: Spot, decimal_comma: str
) -> None:
    commas = [index for index, number in enumerate(numbers) if "," in number]
    points = [index for index, number in enumerate(numbers) if "." in number]
    if points and (commas or decimal_comma):
        comma = numbers[commas[0]] if commas else decimal_comma.strip()
        raise source.error(
            f"{quoted(comma)} has a decimal comma, {quoted(numbers[points[0]])} a decimal point",
            spot(commas[0] if commas else points[0]),
            hint="Write all numbers with a decimal point.",
        )
    if decimal_comma or not commas:
        return
    if all(_THOUSANDS.fullmatch(numbers[index]) for index in commas):
        raise source.error(
            f"{quoted(numbers[commas[0]])} could be a decimal comma or a separator of thousands",
            spot(commas[0]),
            hint="Write numbers with a decimal point and without separators of thousands.",
        )


def _refused(text: str, value: float, source: SourceText, position: TextPosition) -> Exception:
    cell = quoted(text.strip())
    if not np.isfinite(value):
        return source.error(f"{cell} is not a finite number", position, hint=_HOLE)
    what = "zero" if value == 0 else "negative"
    return source.error(
        f"{cell} is {what}: arms are compared by ratios, which need positive numbers",
        position,
        hint="Write what was measured instead of its changes; leave the row out, of every arm, "
        "where nothing was.",
    )
