"""Finds the statements in a log's entries: text, parameters, duration, session, and what failed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from steelyard.workloads.capturing.ledger import CaptureLedger, StatementOutcome
from steelyard.workloads.capturing.logs import messages
from steelyard.workloads.capturing.logs.entry import LogEntry
from steelyard.workloads.capturing.logs.prefixes import levels
from steelyard.workloads.capturing.memory import MOST_SESSIONS
from steelyard.workloads.capturing.workers import is_of_node, without_workers

Protocol = Literal["simple", "extended", "prepared"]

_FIRST = ("duration: ", "statement: ", "execute ")
_SESSION_BORDER = re.compile(r"connection (?:received|authorized|authenticated):|disconnection:")
_SERVER_ENDS = (
    "all server processes terminated", "terminating any other active server processes",
    "database system was ", "starting PostgreSQL ", "received immediate shutdown request",
)  # fmt: skip
_NESTED, _STRAY = "already a transaction in progress", "no transaction in progress"
_UNREAD = (StatementOutcome.CUT_ENTRY, StatementOutcome.OTHER_FORMAT)
_STEPS = 2
"""Durations of parse and bind that log_duration may write before the statement's own entry."""
_MOST_PREPARED = 1000
_GIVES_UP = re.compile(r"\s*(?:discard|deallocate)\b", re.IGNORECASE)


@dataclass(frozen=True)
class LoggedStatement:
    """A statement of a log."""

    session: str
    ended: float  # seconds, on the log's clock
    duration_ms: float | None  # of parse, bind and execute; None: the log does not say
    text: str
    protocol: Protocol
    parameters: tuple[str | None, ...] = ()
    whole: bool = True  # whether its parameters are in the log, none of them cut off
    user: str = ""
    database: str = ""
    application: str = ""
    outcome: StatementOutcome | None = None
    """Why it cannot be repeated; None: it was executed, and may be."""
    nested: bool = False
    """Whether the server warned that a transaction was in progress."""
    stray: bool = False
    """Whether the server warned that none was."""
    exact: bool = True
    """Whether `ended` has fractions of a second."""
    types: tuple[str | None, ...] = ()
    """Of the parameters, as SQL names them, where the client declared them; a log has none."""
    parsed: bool = False
    """Whether it was parsed for this execution, and not for one before."""
    vxid: str = ""
    """The virtual transaction that was open when it had been executed: 4/17; 4/0: none was; empty:
    it is not known."""

    @property
    def length(self) -> int:
        """Characters of its text and values."""
        return len(self.text) + sum(len(value) for value in self.parameters if value)

    @property
    def seconds(self) -> float:
        """Its duration; one that is not known counts as 0."""
        return (self.duration_ms or 0.0) / 1000


@dataclass(frozen=True)
class SessionEnd:
    """A session ended; None: all did."""

    session: str | None


Event = LoggedStatement | SessionEnd


@dataclass
class _Session:
    """What is known of a session between two entries."""

    waiting: LoggedStatement | None = None
    """Logged before it was executed."""
    steps: dict[str, tuple[float, bool]] = field(default_factory=dict)
    """Of texts that were parsed or bound and not yet executed: ms, and whether they were parsed."""
    alone: list[tuple[float, str]] = field(default_factory=list)
    """Durations in ms without a text, and their virtual transactions: of parse and bind, or of what
    is not logged."""
    nested: bool = False
    stray: bool = False
    other: bool = False
    """Whether its latest entry is a statement in another language."""
    user: str = ""
    database: str = ""
    prepared: set[int] = field(default_factory=set)
    """Hashes of the names and texts that were executed: these are bound alone."""

    def steps_of(self, match: re.Match[str]) -> int:
        """How many durations without a text may be of a statement: others before them are of what
        is not logged, as with log_statement = mod."""
        name, text = match["name"] or "", match["text"]
        if match["how"] != "execute" or name.startswith(messages.FETCH):
            if _GIVES_UP.match(text) is not None:
                self.prepared.clear()
            return 0
        key = hash((name.partition("/")[0], text))
        if name.startswith("<unnamed>") or key not in self.prepared:
            if len(self.prepared) < _MOST_PREPARED:
                self.prepared.add(key)
            return _STEPS
        return 1


def statements(
    entries: Iterable[LogEntry], ledger: CaptureLedger | None = None, database: str | None = None
) -> Iterator[Event]:
    """The statements of a log in the order of its entries, and the ends of its sessions.

    `ledger`: counts what was read, and times of what was only prepared. `database`: others' are
    left out. With log_statement a statement is logged before it is executed and its duration, if
    at all, in an entry of its own afterwards.
    """
    ledger = ledger if ledger is not None else CaptureLedger()
    for event in _Reader(ledger).events(without_workers(ledger.completeness.count_gaps(entries))):
        if isinstance(event, SessionEnd):
            yield event
        else:
            ledger.completeness.note_statement(event.text, event.duration_ms)
            yield of_database(event, ledger, database)


def of_database(
    statement: LoggedStatement, ledger: CaptureLedger, database: str | None
) -> LoggedStatement:
    """The statement, which `ledger` counts; one of another database than the named one is left
    out, and one that a node of a cluster sent."""
    ledger.read += 1
    if statement.outcome is None:
        ledger.executed += 1
        ledger.timed += statement.duration_ms is not None
    if statement.database:
        ledger.databases[statement.database] += 1
    unread = not statement.database and statement.outcome in _UNREAD
    if database not in (None, statement.database) and not unread:
        return replace(statement, outcome=StatementOutcome.OTHER_DATABASE)
    if statement.outcome is None and is_of_node(statement.application, statement.text):
        return replace(statement, outcome=StatementOutcome.NODES)
    return statement


class _Reader:
    def __init__(self, ledger: CaptureLedger) -> None:
        self._ledger = ledger
        self._sessions: dict[str, _Session] = {}
        self._timed = 0
        """Durations that had entries of their own."""
        self._has_untimed = False
        """Whether statements ended without one: those that were quicker than is logged."""

    def events(self, entries: Iterable[LogEntry]) -> Iterator[Event]:
        for entry in entries:
            if entry.other_format:
                yield _without_text(entry, StatementOutcome.OTHER_FORMAT)
                continue
            if not entry.whole:
                yield from self._cut(entry)
                continue
            session = self._sessions.get(entry.session)
            if session is not None and _is_other(session, entry):
                yield from self._end_orderly(entry.session)
            if entry.severity in ("ERROR", "FATAL", "PANIC"):
                yield from self._failed(entry)
            elif entry.message.startswith("terminating connection"):
                yield from self._end(entry.session)
            elif entry.severity == "WARNING" and (
                _NESTED in entry.message or _STRAY in entry.message
            ):
                self._warn(self._of(entry), _NESTED in entry.message)
            elif entry.severity == "LOG":
                yield from self._logged(entry)
            elif entry.severity not in levels():
                yield from self._of_other_language(entry)
            if len(self._sessions) > MOST_SESSIONS:
                yield from self._end(next(iter(self._sessions)))
        # Sessions whose ends are not logged are here too: more than can have been running.
        waiting = sum(session.waiting is not None for session in self._sessions.values())
        self._has_untimed = self._has_untimed or waiting > self._timed
        for name in list(self._sessions):
            yield from self._end(name)

    def _of(self, entry: LogEntry) -> _Session:
        session = self._sessions.pop(entry.session, None) or _Session()
        self._sessions[entry.session] = session  # behind those that were silent for longer
        session.user, session.database = entry.user or session.user, entry.database
        return session

    def _logged(self, entry: LogEntry) -> Iterator[Event]:
        match = messages.STATEMENT.match(entry.message)
        loose = match is not None and messages.is_loose(entry, match)
        message, raised = entry.message, messages.is_raised(entry) and not loose
        if not raised and (alone := messages.DURATION_ALONE.match(message)) is not None:
            yield from self._duration(entry, float(alone["ms"]))
            return
        if match is None or raised or messages.is_no_sql(match):
            if message.startswith(_SERVER_ENDS):
                yield from self._end(None)
            elif _SESSION_BORDER.match(message):
                yield from self._end_orderly(entry.session)
            elif messages.PLAN.match(message):
                self._ledger.plans += 1
            elif message.startswith("AUDIT: "):
                self._ledger.audited += 1
            elif not raised and match is None:
                yield from self._of_other_language(entry)
            return
        session = self._of(entry)
        if match["how"] in ("parse", "bind"):
            text = match["text"].strip()
            ms, parsed = session.steps.get(text, (0.0, False))
            session.steps[text] = ms + float(match["ms"] or 0.0), parsed or match["how"] == "parse"
            return
        yield from self._answered(session)
        yield from self._unnamed(entry, keep=session.steps_of(match))
        statement = self._with_steps(session, _statement(entry, match))
        statement = replace(statement, nested=session.nested, stray=session.stray)
        session.nested = session.stray = False
        if loose:
            statement = replace(statement, outcome=StatementOutcome.CUT_ENTRY)
        if statement.duration_ms is None or match["ms"] is None:
            session.waiting = statement
        else:
            yield statement

    def _of_other_language(self, entry: LogEntry) -> Iterator[Event]:
        """A statement, if it is one; a duration alone is of the one before it."""
        what = messages.other_language(entry.message)
        if what is None:
            return
        session = self._of(entry)
        if what == "statement" or not session.other:
            yield _without_text(entry, StatementOutcome.OTHER_LANGUAGE)
        session.other = what == "statement"

    def _duration(self, entry: LogEntry, ms: float) -> Iterator[Event]:
        """An entry that is a duration alone: of the statement before it, or a step of the next."""
        session = self._of(entry)
        if session.waiting is None:
            session.alone.append((ms, entry.vxid))
            yield from self._unnamed(entry, keep=_STEPS)
            return
        self._timed += 1
        whole_ms = (session.waiting.duration_ms or 0.0) + ms
        yield replace(session.waiting, ended=entry.seconds, duration_ms=whole_ms, vxid=entry.vxid)
        session.waiting = None

    def _with_steps(self, session: _Session, statement: LoggedStatement) -> LoggedStatement:
        """The statement with the times of its parse and bind."""
        ms, parsed = session.steps.pop(statement.text, (0.0, False))
        ms += sum(ms for ms, _ in session.alone)
        session.alone.clear()
        if not ms and statement.duration_ms is None:
            return statement
        return replace(statement, duration_ms=(statement.duration_ms or 0.0) + ms, parsed=parsed)

    def _unnamed(self, entry: LogEntry, keep: int) -> Iterator[Event]:
        """Durations whose statements the log does not have, but for the latest; those of another
        virtual transaction are of no step of its statement."""
        session = self._of(entry)
        while session.alone and (
            len(session.alone) > keep
            or (entry.vxid and session.alone[0][1] not in ("", entry.vxid))
        ):
            ms, vxid = session.alone.pop(0)
            yield replace(_without_text(entry, StatementOutcome.NO_TEXT, ms), vxid=vxid)

    def _answered(self, session: _Session) -> Iterator[Event]:
        """A statement that had no duration before the next one began, or its session ended."""
        if session.waiting is not None:
            self._has_untimed = True
            yield session.waiting
            session.waiting = None

    def _warn(self, session: _Session, nested: bool) -> None:
        if session.waiting is not None:
            session.waiting = replace(session.waiting, nested=nested, stray=not nested)
        else:
            session.nested, session.stray = nested, not nested

    def _failed(self, entry: LogEntry) -> Iterator[Event]:
        text = entry.statement.strip()
        # Errors of the server's own processes (a cancelled autovacuum) are of no statement.
        is_client = bool(entry.user) or entry.session in self._sessions
        if not text and entry.severity == "ERROR" and not is_client:
            return
        session = self._of(entry)
        if messages.fails_at_bind(entry):
            yield from self._answered(session)
        waiting = session.waiting
        if waiting is not None and (
            waiting.text == text or (not text and entry.severity == "ERROR")
        ):
            session.waiting = None
            yield replace(waiting, outcome=StatementOutcome.FAILED, vxid=entry.vxid)
        elif text or entry.severity == "ERROR":
            # Without a text: log_min_error_statement hides it, or a transaction failed at its end.
            yield from self._answered(session)
            yield from self._unnamed(entry, keep=_STEPS)
            yield self._with_steps(
                session,
                replace(_without_text(entry, StatementOutcome.FAILED), text=text, duration_ms=0.0),
            )
        if entry.severity != "ERROR":
            yield from self._end(None if entry.severity == "PANIC" else entry.session)

    def _cut(self, entry: LogEntry) -> Iterator[Event]:
        """What is cut before its text may be a statement as well."""
        message, match = entry.message, messages.STATEMENT.match(entry.message)
        if match is not None and match["how"] not in ("parse", "bind"):
            ms = float(match["ms"] or 0.0)
            yield replace(_without_text(entry, StatementOutcome.CUT_ENTRY, ms), text=match["text"])
        elif match is None and any(word[: len(message)] == message[: len(word)] for word in _FIRST):
            yield _without_text(entry, StatementOutcome.CUT_ENTRY)

    def _end_orderly(self, name: str) -> Iterator[Event]:
        """A session that ended by itself, and no failure of which was logged."""
        if (session := self._sessions.get(name)) is not None:
            yield from self._answered(session)
        yield from self._end(name)

    def _end(self, name: str | None) -> Iterator[Event]:
        for ended in list(self._sessions) if name is None else [name]:
            session = self._sessions.pop(ended, _Session())
            if session.waiting is not None:
                is_running = self._timed and not self._has_untimed
                running = StatementOutcome.RUNNING if is_running else None
                yield replace(session.waiting, outcome=session.waiting.outcome or running)
            for ms, vxid in session.alone:
                yield LoggedStatement(
                    ended, 0.0, ms, "", "simple", database=session.database,
                    outcome=StatementOutcome.NO_TEXT, vxid=vxid,
                )  # fmt: skip
            for ms, _ in session.steps.values():
                self._ledger.enter(StatementOutcome.NOT_EXECUTED, ms / 1000, statements=0)
        yield SessionEnd(name)


def _is_other(session: _Session, entry: LogEntry) -> bool:
    """Whether the entry is of a later session of the same process id."""
    return bool(
        (session.user and entry.user and session.user != entry.user)
        or (session.database and entry.database and session.database != entry.database)
    )


def _without_text(
    entry: LogEntry, outcome: StatementOutcome, ms: float | None = None
) -> LoggedStatement:
    return LoggedStatement(
        entry.session, entry.seconds, ms, "", "simple", user=entry.user, database=entry.database,
        application=entry.application, outcome=outcome, exact=entry.exact, vxid=entry.vxid,
    )  # fmt: skip


def _statement(entry: LogEntry, match: re.Match[str]) -> LoggedStatement:
    name, outcome = match["name"], None
    if name is not None and name.startswith(messages.FETCH):
        outcome = StatementOutcome.FETCH
    elif match["fast"]:
        outcome = StatementOutcome.FASTPATH
    protocol: Protocol = "simple"
    if name is not None:
        protocol = "extended" if name.startswith("<unnamed>") else "prepared"
    parameters, whole = messages.read_parameters(entry.detail)
    return LoggedStatement(
        session=entry.session,
        ended=entry.seconds,
        duration_ms=None if match["ms"] is None else float(match["ms"]),
        text=match["text"].strip(),
        protocol=protocol,
        parameters=parameters,
        whole=whole and not entry.doubtful,
        user=entry.user,
        database=entry.database,
        application=entry.application,
        outcome=outcome,
        exact=entry.exact,
        vxid=entry.vxid,
    )
