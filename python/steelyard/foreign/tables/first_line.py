"""Says whether the first line of a table is its heading, where that holds numbers too: "16,17"
above latencies names versions of a server; and whether commas that cut lines could be decimal
ones."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

from steelyard.foreign.number import is_missing, is_number
from steelyard.foreign.tables.moments import are_dates
from steelyard.foreign.vocabulary.heading import Role, heading_of
from steelyard.foreign.vocabulary.units import unit_of

_SAMPLE = 1_000
_NAME = re.compile(r"[0-9]{1,4}|[0-9]{1,2}\.[0-9]{1,2}")
"""A number that names something: a version, a count of clients, a year."""
_SHORT_NAME = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,2})?")
_PLAIN = re.compile(r"[0-9]+(?:[.,][0-9]+)?")
_FRACTION = re.compile(r"([0-9]+[.,][0-9]+)\s*([A-Za-zµμ/%]*)")
"""A number with decimals, and the unit behind it."""
_QUANTITIES = {Role.METRIC, Role.STATISTIC, Role.COST, Role.OUTCOME, Role.DERIVED}
_WITH_COMMA = re.compile(
    r"[+-]?([0-9]{1,3}(?:\.[0-9]{3})+|[0-9]{1,15})"
    r",(?:([0-9]{1,15})|([0-9]{3})(?:,[0-9]{3})*(?:\.[0-9]+)?)(?:[^\W\d_][\w/]*|%)?"
)
"""A number with a comma, of whatever use: "1,02", "1.234,5", "1,234.5", "81,2ms"; the digits before
and behind it."""
_FEWEST_BELOW, _MANY_BELOW = 3, 5
_FAR = 4.0
"""A first number so many times above or below all others of its column is of another kind."""
_SCATTER = 3.0
_SHORT_DECIMALS = 3
"""So many digits and fewer are as likely decimals, behind words that differ as arms do."""
_ALIKE = 1.5
_MOST_WORDS = 4
_PROSE = {
    *("of", "the", "a", "with", "for", "from", "is", "are", "was", "were", "by", "each", "and"),
    *("to", "this", "these", "that", "it", "all", "runs", "results", "see", "note", "file", "data"),
    *("columns", "rows", "numbers", "measured", "generated", "created", "der", "die", "von", "mit"),
}
"""Words of comments that name no columns."""
Columns = Sequence[Sequence[str]]


class FirstLine(StrEnum):
    """What the first line of a table is."""

    HEADING = "heading"
    NUMBERS = "numbers"
    EITHER = "either"


def first_line(columns: Columns) -> FirstLine:
    """What it is: numbers where it holds nothing else, or numbers beside words that no heading is:
    they come again in their columns, or stand above other words, as the name of a query does. A
    word that the vocabulary knows above words is a heading, "query,16,17", unless the numbers
    beside it are surely measured, "tps = 985.312", or words below are known so too: "load",
    "vacuum". So are numbers that are written otherwise than all those below them."""
    first = [column[0] for column in columns]
    numbers = [i for i, column in enumerate(columns) if _is_value(column)]
    text_columns = [i for i, cell in enumerate(first) if i not in numbers and not is_missing(cell)]
    if not numbers:
        return FirstLine.HEADING if text_columns else FirstLine.NUMBERS
    if text_columns:
        return _of_words([columns[i] for i in text_columns], [columns[i] for i in numbers])
    if any(_is_corner(column) for column in columns):
        return FirstLine.HEADING
    return _of_numbers(columns)


def names_columns(names: Sequence[str], row: Sequence[str], text: str) -> bool:
    """Whether the cells of a comment above a row of numbers are names of its columns, and no prose:
    as many, of a few words each, none of them a sentence's, a setting, or a number behind another.
    One alone says what was measured."""
    if len(names) != len(row) or not all(map(is_number, row)):
        return False
    if len(names) == 1:
        return heading_of(text.strip()).role in (Role.METRIC, Role.STATISTIC, Role.VALUE)
    return len({*names}) == len(names) and all(map(_is_name, names))


def _is_name(text: str) -> bool:
    words = text.lower().split()
    if not 0 < len(words) <= _MOST_WORDS or is_number(text) or re.search("[=:?!]|[.]$", text):
        return False
    if not _PROSE.isdisjoint(words) or any(word.startswith("-") for word in words):
        return False
    counted = len(words) > 1 and any(map(is_number, words))
    return not (counted and heading_of(text.strip()).role is not Role.UNKNOWN)


def decimal_commas(columns: Columns) -> bool:
    """Whether commas that cut lines of numbers without a heading could be decimal ones: every
    second column has as many digits in every row, and they scatter as no measurement beside the
    column before it would."""
    numbers = [column for column in columns if _PLAIN.fullmatch(column[0].strip())]
    others = len(columns) - len(numbers)
    leading = all(not _PLAIN.fullmatch(column[0].strip()) for column in columns[:others])
    if len(numbers) % 2 or not numbers or not leading:
        return False
    pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
    return all(_could_be_one_number(whole, digits) for whole, digits in pairs)


def commas_in_numbers(lines: Sequence[str]) -> bool:
    """Whether lines that commas cut could be words and numbers with blanks between them: "off 1,02"
    is 1.02 of off, or else 2 of a thing called "off 1".

    A word with a number behind it is a name where it counts (Q 1, Q 2, Q 3), comes in turn with
    others (pg 16, pg 17), or stands before numbers that scatter no less than it does.
    """
    words, numbers = [], []
    for line in lines[:_SAMPLE]:
        cells = line.split()
        matches = [_WITH_COMMA.fullmatch(cell) for cell in cells if "," in cell]
        if len(cells) < 2 or not matches or not all(matches):
            return False
        words.append(" ".join(cell for cell in cells if "," not in cell))
        numbers.append([(m[1], m[2] or m[3]) for m in matches if m is not None])
    if any(len(parts) > 1 for parts in numbers):
        return True
    fronts, behinds = zip(*(parts[0] for parts in numbers), strict=True)
    return _no_names(words, fronts) or _digits_of_one(words, fronts, behinds)


def _no_names(words: Sequence[str], fronts: Sequence[str]) -> bool:
    """Whether words with numbers behind them name nothing: thousands have points, or several words
    have one and the same number."""
    return any("." in front for front in fronts) or (
        len(set(words)) > 1 and len(set(fronts)) == 1 and len(fronts) >= _FEWEST_BELOW
    )


def _digits_of_one(words: Sequence[str], fronts: Sequence[str], behinds: Sequence[str]) -> bool:
    """Whether digits before and behind commas, each pair after a word, could be of one number."""
    if any(digits.startswith("0") and len(digits) > 1 for digits in behinds):
        return True
    several, most = len(set(words)) > 1, max(map(len, behinds))
    short = most <= (_SHORT_DECIMALS if several else _SHORT_DECIMALS - 1)
    if _counts(fronts) or (not several and not short and _takes_turns(fronts)):
        return False
    if short and (several or len(set(fronts)) == 1):
        return True
    groups = [[row for row, each in enumerate(words) if each == word] for word in set(words)]
    return _could_be_one_number(fronts, behinds) or any(
        _tighter([fronts[row] for row in rows], [behinds[row] for row in rows])
        for rows in (range(len(words)), *groups)
    )


def _counts(fronts: Sequence[str]) -> bool:
    """Whether numbers count from 1 to 3 and on, each perhaps several times, perhaps again."""
    steps = [int(front) for front, _ in itertools.groupby(fronts)]
    onward = all(later in (1, earlier + 1) for earlier, later in itertools.pairwise(steps))
    return len(set(steps)) > 2 and steps[0] == 1 and onward


def _takes_turns(fronts: Sequence[str]) -> bool:
    """Whether a few numbers come again equally often, in turn or one after the other."""
    times = Counter(fronts)
    count, again = len(times), next(iter(times.values()))
    in_turn = list(fronts) == list(times) * again
    after_other = list(fronts) == [front for front in times for _ in range(again)]
    return count > 1 and again > 1 and (in_turn or after_other)


def _tighter(fronts: Sequence[str], behinds: Sequence[str]) -> bool:
    """Whether decimal numbers would be far closer together than the digits behind their commas,
    which lie farther apart than most repetitions."""
    decimals = [float(f"{a}.{b}") for a, b in zip(fronts, behinds, strict=True)]
    digits = [max(int(behind), 1) for behind in behinds]
    if min(decimals) <= 0 or max(decimals) >= 2 * min(decimals):
        return False
    spread, scatter = max(decimals) / min(decimals), max(digits) / min(digits)
    return scatter > _ALIKE and scatter - 1 > _SCATTER * (spread - 1)


def _of_words(text_columns: Columns, numbers: Columns) -> FirstLine:
    """Of a line of words and numbers."""
    odd = [c for c in text_columns if c[0] not in c[1:] and not _names_rows(c)]
    if not odd or all(map(_is_measurement, numbers)):
        return FirstLine.NUMBERS
    if not all(_is_quantity(column[0]) for column in odd):
        return FirstLine.HEADING
    if all(2 * sum(map(_is_quantity, set(c[1:_SAMPLE]))) > len(set(c[1:_SAMPLE])) for c in odd):
        return FirstLine.NUMBERS
    alike = all(_decimals(column[0].strip()) > 0 and _as_below(column) for column in numbers)
    return FirstLine.EITHER if alike else FirstLine.HEADING


def _is_quantity(text: str) -> bool:
    """Whether a word says what a number is, and not what the words below it are."""
    return heading_of(text.strip(" :=")).role in _QUANTITIES


def _is_measurement(column: Sequence[str]) -> bool:
    """Whether the first cell of a column is a number that can be no name, with more digits than
    versions have or with a unit, and is written as those below it are, or lies among them."""
    first = column[0].strip()
    match = _FRACTION.fullmatch(first)
    if match is None or _NAME.fullmatch(first):
        return False
    below = [_FRACTION.fullmatch(cell.strip()) for cell in column[1:_SAMPLE]]
    texts = [cell[1] for cell in below if cell is not None and cell[2] == match[2]]
    if not texts:
        return len(column) == 1
    return _as_below([match[1], *texts]) or not _outside(match[1], texts)


def _as_below(column: Sequence[str]) -> bool:
    """Whether the first of some numbers has as many decimals as each of the others."""
    return len({_decimals(cell.strip()) for cell in column[:_SAMPLE]}) == 1


def _of_numbers(columns: Columns) -> FirstLine:
    """Of a line of nothing but numbers: distinct short ones are names where those below all are
    written with more decimals, or are far from them; names of measurements otherwise."""
    first = [column[0].strip() for column in columns]
    below = [
        [cell.strip() for cell in column[1:_SAMPLE] if not is_missing(cell)] for column in columns
    ]
    if len(set(first)) < len(first) or not all(map(_NAME.fullmatch, first)):
        return FirstLine.NUMBERS
    if any(len(cells) < _FEWEST_BELOW for cells in below):
        return FirstLine.NUMBERS
    if not all(_PLAIN.fullmatch(cell) for cells in below for cell in cells):
        return FirstLine.NUMBERS
    pairs = list(zip(first, below, strict=True))
    decimals = [{_decimals(cell) for cell in cells} for cells in below]
    fewer = [_decimals(cell) < min(own) for cell, own in zip(first, decimals, strict=True)]
    outside = [_outside(cell, cells) for cell, cells in pairs]
    if len(first) == 1:
        return FirstLine.EITHER if fewer[0] and outside[0] else FirstLine.NUMBERS
    fixed = all(len(own) == 1 for own in decimals)
    if all(fewer) and fixed:
        return FirstLine.HEADING if any(outside) else FirstLine.EITHER
    short = all(_SHORT_NAME.fullmatch(cell) for cell in first)
    many = all(len(cells) >= _MANY_BELOW for cells in below)
    written = [_decimals(cell) for cell in first]
    otherwise = any(places not in own for places, own in zip(written, decimals, strict=True))
    whole = not any(written) and all(own == {0} for own in decimals)
    doubtful = all(fewer) and (short or any(outside))
    doubtful = doubtful or (short and many and all(outside) and (otherwise or whole))
    doubtful = doubtful or all(_far(cell, cells) for cell, cells in pairs)
    return FirstLine.EITHER if doubtful else FirstLine.NUMBERS


def _is_value(column: Sequence[str]) -> bool:
    """Whether the first cell of a column is a number as those below it are: "8 clients" above bare
    numbers is a heading."""
    first, below = column[0].strip(), column[1].strip() if len(column) > 1 else ""
    if not is_number(first):
        return False
    counted = first[-1:].isalpha() and " " in first and unit_of(first.rpartition(" ")[2]) is None
    return not (counted and is_number(below) and not below[-1:].isalpha())


def _is_corner(column: Sequence[str]) -> bool:
    """Whether an empty cell stands above others: the corner of a heading, no hole in a row."""
    below = [cell for cell in column[1:_SAMPLE] if cell.strip()]
    return not column[0].strip() and len(below) > 1


def _names_rows(column: Sequence[str]) -> bool:
    """Whether the first cell of a column names or dates a row, as those below it do."""
    below = [cell for cell in column[1:_SAMPLE] if not is_missing(cell)]
    has_words = bool(below) and not any(map(is_number, below))
    if has_words and are_dates([column[0], below[0]]):
        return True
    return has_words and heading_of(column[0].strip()).role is Role.UNKNOWN


def _value(text: str) -> float:
    return float(text.replace(",", "."))


def _decimals(text: str) -> int:
    return len(re.split("[.,]", text)[1]) if re.search("[.,]", text) else 0


def _outside(text: str, cells: Sequence[str]) -> bool:
    """Whether a number is beyond the range of others by more than that range."""
    values = [_value(cell) for cell in cells]
    low, high = min(values), max(values)
    return not low - (high - low) <= _value(text) <= high + (high - low)


def _far(text: str, cells: Sequence[str]) -> bool:
    values = [_value(cell) for cell in cells]
    if min(values) <= 0 or max(values) > 2 * min(values):
        return False
    return _FAR * _value(text) < min(values) or _value(text) > _FAR * max(values)


def _could_be_one_number(whole: Sequence[str], digits: Sequence[str]) -> bool:
    """Whether two columns could be what stands before and behind a decimal comma."""
    wholes, parts = [c.strip() for c in whole[:_SAMPLE]], [c.strip() for c in digits[:_SAMPLE]]
    if len({len(part) for part in parts}) > 1 or len(parts) < _FEWEST_BELOW:
        return False
    if not all(text.isdecimal() for text in (*wholes, *parts)):
        return False
    if any(part.startswith("0") and len(part) > 1 for part in parts):
        return True
    if any(text.startswith("0") for text in (*wholes, *parts)):
        return "0" in wholes
    fronts, behinds = list(map(int, wholes)), list(map(int, parts))
    if fronts == list(range(fronts[0], fronts[0] + len(fronts))) and fronts[0] <= 1:
        return False
    alike = all(b <= _ALIKE * a and a <= _ALIKE * b for a, b in zip(fronts, behinds, strict=True))
    spread, scatter = max(fronts) / min(fronts), max(behinds) / min(behinds)
    tight = scatter - 1 > _SCATTER * (spread - 1)
    return not alike and (tight or spread >= 10)
