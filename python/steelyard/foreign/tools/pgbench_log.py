"""Reads pgbench's log of transactions (`-l`): a line has its latency, and when it ended.

    client  transaction  latency_us  script  seconds  microseconds  [lag_us]  [retries]

The latency of a transaction that was skipped or failed is a word; such lines are counted and left
out of the latency (pgbench's documentation, "Per-Transaction Logging"). Scripts are only numbered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.foreign.format import TextFormat
from steelyard.foreign.series import Floats, Sheet
from steelyard.foreign.source import SourceText, TextPosition, quoted
from steelyard.foreign.tools.request_times import sheet_of_requests

_LINE = re.compile(r"[0-9]+ [0-9]+ (?:[0-9]+|[a-z]+) [0-9]+ [0-9]{9,11} [0-9]{1,6}(?: [0-9]+){0,2}")
_WORDS = {"skipped", "failed", "serialization", "deadlock", "other", "serialization_failure"}


def is_log(source: SourceText) -> bool:
    """Whether a text begins as such a log."""
    return _LINE.fullmatch(source.text.lstrip("\n").partition("\n")[0].rstrip()) is not None


def read_log(source: SourceText) -> Sheet:
    """Mean latency of consecutive transactions, at most 2,000 rows, and throughput by seconds."""
    latencies: list[float] = []
    ends: list[float] = []
    scripts: list[str] = []
    left_out: dict[str, int] = {}
    for number, line in enumerate(source.text.split("\n"), start=1):
        if not line or line.isspace():
            continue
        cells = line.split()
        try:
            # All the rest of a line is checked by its shape only where this fails.
            latency, ended = float(int(cells[2])), int(cells[4]) + int(cells[5]) / 1e6
        except (ValueError, IndexError, OverflowError):
            word = cells[2] if len(cells) > 2 else ""
            if word not in _WORDS:
                raise _torn(source, number, line) from None
            left_out[word] = left_out.get(word, 0) + 1
            continue
        if latency < 0 or len(cells[4]) > 11:
            raise _torn(source, number, line)
        latencies.append(latency)
        ends.append(ended)
        scripts.append(cells[3])
    if not latencies:
        raise source.error("no transaction that was completed", TextPosition(1, 1))
    return _sheet(source, np.array(latencies), np.array(ends), scripts, left_out)


def _sheet(
    source: SourceText,
    latencies: Floats,
    ends: Floats,
    scripts: Sequence[str],
    left_out: Mapping[str, int],
) -> Sheet:
    return sheet_of_requests(
        source,
        "pgbench -l",
        latencies,
        ends,
        unit="µs",
        rate="transactions/s",
        noun="transactions",
        least=0.5,
        troubled=sum(left_out.values()),
        notes=[f"{count} transactions were {word}" for word, count in sorted(left_out.items())],
        labels=scripts,
        label="script",
    )


def _torn(source: SourceText, number: int, line: str) -> Exception:
    return source.error(
        f"{quoted(line)} is no line of a log of pgbench",
        TextPosition(number, 1),
        hint="A log that was cut off may end in half a line: remove it.",
    )


FORMAT = TextFormat("pgbench-log", is_log, read_log, precedence=2)
