"""Reads hyperfine's `--export-json`: all repetitions of one command, then all of the next."""

from __future__ import annotations

from typing import Any

from steelyard.foreign.format import JsonFormat
from steelyard.foreign.json.document import Document, Number
from steelyard.foreign.metric import TIME, Metric
from steelyard.foreign.number import floats_of
from steelyard.foreign.series import Order, Series, Sheet
from steelyard.foreign.source import Place, quoted


def is_hyperfine(value: Any) -> bool:
    """Whether a JSON value is such an export."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("results"), list)
        and bool(value["results"])
        and all(isinstance(one, dict) and "command" in one for one in value["results"])
    )


def read_hyperfine(document: Document) -> Sheet:
    """An arm a command, its times in seconds (older exports without times: the mean alone)."""
    series, failed = [], []
    for number, result in enumerate(document.values[0]["results"]):
        arm = str(result["command"])
        key = "times" if isinstance(result.get("times"), list) and result["times"] else "mean"
        texts = result["times"] if key == "times" else [result.get("mean")]

        def spot(index: int, number: int = number, key: str = key) -> Place:
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


FORMAT = JsonFormat("hyperfine", "an export of hyperfine", is_hyperfine, read_hyperfine)
