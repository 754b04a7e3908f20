"""Writes kinds of transactions as a workload's folder: scripts, weights, and rows to draw from."""

from __future__ import annotations

import itertools
import json
import random
import re
import typing
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from steelyard.model.errors import UsageError
from steelyard.model.files.printable import printable_line
from steelyard.model.secrets.redaction import redacted
from steelyard.workloads.capturing.ledger import (
    LOGGED_WITHOUT_VALUES,
    LOGS_VALUES,
    CaptureLedger,
    StatementOutcome,
)
from steelyard.workloads.capturing.mix import Mix, TransactionKind
from steelyard.workloads.capturing.redacting import redacted_piece
from steelyard.workloads.capturing.scripting import script_of, texts_of
from steelyard.workloads.capturing.statements import Protocol
from steelyard.workloads.reading.arrivals import (
    ARRIVALS,
    MOST_ARRIVALS,
    Arrival,
    arrivals_text,
)
from steelyard.workloads.reading.rows import MOST_BYTES, rows_text

_WORD = re.compile(r"[a-z_][a-z0-9_]*", re.IGNORECASE)
_TABLE = re.compile(
    r"\b(?:from|into|update|join|table)\s+(?:only\s+)?(?:\w+\.)?\"?(\w+)\"?", re.IGNORECASE
)
_LONGEST_NAME = 40


class ParseError(typing.Protocol):
    """Why a server cannot parse a statement."""

    @property
    def sqlstate(self) -> str: ...
    @property
    def message(self) -> str: ...


ErrorsOf = Callable[[Sequence[str]], Sequence[ParseError | None]]
"""Asks a server of each statement why it cannot be prepared."""


@dataclass(frozen=True)
class Refused:
    """A kind that a server cannot prepare."""

    name: str
    count: int
    error: str


@dataclass(frozen=True)
class Captured:
    """What was written, and what became of every statement of the log."""

    folder: Path
    mode: Protocol
    scripts: tuple[tuple[str, TransactionKind], ...]
    ledger: CaptureLedger
    """Its shares add up to the log."""
    refused: tuple[Refused, ...] = ()
    arrivals: int | None = None
    """Whose times are kept; None: they are not known of all transactions, or too many."""

    @property
    def too_many_arrivals(self) -> int | None:
        """How many transactions there were, where they are too many for their times to be kept."""
        count = sum(kind.count for _, kind in self.scripts)
        return count if self.arrivals is None and count > MOST_ARRIVALS else None

    @property
    def statements_share(self) -> float:
        """Of the log's statements, those that are driven."""
        return self.ledger.statements[StatementOutcome.CAPTURED] / self.ledger.total

    @property
    def seconds_share(self) -> float | None:
        """Of the time that all statements took; None: the log does not say."""
        return self._share_of_time(StatementOutcome.CAPTURED)

    @property
    def left_out(self) -> tuple[tuple[StatementOutcome, float, float | None], ...]:
        """Why, with its share of the statements and of the time; the largest first."""
        rows = [
            (outcome, count / self.ledger.total, self._share_of_time(outcome))
            for outcome, count in self.ledger.statements.most_common()
            if outcome is not StatementOutcome.CAPTURED and (count or self.ledger.seconds[outcome])
        ]
        return tuple(rows)

    def _share_of_time(self, outcome: StatementOutcome) -> float | None:
        total_s = self.ledger.total_s if self.ledger.is_timed else 0.0
        return self.ledger.seconds[outcome] / total_s if total_s else None

    @property
    def protocols(self) -> Counter[Protocol]:
        """Of the statements that are driven, by how they came, those aside that begin and end
        transactions."""
        return _protocols([kind for _, kind in self.scripts])


def choose_kinds(
    mix: Mix, *, writes: bool, most: int
) -> tuple[list[TransactionKind], CaptureLedger]:
    """The kinds that are driven, those that take most time first, where that is known of too few
    statements the most frequent; and what became of every statement."""
    chosen, ledger = list[TransactionKind](), mix.ledger.copy()
    by_time = ledger.is_timed
    ranked = sorted(mix.kinds, key=lambda kind: (-max(kind.seconds, 0.0) * by_time, -kind.count))
    for kind in ranked:
        outcome = StatementOutcome.CAPTURED
        if kind.writes and not writes:
            outcome = StatementOutcome.WRITES
        elif len(chosen) == most:
            outcome = StatementOutcome.BEYOND
        else:
            chosen.append(kind)
        ledger.enter(outcome, kind.seconds, kind.count * len(kind.shapes))
    return chosen, ledger


def write_workload(
    mix: Mix,
    folder: Path,
    *,
    name: str,
    source: str,
    writes: bool = False,
    most: int = 50,
    salt: bytes | None = None,
    errors_of: ErrorsOf | None = None,
) -> Captured:
    """Write the folder, which must not exist or be empty. `salt`: of hashed texts; None: they stay.
    `errors_of`: what it names is left out.

    UsageError: nothing is left to drive, or the folder holds something.
    """
    chosen, ledger = choose_kinds(mix, writes=writes, most=most)
    refused: tuple[Refused, ...] = ()
    if errors_of is not None:
        chosen, refused = _preparable(chosen, ledger, errors_of, salt)
    if not chosen:
        counts = "; ".join(f"{n} statements: {why}" for why, n in ledger.statements.items() if n)
        raise UsageError(
            "nothing is left of the log that could be driven",
            detail=counts or "It holds no statement.",
            hint=_hint(ledger),
        )
    ledger.require_balance()
    require_new(folder)
    mode = _mode(chosen)
    scripts = [(_name(number, kind, salt), kind) for number, kind in enumerate(chosen, 1)]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it holds values, as logs do
    (folder / "scripts").mkdir()
    (folder / "rows").mkdir()
    for script, kind in scripts:
        text, rows = script_of(script, kind, mode, salt)
        _write(folder / "scripts" / f"{script}.sql", text)
        if rows:
            lines = [rows_text([row]) for row in rows]
            sample = _fair_sample(lines)
            kind.thinned = kind.thinned or len(sample) < len(lines)
            kind.rows = [kind.rows[number] for number in sample]
            _write(folder / "rows" / f"{script}.tsv", "".join(lines[number] for number in sample))
    _write(folder / "workload.toml", _description(name, source, mode, scripts))
    arrivals = _arrivals([kind for _, kind in scripts])
    if arrivals is not None:
        _write(folder / ARRIVALS, arrivals_text(arrivals))
    count = None if arrivals is None else len(arrivals)
    return Captured(folder, mode, tuple(scripts), ledger, refused, count)


def _fair_sample(lines: Sequence[str]) -> list[int]:
    """The numbers of lines that together are no larger than a file of rows may be, drawn at random:
    all of them, if they are not."""
    sizes = [len(line.encode()) for line in lines]
    if sum(sizes) <= MOST_BYTES:
        return list(range(len(lines)))
    drawn = random.Random(0).sample(range(len(lines)), len(lines))
    ends = itertools.accumulate(sizes[number] for number in drawn)
    return sorted(number for number, end in zip(drawn, ends, strict=True) if end <= MOST_BYTES)


def _arrivals(kinds: Sequence[TransactionKind]) -> list[Arrival] | None:
    """When each transaction began, from the first one on; None: it is not known of all of them, or
    they are too many."""
    if any(len(kind.arrivals_s) != kind.count for kind in kinds):
        return None
    if sum(kind.count for kind in kinds) > MOST_ARRIVALS:
        return None
    begun = sorted((at, number) for number, kind in enumerate(kinds, 1) for at in kind.arrivals_s)
    return [Arrival(round(1e6 * (at - begun[0][0])), number) for at, number in begun]


def require_new(folder: Path) -> None:
    """UsageError: the folder holds something."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f'could not write workload "{folder}": it is there already')


def _preparable(
    kinds: Sequence[TransactionKind], ledger: CaptureLedger, errors_of: ErrorsOf, salt: bytes | None
) -> tuple[list[TransactionKind], tuple[Refused, ...]]:
    """Kinds that can be prepared as they would be sent, and the others. With a salt, what the
    server said of them is left out: it may hold values."""
    mode = _mode(kinds)
    texts = [texts_of(kind, mode) for kind in kinds]
    errors = iter(errors_of([text for of_kind in texts for text in of_kind]))
    good, refused = list[TransactionKind](), list[Refused]()
    for kind, of_kind in zip(kinds, texts, strict=True):
        failures = [error for error in itertools.islice(errors, len(of_kind)) if error is not None]
        if not failures:
            good.append(kind)
            continue
        message = "" if salt is not None else f"{redacted(failures[0].message)} "
        name = _name(0, kind, salt).partition("-")[2]
        refused.append(Refused(name, kind.count, f"{message}(SQLSTATE {failures[0].sqlstate})"))
        count = kind.count * len(kind.shapes)
        ledger.move(StatementOutcome.CAPTURED, StatementOutcome.REFUSED, kind.seconds, count)
    return good, tuple(refused)


def _write(path: Path, text: str) -> None:
    """Line feeds alone, wherever: a carriage return is part of a value."""
    path.write_text(text, encoding="utf-8", newline="\n")


_ENGLISH = "The server writes English with lc_messages = C."


def _hint(ledger: CaptureLedger) -> str:
    if ledger.statements[StatementOutcome.OTHER_LANGUAGE]:
        return _ENGLISH
    if ledger.statements[StatementOutcome.HIDDEN]:
        return "GRANT pg_read_all_stats TO the role of the DSN: then the server shows all texts."
    if ledger.statements[StatementOutcome.ENCODING] > ledger.total / 2:
        return "The server's own files have the letters that what carried the log could not read."
    lost = sum(ledger.statements[why] for why in LOGGED_WITHOUT_VALUES)
    if lost > ledger.statements[StatementOutcome.WRITES]:
        return f"{LOGS_VALUES} logs parameters whole."
    if ledger.statements[StatementOutcome.WRITES]:
        return "--writes takes along transactions that write."
    return "log_min_duration_statement = 0 logs every statement with its parameters."


def _mode(kinds: Sequence[TransactionKind]) -> Protocol:
    """As most statements came. A literal that differs need not be a parameter's equal, nor stand
    where one may: where there is one, all are sent as simple."""
    if any(
        len({row[column] for row in kind.rows}) > 1 for kind in kinds for column in kind.literals
    ):
        return "simple"
    came = _protocols(kinds)
    if not came:  # A server that counts statements does not say it.
        return "extended"
    if 2 * came["simple"] >= came.total():
        return "simple"
    return "prepared" if came["prepared"] >= came["extended"] else "extended"


def _protocols(kinds: Sequence[TransactionKind]) -> Counter[Protocol]:
    """Statements by how they came. Prepared ones most of which were parsed for each execution, as
    those of PHP's PDO, cost what extended ones do, and count as such."""
    came: Counter[Protocol] = sum((kind.protocols for kind in kinds), Counter())
    if 2 * sum(kind.parsed for kind in kinds) > came["prepared"]:
        came["extended"] += came.pop("prepared")
    return came


def _name(number: int, kind: TransactionKind, salt: bytes | None) -> str:
    """`02-select-orders`: its place, what it does, and to which table."""
    texts = [redacted_piece("".join(shape.pieces), salt or b"") for shape in kind.shapes]
    parts = [match[0].lower() if (match := _WORD.search(texts[0])) else "do"]
    table = next((match for text in texts if (match := _TABLE.search(text))), None)
    if table is not None:
        parts.append(table[1].lower())
    return f"{number:02}-{'-'.join(parts)}"[:_LONGEST_NAME]


_CALLS = (
    "# It calls {}, which may write: at an address its sessions begin read-only unless --yes is\n"
    "# said."
)
_IMPLICIT = (
    "# One transaction by the server, as a pipeline is: its clients said no BEGIN and COMMIT."
)


def _description(
    name: str, source: str, mode: Protocol, scripts: Sequence[tuple[str, TransactionKind]]
) -> str:
    """workload.toml."""
    # Of JSON's escapes TOML lacks the pairs by which characters beyond U+FFFF are written.
    quoted, source = partial(json.dumps, ensure_ascii=False), printable_line(source)
    lines = [
        f"# Captured from {source}. --from brings the data.",
        f"name = {quoted(name)}",
        f"title = {quoted(f'{name}: {len(scripts)} kinds of transactions from {source}')}",
        "loaded = false",
        "tried_first = true",
        f"mode = {quoted(mode)}",
        "",
        "[options.think]",
        'title = "Pause after each transaction as its sessions did, by the median of its kind"',
        "default = false",
        "",
        "[[mixes]]",
        "scripts = {",
    ]
    lines[-1] += ", ".join(f" {quoted(script)} = {kind.count}" for script, kind in scripts) + " }"
    for script, kind in scripts:
        mean = f"{1000 * kind.seconds / kind.count:.3f} ms each on average; "
        lines += [
            "",
            f"# {kind.count} times, {mean if kind.timed else ''}fingerprint {kind.fingerprint}",
            f"[scripts.{quoted(script)}]",
            f"writes = {quoted(kind.writes)}",
        ]
        if kind.implicit:
            lines.insert(-2, _IMPLICIT)
        if kind.calls and not kind.writes:
            lines.insert(-2, _CALLS.format(", ".join(kind.calls)))
    return "\n".join(lines) + "\n"
