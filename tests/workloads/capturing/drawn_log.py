"""Draws logs of sessions of which it is known what became of every statement."""

from __future__ import annotations

import csv
import io
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.workloads.capturing.ledger import StatementOutcome

Said = tuple[str, str, StatementOutcome]
"""ok, fail, fetch or prepared; the text; what becomes of it."""
DONE, FAILED, IN_FAILED, SEVERAL, TWO_PHASE = (
    StatementOutcome.CAPTURED, StatementOutcome.FAILED, StatementOutcome.IN_FAILED,
    StatementOutcome.SEVERAL, StatementOutcome.TWO_PHASE,
)  # fmt: skip


def _all(outcome: StatementOutcome, *texts: str) -> list[Said]:
    return [("ok", text, outcome) for text in texts]


READ = "SELECT a FROM t WHERE id = 7"
UNITS: tuple[list[Said], ...] = (
    _all(DONE, READ),
    [("prepared", "SELECT a FROM t WHERE id = $1", DONE)],
    _all(DONE, "BEGIN", READ, READ, "COMMIT"),
    _all(DONE, "start transaction read only", READ, "ROLLBACK"),
    _all(DONE, "/* a */ begin", "SAVEPOINT x", READ, "ROLLBACK TRANSACTION TO x", "END"),
    _all(DONE, "BEGIN", READ, "COMMIT AND CHAIN", READ, "COMMIT AND NO CHAIN"),
    _all(DONE, "BEGIN", "SET LOCAL work_mem = '8MB'", READ, "commit;"),
    [("fail", READ, FAILED)],
    [
        ("ok", "BEGIN", IN_FAILED), ("ok", READ, IN_FAILED), ("fail", READ, FAILED),
        ("ok", "ROLLBACK", IN_FAILED),
    ],
    [("ok", "BEGIN", IN_FAILED), ("ok", READ, IN_FAILED), ("fail", "COMMIT", FAILED)],
    [
        ("ok", "BEGIN", IN_FAILED), ("ok", "SAVEPOINT x", IN_FAILED), ("fail", READ, FAILED),
        ("ok", "ROLLBACK TO SAVEPOINT x", IN_FAILED), ("ok", READ, IN_FAILED),
        ("ok", "COMMIT", IN_FAILED),
    ],
    [("fail", "BEGIN; SELECT 1 / 0; COMMIT", FAILED), ("ok", "ROLLBACK", IN_FAILED)],
    _all(SEVERAL, "SELECT 1; SELECT 2"),
    _all(SEVERAL, "BEGIN; SELECT 1; COMMIT"),
    _all(SEVERAL, "BEGIN; SELECT 1", READ, "COMMIT"),
    _all(SEVERAL, "BEGIN", READ, "COMMIT; BEGIN", READ, "COMMIT"),
    _all(TWO_PHASE, "BEGIN", READ, "PREPARE TRANSACTION 'g'"),
    _all(TWO_PHASE, "COMMIT PREPARED 'g'"),
    [("fetch", "SELECT a FROM t", StatementOutcome.FETCH)],
    _all(StatementOutcome.WRITES, "UPDATE t SET a = 1"),
    _all(StatementOutcome.SESSION, "SET work_mem = '8MB'"),
    _all(StatementOutcome.NO_BEGIN, "COMMIT"),
)  # fmt: skip
LAST = (
    _all(StatementOutcome.OPEN, "BEGIN", READ),
    _all(StatementOutcome.OPEN, "BEGIN; SELECT 1", READ),
)
"""What a session may end within."""


@dataclass
class Drawn:
    """Entries of a log in their order, and the truth about them."""

    entries: list[dict[str, str]] = field(default_factory=list)
    statements: Counter[StatementOutcome] = field(default_factory=Counter)
    ms: dict[StatementOutcome, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, process: int, severity: str, message: str, **more: str) -> None:
        """The next entry."""
        number = len(self.entries)
        self.entries.append(
            {
                "time": f"2026-11-27 10:{number // 600:02}:{number // 10 % 60:02}."
                f"{number % 10}00 UTC",
                "process": str(process), "severity": severity, "message": message, **more,
            }
        )  # fmt: skip

    def count(self, outcome: StatementOutcome, ms: float) -> None:
        """The truth about a statement."""
        self.statements[outcome] += 1
        self.ms[outcome] += ms


def draw_log(seed: int) -> Drawn:
    """A log of a few processes, each with sessions one after another."""
    draw, drawn = random.Random(seed), Drawn()
    running = {process: _sessions(draw, drawn, process) for process in range(1, 5)}
    while running:
        process = draw.choice(list(running))
        if next(running[process], None) is None:
            del running[process]
    return drawn


def _sessions(draw: random.Random, drawn: Drawn, process: int) -> Iterator[bool]:
    """Writes an entry, or those of one message, each time that it is asked."""
    for _ in range(draw.randint(1, 3)):
        drawn.add(process, "LOG", "connection received: host=[local]")
        yield True
        ends_within = draw.random() < 0.3
        units = [draw.choice(UNITS) for _ in range(draw.randint(0, 6))]
        for unit in [*units, draw.choice(LAST)] if ends_within else units:
            for said in unit:
                _say(draw, drawn, process, said)
                yield True
        # A next session of the same process, unless the log ends there, follows in any case.
        end = draw.choice(("disconnection", "FATAL", "nothing"))
        if end == "disconnection":
            drawn.add(process, "LOG", "disconnection: session time: 0:00:01.000 user=app")
        elif end == "FATAL":
            drawn.add(process, "FATAL", "terminating connection due to administrator command")
        yield True


def _say(draw: random.Random, drawn: Drawn, process: int, said: Said) -> None:
    how, text, outcome = said
    ms = draw.randint(1, 9000) / 1000
    took = f"duration: {ms:.3f} ms  "
    if how == "ok" and draw.random() < 0.3:  # log_statement and log_duration
        drawn.add(process, "LOG", f"statement: {text}")
        drawn.add(process, "LOG", f"duration: {ms:.3f} ms")
    elif how == "ok":
        drawn.add(process, "LOG", f"{took}statement: {text}")
    elif how == "prepared":
        drawn.add(process, "LOG", f"{took}parse py:0x1: {text}")
        drawn.add(process, "LOG", f"{took}bind py:0x1: {text}")
        detail = "Parameters: $1 = 'it''s'"
        drawn.add(process, "LOG", f"{took}execute py:0x1: {text}", detail=detail)
        ms *= 3
    elif how == "fetch":
        drawn.add(process, "LOG", f"{took}execute fetch from S_1/C_2: {text}")
    else:
        if draw.random() < 0.5:
            drawn.add(process, "LOG", f"statement: {text}")
        drawn.add(process, "ERROR", "could not serialize access", statement=text)
        ms = 0.0
    drawn.count(outcome, ms)


def cut_last(drawn: Drawn) -> None:
    """Add an entry of which a copy of the log has only a part."""
    drawn.add(99, "LOG", "duration: 2.500 ms  statement: SELECT broken off")
    drawn.count(StatementOutcome.CUT_ENTRY, 2.5)


def _stderr(entry: dict[str, str]) -> str:
    head = f"{entry['time']} [{entry['process']}] "
    lines = [f"{head}{entry['severity']}:  {entry['message']}"]
    if "detail" in entry:
        lines.append(f"{head}DETAIL:  {entry['detail']}")
    if "statement" in entry:
        lines.append(f"{head}STATEMENT:  {entry['statement']}")
    return "".join(line + "\n" for line in lines)


def _csv(entry: dict[str, str]) -> str:
    row = [""] * 26
    row[0], row[3], row[5] = entry["time"], entry["process"], entry["process"]
    row[11], row[13] = entry["severity"], entry["message"]
    row[14], row[19] = entry.get("detail", ""), entry.get("statement", "")
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(row)
    return text.getvalue()


def _json(entry: dict[str, str]) -> str:
    named = {"time": "timestamp", "process": "pid", "severity": "error_severity"}
    return json.dumps({named.get(name, name): value for name, value in entry.items()}) + "\n"


WRITTEN: dict[str, Callable[[dict[str, str]], str]] = {
    "stderr": _stderr, "csv": _csv, "json": _json,
}  # fmt: skip


def write_log(drawn: Drawn, folder: Path, kind: str, files: int, *, is_cut: bool) -> list[Path]:
    """Write the log into so many files, whose names are in no order of time."""
    size = -(-len(drawn.entries) // files)
    paths = []
    for number in range(files):
        part = drawn.entries[number * size : (number + 1) * size]
        text = "".join(WRITTEN[kind](entry) for entry in part)
        if is_cut and number == files - 1:
            text = text[: text.rindex("broken") + 3]
        path = folder / f"{'mza'[number]}.{kind}"
        path.write_text(text, encoding="utf-8")
        if text:
            paths.append(path)
    return sorted(paths)
