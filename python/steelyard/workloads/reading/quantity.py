"""Evaluates a number of `workload.toml` that may follow the options: in the script language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from steelyard._core import script_statements

Quantity = Annotated[int, Field(ge=0)] | str
"""A number, or an expression of the options that load, such as "1000 + 10 * :added"."""


def evaluated(quantity: Quantity, variables: Mapping[str, str | int]) -> int:
    """The number. ValueError: it cannot be evaluated, or is no whole number from 0 on."""
    if isinstance(quantity, int):
        return quantity
    script = f"\\set quantity {quantity}\nSELECT :quantity;"
    given = {name: str(value) for name, value in variables.items()}
    try:
        told = script_statements("", script, given)[0].removeprefix("SELECT ").removesuffix(";")
    except ValueError as error:
        reason = str(error).splitlines()[0].split(": ", 1)[-1]
        raise ValueError(f'"{quantity}": {reason}') from error
    if not told.isdigit():
        raise ValueError(f'"{quantity}": it is {told}, and no whole number from 0 on')
    return int(told)
