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
from steelyard.foreign.series import Factor, FactorKind, Grain, Series, Sheet
from steelyard.foreign.source import Place, Source, quoted

_NEW = re.compile(r"System achieved ([0-9]{1,15}) NOPM from ([0-9]{1,15}) (.*?) ?TPM")
_OLD = re.compile(r"System achieved ([0-9]{1,15}) (.*?) ?TPM at ([0-9]{1,15}) NOPM")
_COUNT = re.compile(r"\s*([0-9]{1,15}) (\S.*?) tpm\b")
_USERS = re.compile(r"([0-9]{1,9}) Active Virtual Users configured")
_FAILED = re.compile(r"FINISHED FAILED|Error in Virtual User", re.IGNORECASE)
_HEAD = 50
NOPM = Metric(THROUGHPUT, "NOPM", True)
TPM = Metric("tpm", "TPM", True)


def is_hammerdb(source: Source) -> bool:
    """Whether a text is HammerDB's."""
    head = source.text.split("\n", _HEAD)[:_HEAD]
    return "System achieved " in source.text or any(_COUNT.match(line) for line in head)


def read_hammerdb(source: Source) -> Sheet:
    """The results of one arm; without any, the counter's minutes."""
    nopm, tpm, lines, counted, users = [], [], [], [], list[str]()
    latest = ""
    for number, line in enumerate(source.text.split("\n"), start=1):
        new, old = _NEW.search(line), _OLD.search(line)
        if new or old:
            nopm.append(float(new[1] if new else old[3] if old else 0))
            tpm.append(float(new[2] if new else old[1] if old else 0))
            lines.append(number)
            users.append(latest)
        elif match := _COUNT.match(line):
            counted.append(float(match[1]))
        elif match := _USERS.search(line):
            latest = match[1]
        elif _FAILED.search(line):
            raise source.error(
                f"virtual users failed, the results are those of fewer: {quoted(line.strip())}",
                Place(number, 1),
                hint="Leave this run out, and ask why they failed: the arm may be the cause.",
            )
    if not lines:
        return _of_counter(source, counted)
    for name, values in (("NOPM", nopm), ("TPM", tpm)):
        if 0 in values:
            place = Place(lines[values.index(0)], 1)
            raise source.error(f"a result of 0 {name}: the run did no work, or failed", place)
    asked = (Factor("virtual users", FactorKind.LOAD, tuple(users)),) if all(users) else ()
    series = [Series("", np.array(values), factors=asked) for values in (nopm, tpm)]
    return Sheet(
        source=source.name,
        form="HammerDB results",
        metrics=((NOPM, (series[0],)), (TPM, (series[1],))),
        lines=tuple(lines),
        notes=("the results are of different numbers of virtual users",)
        if len(set(users)) > 1
        else (),
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
