"""Counts what became of every statement of a log: the shares of all outcomes add up to the log."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from enum import StrEnum

from steelyard.workloads.capturing.completeness import Completeness


class StatementOutcome(StrEnum):
    """What became of a statement; the value is how it is worded."""

    CAPTURED = "captured"
    FAILED = "statements that failed"
    IN_FAILED = "other statements of transactions in which one failed"
    OPEN = "transactions that were open at the end of their session or of the log"
    RUNNING = "statements that were running at the end of their session or of the log"
    CUT_ENTRY = "entries that were cut off, or still being written"
    OTHER_FORMAT = "statements in lines of another format than the log's"
    NO_BEGIN = "transactions whose BEGIN is not in the log"
    FETCH = "further fetches from a portal"
    NOT_EXECUTED = "statements that were parsed or bound, and not executed"
    FASTPATH = "calls by the fast path, and the transactions around them"
    NO_TEXT = "durations without their statement (log_duration alone)"
    OTHER_LANGUAGE = "entries in another language than English (lc_messages)"
    OTHER_DATABASE = "statements of other databases"
    NODES = "statements that nodes of Citus sent each other, and the transactions around them"
    TWO_PHASE = "two-phase commits: their names cannot be repeated"
    SESSION = "commands of the session, cursors, COPY and maintenance"
    SERVER = "commands to the server: its settings, files, backups, roles, other servers"
    SEVERAL = "statements that cannot be parsed, or several in one message"
    NO_VALUES = "statements whose parameters are not in the log"
    CUT_VALUES = "transactions whose values are cut off"
    LONG_TEXT = "statements whose text is longer than is kept (1 MiB)"
    LARGE = "transactions with more text and values than a script holds (16 MiB)"
    BINARY_VALUES = "statements with binary values of a type that is not read"
    ENCODING = "statements in an encoding that is not known"
    NOT_RECORDED = "statements after the file of notes was full, or the disk too slow for it"
    MANY_VALUES = "statements with more values than a script can draw"
    WRITES = "transactions that write"
    NO_ROOM = "kinds for whose texts and values memory was full (256 MiB each)"
    BEYOND = "kinds beyond those that take most time (--most)"
    REFUSED = "kinds that the server cannot prepare (--server)"
    NO_COLUMN = "statements with values that meet no column"
    LIST_LENGTH = "statements with lists whose length is not counted (PostgreSQL 18)"
    NO_STATISTICS = "statements whose columns have no statistics (ANALYZE)"
    HIDDEN = "statements of other roles, whose text the server does not show (pg_read_all_stats)"
    NO_SESSION = "commands of sessions and transactions: what belongs together is not counted"


LOGGED_WITHOUT_VALUES = (StatementOutcome.NO_VALUES, StatementOutcome.CUT_VALUES)
LOGS_VALUES = "log_parameter_max_length = -1 (and no log_error_verbosity = terse)"
"""What a server is set to so that its log has parameters, and none is cut off."""
_ENOUGH_TIMED = 0.99
"""Of the executed statements; the few others were quick, or failed unseen."""
_MOST_SETTINGS = 1000
_FEWEST_TIMED = 20
"""With log_min_duration_statement = 0 one of so many is quick: a BEGIN takes microseconds."""


@dataclass
class CaptureLedger:
    """Statements and seconds by outcome."""

    statements: Counter[StatementOutcome] = field(default_factory=Counter)
    seconds: dict[StatementOutcome, float] = field(default_factory=lambda: defaultdict(float))
    read: int = 0
    """Statements that a reader has taken out of a log, each of which gets one outcome."""
    completeness: Completeness = field(default_factory=Completeness)
    """Of a log, as far as its statements show it."""
    plans: int = 0
    """Plans of auto_explain, which are no statements."""
    audited: int = 0
    """Entries of pgAudit, which say no duration and belong to statements that are logged or not."""
    databases: Counter[str] = field(default_factory=Counter)
    """Statements by the database in which they were executed, as far as the log says."""
    executed: int = 0
    """Statements read that did not fail."""
    timed: int = 0
    """Of these, those whose duration is in the log."""
    sets: Counter[str] = field(default_factory=Counter)
    """How often sessions set what decides which tables or plans their statements meet, by its
    name."""
    logins: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Sessions that did something by their database and user, where both are known."""
    forgotten: int = 0
    """How often a server that counts statements made room for others by forgetting some."""

    def note_setting(self, name: str, times: int = 1) -> None:
        """Count that a session set something; of many names not all, for an application may make
        them up."""
        if name in self.sets or len(self.sets) < _MOST_SETTINGS:
            self.sets[name] += times

    def enter(self, outcome: StatementOutcome, seconds: float = 0.0, statements: int = 1) -> None:
        """Count statements under what became of them."""
        self.statements[outcome] += statements
        self.seconds[outcome] += seconds

    def move(
        self, before: StatementOutcome, after: StatementOutcome, seconds: float, statements: int
    ) -> None:
        """Count statements under another outcome than they had."""
        self.enter(before, -seconds, -statements)
        self.enter(after, seconds, statements)

    @property
    def total(self) -> int:
        """Statements of all outcomes."""
        return self.statements.total()

    @property
    def total_s(self) -> float:
        """Seconds of all outcomes."""
        return sum(self.seconds.values())

    @property
    def timed_share(self) -> float:
        """Of the executed statements, those whose duration is known."""
        return self.timed / self.executed if self.executed else 1.0

    @property
    def is_timed(self) -> bool:
        """Whether times are those of all statements, and not of the slow ones alone: with
        log_min_duration_statement beside log_statement the others are logged without."""
        return self.timed_share >= _ENOUGH_TIMED

    @property
    def is_slow_alone(self) -> bool:
        """Whether the log seems to have slow statements alone."""
        return self.timed >= _FEWEST_TIMED and self.completeness.lacks_quick

    def copy(self) -> CaptureLedger:
        """Another ledger with the same counts."""
        seconds = defaultdict(float, self.seconds)
        return replace(self, statements=Counter(self.statements), seconds=seconds)

    def require_balance(self) -> None:
        """RuntimeError unless every statement that was read has its outcome: a defect here."""
        if self.read != self.total:
            raise RuntimeError(f"{self.total} outcomes for {self.read} statements of the log")
