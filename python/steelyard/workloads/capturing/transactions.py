"""Cuts the statements of sessions into transactions."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from steelyard.workloads.capturing.leading_words import ending_words, is_local, leading_words
from steelyard.workloads.capturing.ledger import StatementOutcome
from steelyard.workloads.capturing.shapes import parsed_statements
from steelyard.workloads.capturing.statements import Event, LoggedStatement, SessionEnd

MOST_LENGTH = 16 << 20
"""Characters of a transaction's texts and values: escaped, a script or a row of it stays below what
is read again (reading/rows.py)."""
_ENDS = {"commit", "end", "rollback", "abort"}
SESSION = {
    "set", "reset", "show", "discard", "deallocate", "listen", "unlisten", "notify", "prepare",
    "execute", "copy", "load", "vacuum", "analyze", "checkpoint", "explain", "declare", "fetch",
    "close", "move", "lock",
}  # fmt: skip
"""First words of what is no part of a transaction's work, or cannot be repeated from a log."""
_ALONE = {StatementOutcome.OTHER_DATABASE, StatementOutcome.FETCH}
"""What changes nothing of the transaction around it."""
_UNKNOWN = {
    StatementOutcome.NO_TEXT, StatementOutcome.OTHER_LANGUAGE, StatementOutcome.CUT_ENTRY,
    StatementOutcome.OTHER_FORMAT,
}  # fmt: skip
"""What did something in the transaction around it, if there is one."""


@dataclass(frozen=True)
class LoggedTransaction:
    """What a session did between two moments of its own choice."""

    statements: tuple[LoggedStatement, ...]  # BEGIN and COMMIT among them where they were said
    think_s: float | None  # until the session's next one began; None: not known
    outcome: StatementOutcome | None = None
    """Why it cannot be repeated; None: it may be."""
    implicit: bool = False
    """Whether it was one by its virtual transaction alone: nothing of it said BEGIN."""

    @property
    def seconds(self) -> float:
        """Sum of its statements' durations; those that are not known count as 0."""
        return sum(statement.seconds for statement in self.statements)


@dataclass
class _Open:
    """A transaction of a session that has not ended."""

    statements: list[LoggedStatement]
    outcome: StatementOutcome | None = None
    aborted: bool = False
    """Whether a statement failed, and none but its end may follow."""
    vxid: str = ""
    """Its virtual transaction, where the log says it."""
    implicit: bool = False
    """Whether its statements are known to be one by that alone."""

    def __post_init__(self) -> None:
        self.length = sum(statement.length for statement in self.statements)

    def add(self, statement: LoggedStatement) -> None:
        self.statements.append(statement)
        self.length += statement.length


@dataclass
class _Session:
    open: _Open | None = None
    last: LoggedTransaction | None = None
    """The latest one, until it is known how long the session paused after it."""


@dataclass(frozen=True)
class TransactionEffect:
    """What a message does to the transaction of its session."""

    is_open: bool
    """Whether a transaction is open after it."""
    passes_end: bool
    """Whether one ended within it."""
    begins: bool = False
    """Whether one began within it."""
    several: bool = False
    """Whether it is several statements."""
    two_phase: bool = False


def first_word(text: str) -> str:
    """The first word of a statement, in lower case."""
    return next(iter(leading_words(text)), "")


def is_of_session(text: str, *, alone: bool = False) -> bool:
    """Whether a statement concerns its session rather than a transaction's work. `alone`: outside
    a transaction, where SET LOCAL does nothing."""
    return first_word(text) in SESSION and (alone or not is_local(text))


def effect_of(text: str, is_open: bool) -> TransactionEffect:
    """What a message does where a transaction is open or not."""
    several = ";" in text.rstrip().rstrip(";")
    steps = _steps(text) if several else ()
    if len(steps) < 2:
        return _effect([_step(text)], is_open)
    effect = _effect(steps, is_open)
    return replace(effect, several=True)


def _effect(steps: Iterable[str], is_open: bool) -> TransactionEffect:
    passes_end = begins = two_phase = False
    for step in steps:
        if step == "begin":
            is_open = begins = True
        elif step in ("end", "prepare"):
            is_open, passes_end = False, True
        two_phase = two_phase or step in ("prepare", "prepared")
    return TransactionEffect(is_open, passes_end, begins, two_phase=two_phase)


def _step(text: str) -> str:
    """begin, end, prepare (an end), prepared (of an earlier one), or nothing of these."""
    first, second = (*leading_words(text), "", "")[:2]
    if first == "begin" or (first, second) == ("start", "transaction"):
        return "begin"
    if (first, second) == ("prepare", "transaction"):
        return "prepare"
    if first not in _ENDS:
        return ""
    if second == "prepared":
        return "prepared"
    # ROLLBACK TO SAVEPOINT is a step within; a chained transaction is part of its first one, whose
    # BEGIN it needs.
    return "" if ending_words(text)[:1] == ("to",) or _chains(text) else "end"


def _chains(text: str) -> bool:
    return ending_words(text)[:2] == ("and", "chain")


_PARSED = {
    "TRANS_STMT_BEGIN": "begin",
    "TRANS_STMT_START": "begin",
    "TRANS_STMT_COMMIT": "end",
    "TRANS_STMT_ROLLBACK": "end",
    "TRANS_STMT_PREPARE": "prepare",
    "TRANS_STMT_COMMIT_PREPARED": "prepared",
    "TRANS_STMT_ROLLBACK_PREPARED": "prepared",
}


@functools.lru_cache(100)
def _steps(text: str) -> tuple[str, ...]:
    """Of each statement of a message; none: it cannot be parsed."""
    steps = []
    readable = text.encode(errors="replace").decode()
    for statement in (raw.stmt for raw in parsed_statements(readable) or ()):
        transactional = type(statement).__name__ == "TransactionStmt"
        step = _PARSED.get(statement.kind.name, "") if transactional else ""
        steps.append("" if step == "end" and statement.chain else step)
    return tuple(steps)


def transactions(events: Iterable[Event]) -> Iterator[LoggedTransaction]:
    """The transactions of all sessions, in the order in which they ended. Every statement is in
    exactly one of them."""
    sessions: dict[str, _Session] = {}
    for event in events:
        if isinstance(event, SessionEnd):
            names = list(sessions) if event.session is None else [event.session]
            for name in names:
                yield from _closed(sessions.pop(name, _Session()))
        elif event.outcome in _ALONE or _forgets(event):
            yield LoggedTransaction((event,), None, event.outcome)
        elif event.outcome in _UNKNOWN:
            for around in _around(sessions, event):
                around.outcome = around.outcome or event.outcome
            yield LoggedTransaction((event,), None, event.outcome)
        else:
            session = sessions.setdefault(event.session, _Session())
            yield from _followed(session, event)
    for session in sessions.values():
        yield from _closed(session)


def _forgets(event: LoggedStatement) -> bool:
    """Whether it gives up a prepared statement, as PHP's PDO does behind each, which is nothing to
    the transaction around it."""
    return event.outcome is None and first_word(event.text) == "deallocate"


def _around(sessions: Mapping[str, _Session], event: LoggedStatement) -> list[_Open]:
    """The open transactions that a statement may be of: those of all sessions, where its own is not
    known."""
    names = [event.session] if event.session else list(sessions)
    opened = [sessions[name].open for name in names if name in sessions]
    return [
        around
        for around in opened
        if around is not None and (not around.implicit or around.vxid == event.vxid)
    ]


def _closed(session: _Session) -> Iterator[LoggedTransaction]:
    """What a session leaves at its end."""
    if session.open is not None and session.open.implicit:
        yield from _closed_implicit(session)
    if session.last is not None:
        yield session.last
    if session.open is not None and session.open.statements:
        yield _done(session.open, StatementOutcome.OPEN)


def _done(open_: _Open, otherwise: StatementOutcome | None = None) -> LoggedTransaction:
    """An open transaction as it ended. `otherwise`: why it cannot be repeated, however it ended."""
    outcomes = [each.outcome for each in open_.statements if each.outcome is not None]
    outcome = otherwise or open_.outcome
    if StatementOutcome.FAILED in outcomes:
        outcome = StatementOutcome.IN_FAILED
    elif outcomes:
        outcome = StatementOutcome.OPEN if outcomes[-1] is StatementOutcome.RUNNING else outcomes[0]
    return LoggedTransaction(tuple(open_.statements), None, outcome)


def _followed(session: _Session, statement: LoggedStatement) -> Iterator[LoggedTransaction]:
    """What ends with a statement, or before it."""
    if session.open is not None and session.open.implicit:
        if _is_within(session.open, statement):
            yield from _within(session, session.open, statement)
            return
        yield from _closed_implicit(session)
    failed = statement.outcome in (StatementOutcome.FAILED, StatementOutcome.RUNNING)
    effect = effect_of(statement.text, session.open is not None)
    if session.open is not None and (
        _is_next_transaction(session.open, statement)
        or (not failed and _is_next_session(session.open, statement))
    ):
        # Another session of the same process id, or its end is not in the log.
        yield from _closed(session)
        session.open = session.last = None
        effect = effect_of(statement.text, is_open=False)
    if failed and effect.several:
        # Where it failed is not known: it is taken to be in a transaction until that ends.
        effect = replace(
            effect, is_open=session.open is not None or effect.begins, passes_end=False
        )
    current = session.open
    if current is None:
        if effect.is_open:
            session.open = _Open([statement], _why(effect), failed, _open_vxid(statement))
        elif _open_vxid(statement) and not (effect.passes_end or effect.several):
            session.open = _implicit(statement)
        else:
            yield from _single(session, statement, effect)
        return
    current.add(statement)
    current.vxid = "" if _chains(statement.text) else _open_vxid(statement) or current.vxid
    if failed:
        current.aborted = True
    elif current.aborted and not effect.passes_end:
        current.aborted = False  # ROLLBACK TO SAVEPOINT
    # A COMMIT that fails ends its transaction as one that does not.
    if effect.passes_end:
        current.outcome = current.outcome or _why(effect)
        yield from _follow(session, _done(current))
        session.open = (
            _Open([], StatementOutcome.SEVERAL) if effect.is_open and not failed else None
        )
    else:
        yield from _without_large(session, current)


def _open_vxid(statement: LoggedStatement) -> str:
    """The virtual transaction that it was executed in; empty: it is not known, or none was open."""
    return "" if statement.vxid.endswith("/0") else statement.vxid


def _is_next_transaction(open_: _Open, statement: LoggedStatement) -> bool:
    """Whether the open transaction ended before a statement without a word of it in the log."""
    if not open_.vxid or not statement.vxid or _open_vxid(statement) == open_.vxid:
        return False
    # A failed transaction has none, and a chained one another.
    ends = effect_of(statement.text, is_open=True).passes_end or _chains(statement.text)
    if _open_vxid(statement):
        return not ends
    return not (ends or open_.aborted or statement.outcome is StatementOutcome.FAILED)


def _implicit(statement: LoggedStatement) -> _Open:
    """What begins with a statement outside a transaction: that alone, or what shares its virtual
    transaction. A simple one ends its own before its duration is written, unless BEGIN was said."""
    within = statement.protocol == "simple" and statement.duration_ms is not None
    why = StatementOutcome.NO_BEGIN if within and statement.outcome is None else None
    return _Open([statement], why, vxid=_open_vxid(statement), implicit=True)


def _is_within(open_: _Open, statement: LoggedStatement) -> bool:
    """Whether a statement belongs to what is a transaction by its virtual one alone."""
    if statement.vxid.endswith("/0"):  # its COMMIT, if there was a transaction to end
        return _ends_first(statement.text) and not statement.stray
    return statement.vxid == open_.vxid


def _ends_first(text: str) -> bool:
    """Whether a message ends the transaction that was open before it, rather than one of its own:
    `BEGIN; SELECT 2; COMMIT` does not."""
    steps = _steps(text) if ";" in text.rstrip().rstrip(";") else (_step(text),)
    controls = [step for step in steps if step in ("begin", "end", "prepare")]
    return bool(controls) and controls[0] != "begin"


def _within(
    session: _Session, open_: _Open, statement: LoggedStatement
) -> Iterator[LoggedTransaction]:
    """Adds the statement. One that begins or ends the transaction, or is simple, shows that BEGIN
    was said before it and is not in the log."""
    effect = effect_of(statement.text, is_open=True)
    open_.add(statement)
    explicit = effect.begins or effect.passes_end or statement.protocol == "simple"
    if statement.outcome is not StatementOutcome.FAILED and explicit:
        open_.outcome = open_.outcome or _why(effect) or StatementOutcome.NO_BEGIN
    if effect.begins:
        open_.implicit = False
    elif effect.passes_end:
        yield from _closed_implicit(session)
        return
    yield from _without_large(session, open_)


def _without_large(session: _Session, open_: _Open) -> Iterator[LoggedTransaction]:
    """Of a transaction that is too large to be repeated, what it did so far: a restore may be one
    of millions of statements, and is not held in memory."""
    if open_.length > MOST_LENGTH and open_.statements:
        open_.outcome = open_.outcome or StatementOutcome.LARGE
        yield from _follow(session, replace(_done(open_), implicit=open_.implicit))
        open_.statements = []


def _closed_implicit(session: _Session) -> Iterator[LoggedTransaction]:
    """What was a transaction by its virtual one alone, now that its end is known."""
    open_, session.open = session.open, None
    if open_ is None or not open_.statements:
        return
    if len(open_.statements) > 1:
        yield from _follow(session, replace(_done(open_), implicit=True))
        return
    [statement] = open_.statements
    outcome = statement.outcome or open_.outcome
    yield from _follow(session, LoggedTransaction((statement,), None, outcome))


def _is_next_session(open_: _Open, statement: LoggedStatement) -> bool:
    """Whether a statement that succeeded cannot be of the transaction that is open."""
    if _step(statement.text) == "begin":
        return not statement.nested
    word, effect = first_word(statement.text), effect_of(statement.text, is_open=True)
    return open_.aborted and word not in (*_ENDS, "prepare") and not effect.passes_end


def _single(
    session: _Session, statement: LoggedStatement, effect: TransactionEffect
) -> Iterator[LoggedTransaction]:
    """A statement outside a transaction."""
    outcome = statement.outcome or _why(effect)
    if effect.passes_end and not effect.several:
        outcome = outcome or StatementOutcome.NO_BEGIN
    yield from _follow(session, LoggedTransaction((statement,), None, outcome))


def _why(effect: TransactionEffect) -> StatementOutcome | None:
    if effect.two_phase:
        return StatementOutcome.TWO_PHASE
    return StatementOutcome.SEVERAL if effect.several else None


def _follow(session: _Session, done: LoggedTransaction) -> Iterator[LoggedTransaction]:
    """The one before it, now that its pause is known."""
    before, session.last = session.last, done
    if before is not None:
        yield replace(before, think_s=_between(before, done))


def _between(before: LoggedTransaction, after: LoggedTransaction) -> float | None:
    """Without its duration a statement is logged before it is executed: when it ended is not
    known."""
    first, last = after.statements[0], before.statements[-1]
    if not (first.exact and last.exact) or last.duration_ms is None:
        return None
    return max(0.0, first.ended - first.seconds - last.ended)
