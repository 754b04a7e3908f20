"""Reads HammerDB's results: the lines with NOPM and TPM, and the counter of transactions.

    Vuser 1:TEST RESULT : System achieved 42332 NOPM from 97427 PostgreSQL TPM     since 4.0
    Vuser 1:TEST RESULT : System achieved 6611 PostgreSQL TPM at 2779 NOPM         before
    81318 PostgreSQL tpm @ Fri Jan 18 12:10:57 UTC 2019                  its transaction counter

A result is one repetition, whatever the number of virtual users; counted minutes are slices.
"""

from __future__ import annotations

import re

import numpy as np

from steelyard.foreign.format import TextFormat
from steelyard.foreign.metric import THROUGHPUT, Metric
from steelyard.foreign.series import Grain, Series, Sheet
from steelyard.foreign.source import Place, Source

_NEW = re.compile(r"System achieved ([0-9]{1,15}) NOPM from ([0-9]{1,15}) (.*?) ?TPM")
_OLD = re.compile(r"System achieved ([0-9]{1,15}) (.*?) ?TPM at ([0-9]{1,15}) NOPM")
_COUNT = re.compile(r"\s*([0-9]{1,15}) (\S.*?) tpm\b")
_USERS = re.compile(r"([0-9]{1,9}) Active Virtual Users configured")
_HEAD = 50
NOPM = Metric(THROUGHPUT, "NOPM", True)
TPM = Metric("tpm", "TPM", True)


def is_hammerdb(source: Source) -> bool:
    """Whether a text is HammerDB's."""
    head = source.text.split("\n", _HEAD)[:_HEAD]
    return "System achieved " in source.text or any(_COUNT.match(line) for line in head)


def read_hammerdb(source: Source) -> Sheet:
    """The results of one arm; without any, the counter's minutes."""
    nopm, tpm, lines, counted, users = [], [], [], [], set()
    for number, line in enumerate(source.text.split("\n"), start=1):
        new, old = _NEW.search(line), _OLD.search(line)
        if new or old:
            nopm.append(float(new[1] if new else old[3] if old else 0))
            tpm.append(float(new[2] if new else old[1] if old else 0))
            lines.append(number)
        elif match := _COUNT.match(line):
            counted.append(float(match[1]))
        elif match := _USERS.search(line):
            users.add(int(match[1]))
    if not lines:
        return _of_counter(source, counted)
    for name, values in (("NOPM", nopm), ("TPM", tpm)):
        if 0 in values:
            place = Place(lines[values.index(0)], 1)
            raise source.error(f"a result of 0 {name}: the run did no work, or failed", place)
    return Sheet(
        source=source.name,
        form="HammerDB results",
        metrics=((NOPM, (Series("", np.array(nopm)),)), (TPM, (Series("", np.array(tpm)),))),
        lines=tuple(lines),
        notes=("the results are of different numbers of virtual users",) if len(users) > 1 else (),
    )


def _of_counter(source: Source, counted: list[float]) -> Sheet:
    values = np.array(counted)
    if not values.any():
        raise source.error("no result of HammerDB with NOPM and TPM in it", Place(1, 1))
    # The counter starts before the first transaction and goes on after the last.
    busy = np.flatnonzero(values)
    series = Series("", values[busy[0] : busy[-1] + 1], Grain.SLICE)
    return Sheet(source.name, "HammerDB's transaction counter", ((TPM, (series,)),))


FORMAT = TextFormat("hammerdb", is_hammerdb, read_hammerdb, precedence=4)
