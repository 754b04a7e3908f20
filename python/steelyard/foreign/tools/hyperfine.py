"""Reads hyperfine's `--export-json`: all repetitions of one command, then all of the next; and its
CSV and Markdown, which hold the means alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.foreign.format import JsonFormat, TextFormat
from steelyard.foreign.json.document import Document, Number
from steelyard.foreign.metric import TIME, Metric
from steelyard.foreign.number import Spot, floats_of
from steelyard.foreign.series import Order, Series, Sheet
from steelyard.foreign.source import SourceText, TextPosition, quoted
from steelyard.foreign.tables.table import read_table
from steelyard.foreign.vocabulary.units import unit_of

_MARKDOWN = re.compile(r"\| Command \| Mean \[\w+\] \| Min")


def is_hyperfine(value: Any) -> bool:
    """Whether a JSON value is such an export."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("results"), list)
        and bool(value["results"])
        and all(isinstance(result, dict) and "command" in result for result in value["results"])
    )


def read_hyperfine(document: Document) -> Sheet:
    """An arm a command, its times in seconds (older exports without times: the mean alone)."""
    series, failed = [], []
    names = _names(document.values[0]["results"])
    for number, result in enumerate(document.values[0]["results"]):
        arm = names[number]
        key = "times" if isinstance(result.get("times"), list) and result["times"] else "mean"
        texts = result["times"] if key == "times" else [result.get("mean")]

        def spot(index: int, number: int = number, key: str = key) -> TextPosition:
            path = ("results", number, key, *((index,) if key == "times" else ()))
            return document.place(0, path)

        wrong = next((i for i, text in enumerate(texts) if not isinstance(text, Number)), None)
        if wrong is not None:
            raise document.source.error(
                f"command {quoted(arm)} has something else than a number among its {key}",
                document.place(0, ("results", number)),
            )
        values, _ = floats_of(texts, document.source, spot)
        series.append(Series(arm, values))
        codes = result.get("exit_codes")
        if isinstance(codes, list) and any(code not in ("0", None) for code in codes):
            failed.append(arm)
    return Sheet(
        source=document.source.name,
        form="hyperfine JSON",
        metrics=((Metric(TIME, "s", False), tuple(series)),),
        order=Order.SEQUENTIAL,
        notes=tuple(f"some repetitions of {quoted(arm)} ended with an error" for arm in failed),
    )


def _names(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """The commands; with their parameters where those alone tell them apart."""
    commands = [str(result["command"]) for result in results]
    if len(set(commands)) == len(commands):
        return commands
    labels = []
    for command, result in zip(commands, results, strict=True):
        parameters = result.get("parameters")
        settings = (
            [f"{name}={value}" for name, value in parameters.items()]
            if isinstance(parameters, dict)
            else []
        )
        labels.append(", ".join([command, *settings]))
    if len(set(labels)) == len(labels):
        return labels
    # With the parameters in --setup alone hyperfine does not say them.
    return [f"{name} (result {number})" for number, name in enumerate(labels, start=1)]


def is_hyperfine_table(source: SourceText) -> bool:
    """Whether a text is hyperfine's export as CSV or Markdown."""
    head = source.text.lstrip().partition("\n")[0]
    return head.startswith("command,mean,stddev,median,") or _MARKDOWN.match(head) is not None


def read_hyperfine_table(source: SourceText) -> Sheet:
    """An arm a command, its mean: one value, from which nothing can be judged."""
    table = read_table(source)
    if len(table.columns) < 2:
        raise source.error("a table of hyperfine without its means", TextPosition(1, 1))
    unit = unit_of(table.name(1).rpartition("[")[2].rstrip("]")) or "s"
    series = []
    for row, command in enumerate(table.columns[0]):
        position = table.spot(row, 1)
        values, _ = floats_of([table.columns[1][row]], source, _at(position))
        series.append(Series(command.strip(), values))
    return Sheet(
        source=source.name,
        form="hyperfine table",
        metrics=((Metric(TIME, unit, False), tuple(series)),),
        order=Order.SEQUENTIAL,
        notes=("hyperfine's JSON (--export-json) holds the repetitions, its tables do not",),
    )


def _at(position: TextPosition) -> Spot:
    return lambda _: position


TABLE = TextFormat("hyperfine-table", is_hyperfine_table, read_hyperfine_table, precedence=2)
FORMAT = JsonFormat("hyperfine", "an export of hyperfine", is_hyperfine, read_hyperfine)
