"""Reads dates and moments as people, spreadsheets, logs and tools write them.

ISO 8601; 21.11.2026, 11/21/2026 and 2026/11/21; `Nov 21 2026`, `21/Nov/2026:14:03:00 +0000`, what
`date` prints; with a time of day in 24 hours or with AM and PM, a weekday, a zone. Between slashes
the day may stand before or behind the month: that of the two readings is meant in which the dates
of a column are closer together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import numpy as np

from steelyard.foreign.series import Floats

DAY = 86_400.0
"""Seconds."""
_MOST_OF_A_DAY = 80_000.0
"""Seconds; a time of day that falls by so many is of the next day."""
_MOST_OF_A_YEAR = 300 * DAY
_LEAP_YEAR = 2000
"""Of dates without a year."""
_SPAN = (1900, 2200)
_MONTHS = {
    name: month
    for month, names in enumerate(
        (
            *("jan january januar jän jänner", "feb february februar", "mar march mär märz mrz"),
            *("apr april", "may mai", "jun june juni", "jul july juli", "aug august"),
            *("sep sept september", "oct october okt oktober", "nov november"),
            "dec december dez dezember",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_CLOCK = re.compile(
    r"(?<![\d:.])(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?:\s*([ap])\.?m\b\.?)?"
    r"(?:\s*(z\b|[+-]\d{2}(?::?\d{2})?(?!\d)))?(?![\d:])",
    re.IGNORECASE,
)
_GLUE = re.compile(r"(?<=\d)T(?=\s|$)")
_GLUED = re.compile(r"(?<=\d)T(?=\d)|(?<=\d{4}):(?=\d{1,2}:\d{2})")
"""Between a date and a time of day, besides a blank."""
_BARE_CLOCK = re.compile(r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?|\d{1,2}:\d{2}")
_WEEKDAY = re.compile(
    r"\b(?:(?:mon|tues?|wednes|thurs?|fri|satur|sun)(?:day)?|wed|thu|sat|mo|di|mi|do|fr|sa|so"
    r"|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|sonnabend)\b[.,]*",
    re.IGNORECASE,
)
_ZONE = re.compile(r"\b(?:utc|gmt|[A-Z]{3,5}|Uhr|at|um)\b")
_YEAR_FIRST = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")
_DOTTED = re.compile(r"(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4}|\d{2})")
_SLASHED = re.compile(r"(\d{1,2})[-/](\d{1,2})[-/](\d{4}|\d{2})")
_DAY_FIRST = re.compile(rf"(\d{{1,2}})\.?[ /-]?({_MONTH})\.?(?:[ /-](\d{{4}}|\d{{2}}))?", re.I)
_MONTH_FIRST = re.compile(rf"({_MONTH})\.?[ -]?(\d{{1,2}})(?:st|nd|rd|th)?(?:[ -](\d{{4}}))?", re.I)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Reading = tuple[float | None, float | None]
"""Seconds since 1970 with the day before the month, and with the month before the day."""


def are_dates(cells: Sequence[str]) -> bool:
    """Whether all cells are dates or moments."""
    return bool(cells) and _is_date(cells[0]) and bool(_readings(tuple(cells)))


def are_days(cells: Sequence[str]) -> bool:
    """Whether all cells are dates without a time of day."""
    return are_dates(cells) and not any(":" in cell for cell in cells)


def are_times_of_day(cells: Sequence[str]) -> bool:
    """Whether all cells are times of day: `14:03`, `14:03:22.5`, `2:03 PM`."""
    return bool(cells) and all(_is_time_of_day(cell.strip()) for cell in cells)


def moments_of(cells: Sequence[str]) -> Floats | None:
    """When each cell was, in seconds since 1970, shape (n,); None where one is no moment. Cells
    without a zone are read as of UTC, those without a year as of one year, or of the next one."""
    readings = _readings(tuple(cells))
    return min(readings, key=lambda moments: float(np.ptp(moments))) if readings else None


def disputed_moment(cells: Sequence[str]) -> int | None:
    """The row of a date that stands elsewhere in the order of its column where the month is read
    before the day; None where there is none."""
    readings = _readings(tuple(cells))
    if len(readings) < 2:
        return None
    first, second = (np.argsort(moments, kind="stable") for moments in readings)
    differing = np.flatnonzero(first != second)
    return int(first[differing[0]]) if len(differing) else None


def times_of_day(cells: Sequence[str]) -> Floats:
    """Seconds after midnight of cells that `are_times_of_day`, shape (n,)."""
    return np.array([_seconds(match) for cell in cells if (match := _CLOCK.search(cell))])


def after_midnight(seconds: Floats) -> Floats:
    """Times of day, shape (n,), as they go on where a day ends among them."""
    days = np.cumsum(np.diff(seconds, prepend=seconds[:1]) < -_MOST_OF_A_DAY)
    return np.asarray(seconds + DAY * days)


def _is_date(cell: str) -> bool:
    return _reading(cell) != (None, None)


@lru_cache(maxsize=2)
def _readings(cells: tuple[str, ...]) -> tuple[Floats, ...]:
    """The readings in which every cell is a moment: day first, month first, or the one they are;
    none where a cell is no moment, whatever the reading."""
    days_first, months_first = [], []
    for cell in cells:
        day_first, month_first = _reading(cell)
        if day_first is None and month_first is None:
            return ()
        days_first.append(day_first)
        months_first.append(month_first)
    readings = [
        _over_new_year(np.array(column, dtype=np.float64))
        for column in (days_first, months_first)
        if None not in column
    ]
    same = len(readings) == 2 and np.array_equal(readings[0], readings[1])
    return tuple(readings[:1] if same else readings)


def _over_new_year(moments: Floats) -> Floats:
    """Moments as they go on where times without a date, or dates without a year, begin anew."""
    if len(moments) and float(moments.min()) >= 0 and float(moments.max()) < DAY:
        return after_midnight(moments)
    first = datetime(_LEAP_YEAR, 1, 1, tzinfo=UTC)
    yearless = len(moments) and float(moments.max()) < first.timestamp() + 366 * DAY
    if not yearless or float(moments.min()) < first.timestamp():
        return moments
    years = np.cumsum(np.diff(moments, prepend=moments[:1]) < -_MOST_OF_A_YEAR)
    return np.asarray(moments + 366 * DAY * years)


def _reading(cell: str) -> Reading:
    text = cell.strip().strip("[]")
    try:
        moment = _since_1970(datetime.fromisoformat(text))
    except ValueError:
        return _free_reading(text)
    return moment, moment


def _since_1970(moment: datetime) -> float:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH).total_seconds()


def _free_reading(text: str) -> Reading:
    """Of a text that ISO 8601 does not know."""
    clock = _CLOCK.search(text)
    if clock is None:
        clock = _CLOCK.search(text := _GLUED.sub(" ", text))
    seconds = _seconds(clock) if clock is not None else 0.0
    date = text if clock is None else f"{text[: clock.start()]} {text[clock.end() :]}"
    if not date.strip():
        sure = clock is not None and clock[5] is not None
        return (seconds, seconds) if sure else (None, None)
    day_first, month_first = _days_of(date, clock is not None)
    return (
        None if day_first is None else day_first + seconds,
        None if month_first is None else month_first + seconds,
    )


@lru_cache(maxsize=4096)
def _days_of(date: str, timed: bool) -> Reading:
    """Seconds from 1970 to the beginning of the day that a date names, in either reading."""
    date = _WEEKDAY.sub(" ", _GLUE.sub(" ", date))
    date = " ".join(_ZONE.sub(_unless_month, date).replace(",", " ").split())
    days = [_days(year, month, day) for year, month, day in _dates(date, timed)]
    return (days[0], days[-1]) if days else (None, None)


def _unless_month(match: re.Match[str]) -> str:
    return match[0] if match[0].lower() in _MONTHS else " "


def _dates(date: str, timed: bool) -> list[tuple[int, int, int]]:
    """Year, month and day of a date; two of them where the day may be the month. A date needs a
    year of four digits, or a time of day: "9.6.24" is a version."""
    if match := _YEAR_FIRST.fullmatch(date):
        return [(int(match[1]), int(match[2]), int(match[3]))]
    if match := _DOTTED.fullmatch(date) or _SLASHED.fullmatch(date):
        if not timed and len(match[3]) < 4:
            return []
        day_first = (_year(match[3]), int(match[2]), int(match[1]))
        month_first = (_year(match[3]), int(match[1]), int(match[2]))
        return [day_first] if "." in date else [day_first, month_first]
    if match := _DAY_FIRST.fullmatch(date):
        day, month, year = match[1], match[2], match[3]
    elif match := _MONTH_FIRST.fullmatch(date):
        month, day, year = match[1], match[2], match[3]
    else:
        return []
    if not timed and len(year or "") < 4:
        return []
    return [(_year(year), _MONTHS[month.lower()], int(day))]


def _year(text: str | None) -> int:
    if text is None:
        return _LEAP_YEAR
    return int(text) if len(text) == 4 else 2000 + int(text)


def _days(year: int, month: int, day: int) -> float | None:
    """Seconds from 1970 to the beginning of a day; None where there is no such day."""
    if not _SPAN[0] <= year <= _SPAN[1]:
        return None
    try:
        return _since_1970(datetime(year, month, day, tzinfo=UTC))
    except ValueError:
        return None


def _seconds(clock: re.Match[str]) -> float:
    """Seconds after midnight of UTC, where a zone is written, else of the clock's own."""
    hour, half = int(clock[1]), (clock[5] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    seconds = 3600.0 * hour + 60.0 * int(clock[2]) + int(clock[3] or 0)
    return seconds + float(f"0.{clock[4] or 0}") - _offset(clock[6] or "")


def _offset(zone: str) -> float:
    """Seconds that a zone like "+01:00" is ahead of UTC."""
    digits = re.sub(r"\D", "", zone)
    if not digits:
        return 0.0
    ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0)).total_seconds()
    return -ahead if zone.startswith("-") else ahead


def _is_time_of_day(text: str) -> bool:
    match = _CLOCK.fullmatch(text)
    return match is not None and (match[5] is not None or bool(_BARE_CLOCK.fullmatch(text)))
