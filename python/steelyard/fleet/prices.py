"""Reads what hosts cost from a table of TOML: name of a host, or kind of host → price."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from steelyard.history.entry import Entry
from steelyard.model.errors import UsageError
from steelyard.model.files.small_file import parse_toml, read_small
from steelyard.model.price import ACCEPTED, Price, parse_price

EXAMPLE = 'Write a line a host, or a kind of host: [prices], then "db1" = "0.504 USD/h".'


def read_prices(file: Path, entries: Sequence[Entry]) -> Mapping[str, Price]:
    """The prices of a file. UsageError: it cannot be read, a price is none, several currencies are
    mixed, or a name is of no host and no kind in these records."""
    try:
        read = parse_toml(read_small(file))
    except OSError as error:
        raise UsageError(f'could not read prices "{file}": {error.strerror}') from error
    except UnicodeDecodeError as error:
        raise UsageError(f'could not read prices "{file}": it is not UTF-8 text') from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f'cannot parse prices "{file}": {error}', hint=EXAMPLE) from error
    table = read.get("prices")
    if not isinstance(table, dict) or not table or set(read) != {"prices"}:
        raise UsageError(f'"{file}" is not a table of prices', hint=EXAMPLE)
    prices = {name: _price(file, name, value) for name, value in table.items()}
    currencies = {price.currency for price in prices.values()}
    if len(currencies) > 1:
        listing = ", ".join(sorted(price or "none" for price in currencies))
        raise UsageError(
            f'"{file}" has prices in several currencies ({listing})',
            hint="Give all in one: what they are worth in each other is not known here.",
        )
    _require_known(file, prices, entries)
    return prices


def _price(file: Path, name: str, value: object) -> Price:
    if isinstance(value, dict):  # TOML takes a dot for the border of a table
        dotted = f"{name}.{next(iter(value), '...')}"
        raise UsageError(
            f'"{file}": price of "{name}" is a table',
            hint=f'A name that has dots stands in quotes: "{dotted}" = "0.504 USD/h".',
        )
    if not isinstance(value, str):
        raise UsageError(
            f'"{file}": price of "{name}" is no text: {value!r}', hint=f"Accepted: {ACCEPTED}."
        )
    try:
        return parse_price(value)
    except ValueError as error:
        raise UsageError(f'"{file}": price of "{name}": {error}') from error


def _require_known(file: Path, prices: Mapping[str, Price], entries: Sequence[Entry]) -> None:
    known = {entry.machine.hostname for entry in entries} | {entry.kind for entry in entries}
    unknown = [name for name in prices if name not in known]
    if unknown and entries:
        raise UsageError(
            f'"{file}": no record is of a host or a kind of host "{unknown[0]}"',
            hint=f"There are {', '.join(sorted(filter(None, known)))}.",
        )
