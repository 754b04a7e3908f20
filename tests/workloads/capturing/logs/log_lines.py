"""Writes lines of logs as servers and what carries their logs write them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from steelyard.workloads.capturing.entries import read_entries
from steelyard.workloads.capturing.ledger import CaptureLedger, StatementOutcome
from steelyard.workloads.capturing.logs.entry import LogEntry
from steelyard.workloads.capturing.mix import mix_of
from steelyard.workloads.capturing.statements import statements
from steelyard.workloads.capturing.transactions import transactions

CAPTURED, CUT, FOREIGN = (
    StatementOutcome.CAPTURED, StatementOutcome.CUT_ENTRY, StatementOutcome.OTHER_FORMAT,
)  # fmt: skip
DEFAULT = "{stamp} [{process}] "


def stamp(second: float, zone: str = "UTC") -> str:
    """So many seconds after an hour."""
    minutes, seconds = divmod(second, 60)
    return f"2026-11-28 03:{int(minutes) % 60:02}:{seconds:06.3f} {zone}"


def message(text: str) -> str:
    return f"duration: 1.000 ms  statement: {text}"


def stderr(second: float, text: str, head: str = DEFAULT, *, verbose: bool = False) -> str:
    """An entry with its line feed."""
    state = "00000: " if verbose else ""
    prefix = head.format(stamp=stamp(second), process=100)
    return f"{prefix}LOG:  {state}{message(text)}".replace("\n", "\n\t") + "\n"


def csv(second: float, text: str) -> str:
    text = message(text).replace('"', '""')
    return (
        f'{stamp(second)},"joe","shop",100,"[local]",6563.64,1,"SELECT",'
        f'2026-11-28 03:00:00 UTC,3/0,0,LOG,00000,"{text}",,,,,,,,,"psql","client backend",,0\n'
    )


def jsonlog(second: float, text: str) -> str:
    fields = {
        "timestamp": stamp(second), "pid": 100, "session_id": "6563.64", "error_severity": "LOG",
        "message": message(text),
    }  # fmt: skip
    return json.dumps(fields) + "\n"


def selects(seconds: Iterable[int]) -> list[str]:
    """A statement for each second, over two lines."""
    return [f"select a\nfrom t where id = {second}" for second in seconds]


def entries(
    folder: Path, *logs: str | bytes, prefix: str | None = None, encoding: str | None = None
) -> list[LogEntry]:
    """What is read of logs."""
    return list(read_entries(written(folder, *logs), prefix, encoding))


def written(folder: Path, *logs: str | bytes) -> list[Path]:
    """The files of logs."""
    paths = [folder / f"{number}.log" for number in range(len(logs))]
    for path, log in zip(paths, logs, strict=True):
        path.write_bytes(log.encode() if isinstance(log, str) else log)
    return paths


def texts(read: Sequence[LogEntry]) -> list[str]:
    """The statements of whole entries."""
    return [
        entry.message.removeprefix(message(""))
        for entry in read
        if entry.whole and not entry.other_format
    ]


def outcomes(
    folder: Path, *logs: str | bytes, prefix: str | None = None
) -> dict[StatementOutcome, int]:
    """What becomes of the statements of logs."""
    ledger = CaptureLedger()
    mix = mix_of(transactions(statements(read_entries(written(folder, *logs), prefix), ledger)))
    for outcome, count in mix.ledger.statements.items():
        ledger.enter(outcome, statements=count)
    ledger.enter(
        StatementOutcome.CAPTURED,
        statements=sum(kind.count * len(kind.shapes) for kind in mix.kinds),
    )
    ledger.require_balance()
    return {outcome: count for outcome, count in ledger.statements.items() if count}
