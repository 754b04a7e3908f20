"""Reads what distinguishes the rows of a table besides their numbers: labels, parameters and
outcomes. Rows of different metrics are refused, and so are rows that say that they failed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

from steelyard.foreign.number import is_missing, is_number
from steelyard.foreign.series import Factor, FactorKind, TransactionCounts
from steelyard.foreign.source import quoted
from steelyard.foreign.tables.column_roles import Roles
from steelyard.foreign.tables.steps import are_sizes, are_steps, by_arm
from steelyard.foreign.tables.table import Table
from steelyard.foreign.tables.table_headings import explains, follows, holds_a_metric
from steelyard.foreign.vocabulary import words as known
from steelyard.foreign.vocabulary.heading import Heading, Role, metric_of
from steelyard.foreign.vocabulary.tokens import split_words

_TRIED = {"transactions", "requests", "operations", "queries", "samples", "txns", "processed"}
_TRIED |= {"request_count", "total_requests", "total_transactions", "tried", "calls", "executed"}
_TRUE, _FALSE = {"true", "t", "yes", "y"}, {"false", "f", "no", "n"}
_STATES = {"status", "state", "outcome", "result"}
_EXITS = {"exit", "exitcode", "returncode", "rc"}
_FAILURES = {
    *("error", "errors", "err", "fail", "fails", "failed", "failure", "failures", "abort"),
    *("aborts", "aborted", "timeout", "timeouts", "exception", "exceptions", "crash", "crashes"),
    *("killed", "cancelled", "canceled", "broken", "invalid"),
}
"""Of rows that have no number to be compared, however fast they were."""
_FAILED_STATES = _FAILURES | {
    *("crashed", "oom", "dnf", "ko", "nok", "fatal", "panic", "segfault", "interrupted"),
    *("terminated", "incomplete", "unfinished", "unsuccessful", "skipped", "refused", "rejected"),
}
_TELLING = _STATES | _EXITS | _FAILURES | known.GOOD_OUTCOMES
"""One of them is in each heading of a column that says what became of rows."""
_MARKS = {"1", "x", "*", "✓"}
_WARM_UPS = {
    *("warmup", "warming", "warmingup", "prewarm", "prewarming", "preheat", "priming"),
    *("rampup", "rampingup", "discard", "discarded", "exclude", "excluded", "ignore", "ignored"),
    *("outlier", "outliers"),
}
_BESIDE = {
    *("is", "was", "a", "the", "phase", "run", "runs", "row", "rows", "period", "iteration"),
    *("iterations", "round", "rounds", "stage", "step", "flag", "query", "queries", "pass", "only"),
}
_DENIAL = re.compile(
    r"\b(?:no|not|without|zero|0)\s+(?:any\s+)?"
    r"(?:errors?|fail(?:ed|ures?)|exceptions?|aborted|aborts|timeouts?|crash(?:ed|es)?|problems?)"
)
"""Beside "no space left", which is a failure."""
_CODE = re.compile(r"[+-]?[0-9]+(?:\.0*)?")
_SHARE = re.compile(r"[0-9]+\s*(?:of|out|from|/)")
_WORD = re.compile(r"[^\W\d_]{2}")


_MEASURED = (Role.METRIC, Role.STATISTIC, Role.VALUE)
_ALSO_STEPS = (Role.COST, Role.COUNT, Role.DERIVED)
"""Of columns that were measured, as words of their headings say: "load", "bytes"; or asked for."""


def with_steps(table: Table, roles: Roles, columns: Mapping[str, str], alone: bool) -> Roles:
    """The roles of a table, columns of steps that explain what was measured among the parameters,
    though their headings say that they were measured too, or name blocks: "load", "batch".

    `columns`: role → column, as the user said; `alone`: whether the table is the only one.
    """
    if (roles.arm is None and alone) or not table.header:
        return roles
    swept = [c for c in _candidates(roles) if _is_swept(table, roles, c)]
    if roles.block is not None and "block" not in columns and _is_size(table, roles, roles.block):
        swept.append(roles.block)
        roles = replace(roles, block=None)
    moved = {c for c in swept if c in roles.numbers}
    return replace(
        roles,
        numbers=tuple(c for c in roles.numbers if c not in moved),
        parameters=(*(c for c in roles.parameters if not _repeats(table, roles, c)), *swept),
        spare=(*roles.spare, *sorted(moved)),
    )


def _candidates(roles: Roles) -> Iterator[int]:
    used = {roles.arm, roles.order, roles.day, roles.block, roles.clients, roles.index, roles.unit}
    used |= {*roles.labels, *roles.parameters, *(roles.numbers if roles.chosen else ())}
    for column, heading in enumerate(roles.headings):
        measured = heading.metric is not None or holds_a_metric(heading)
        if column not in used and heading.role in _ALSO_STEPS and not measured:
            yield column


def _is_swept(table: Table, roles: Roles, column: int) -> bool:
    return are_steps(_by_arm(table, roles, column)) and _explains(table, roles, column)


def _is_size(table: Table, roles: Roles, column: int) -> bool:
    return are_sizes(_by_arm(table, roles, column)) and _explains(table, roles, column)


def _by_arm(table: Table, roles: Roles, column: int) -> list[list[str]]:
    arms = table.columns[roles.arm] if roles.arm is not None else None
    return by_arm([cell.strip() for cell in table.columns[column]], arms)


def _explains(table: Table, roles: Roles, column: int) -> bool:
    """Whether steps explain a metric in rows that are about the same, of which they differ."""
    others = (*roles.labels, *roles.parameters)
    metrics = [
        c
        for c in roles.numbers
        if c != column and (roles.chosen or roles.headings[c].role in _MEASURED)
    ]
    arms = table.columns[roles.arm] if roles.arm is not None else None
    known = [c for c in (roles.arm, *others) if c is not None]
    determined = bool(known) and follows(table, column, known)
    return not determined and explains(table, column, arms, metrics, others)


def _repeats(table: Table, roles: Roles, column: int) -> bool:
    """Whether numbers in a column that was found to hold steps follow from what rows are about, and
    so were measured: pages that a query reads, fewer in one arm."""
    if not roles.labels or not _is_parameter_by_content(roles.headings[column]):
        return False
    varies = any(len(set(group)) > 1 for group in _by_arm(table, roles, column))
    known = [c for c in (roles.arm, *roles.labels) if c is not None]
    return varies and follows(table, column, known)


def _is_parameter_by_content(heading: Heading) -> bool:
    """Whether a column is among the parameters because of what it holds."""
    known = heading.role is Role.PARAMETER and not heading.rest
    return not known and heading.role is not Role.ARM


def factors_of(table: Table, roles: Roles) -> tuple[Factor, ...]:
    """The factors of the rows of a table; what is one word in each row is no factor."""
    return tuple(_factors(table, roles))


def _factors(table: Table, roles: Roles) -> Iterator[Factor]:
    for column in (*roles.labels, *roles.parameters, *_clients(roles)):
        heading = roles.headings[column]
        cells = tuple(cell.strip() for cell in table.columns[column])
        if heading.role is Role.UNKNOWN and column in roles.labels and _are_remarks(cells):
            continue
        label = heading.role is Role.LABEL or (column in roles.labels and not table.header)
        if label:
            kind = FactorKind.LABEL
        elif heading.load or column == roles.clients or _explaining(table, roles, column):
            kind = FactorKind.LOAD
        else:
            kind = FactorKind.PARAMETER
        yield Factor(table.name(column), kind, cells)


def _are_remarks(cells: Sequence[str]) -> bool:
    """Whether words, under a heading that says nothing, stand in a few rows: "after reboot". What
    rows are about is said of each, and an empty cell says nothing."""
    filled = [cell for cell in cells if cell]
    return len(filled) < len(cells) and (2 * len(filled) < len(cells) or len(set(filled)) < 2)


def _explaining(table: Table, roles: Roles, column: int) -> bool:
    """Whether a column was found to hold steps that explain what was measured."""
    varies = any(len(set(group)) > 1 for group in _by_arm(table, roles, column))
    return (
        column in roles.parameters and _is_parameter_by_content(roles.headings[column]) and varies
    )


def _clients(roles: Roles) -> tuple[int, ...]:
    unlisted = roles.clients is not None and roles.clients not in roles.parameters
    return (roles.clients,) if unlisted and roles.clients is not None else ()


def outcome_of(table: Table, roles: Roles, rows: Sequence[int]) -> TransactionCounts | None:
    """What became of the transactions of some rows, by the columns that count failures; None where
    no column does. Without a count of all, `tried` is 0. Fractions are no counts: beside "tps" a
    column "error" can say how far off it may be."""
    counted = [c for c in roles.outcomes if c not in roles.numbers and _whole(table, c)]
    if not counted:
        return None
    troubled = tried = 0
    for column, heading in enumerate(roles.headings):
        if column in counted:
            troubled += _sum(table, column, rows)
        elif (
            heading.name.strip().lower().replace(" ", "_") in _TRIED and heading.role is Role.COUNT
        ):
            tried = max(tried, _sum(table, column, rows))
    return TransactionCounts(max(tried, troubled) if tried else 0, troubled)


def _whole(table: Table, column: int) -> bool:
    """Whether a column holds whole numbers, as counts are: "3", or "3.0"."""
    point = "," if table.decimal_comma else "."
    fractions = (cell.strip().partition(point)[2] for cell in table.columns[column])
    return not any(set(fraction) & set("123456789") for fraction in fractions)


def _sum(table: Table, column: int, rows: Sequence[int]) -> int:
    """The sum of a column of counts; 1 for a cell that says "true", 0 for others without one."""
    point = "," if table.decimal_comma else "."
    total = 0.0
    cells = table.columns[column]
    for row in rows:
        cell = cells[row].strip().replace(point, ".", 1)
        if cell.replace(".", "", 1).isdecimal() and len(cell) < 16:
            total += float(cell)
        total += cell.lower() in _TRUE
    return round(total)


def require_comparable_rows(table: Table, roles: Roles) -> None:
    """NumbersError: rows are of several metrics, or one says of itself that it failed, that it was
    to warm up, or that it does not count."""
    _refuse_mixture(table, roles)
    _refuse_failed_rows(table, roles)
    _refuse_warm_ups(table, roles)


def _refuse_failed_rows(table: Table, roles: Roles) -> None:
    """NumbersError with its place for a row that says of itself that it failed: by a code other
    than 0, by words in a column of errors or states, by a success that is false."""
    for column, heading in enumerate(roles.headings):
        if heading.role is Role.ARM or (roles.chosen and column in roles.numbers):
            continue
        if not _TELLING.intersection(split_words(heading.name)):
            continue
        cells = [cell.strip().lower() for cell in table.columns[column]]
        present = {cell for cell in cells if not is_missing(cell)}
        is_failed = _failure_test(heading, present)
        failed = {cell for cell in present if is_failed is not None and is_failed(cell)}
        row = next((row for row, cell in enumerate(cells) if cell in failed), None)
        if row is not None:
            hint = "Leave the row out, and find out why it failed; if it did not, leave the "
            hint += "column out, or call it otherwise."
            raise _refusal(table, row, column, "this row failed", hint)


def _refuse_warm_ups(table: Table, roles: Roles) -> None:
    """NumbersError with its place for a row that is no repetition like the others of its arm, as a
    column says: "warmup" true, or "warm-up" where others have another word."""
    every = ("",) * table.rows
    arms = table.columns[roles.arm] if roles.arm is not None else every
    for column, heading in enumerate(roles.headings):
        if column == roles.arm or (roles.chosen and column in roles.numbers):
            continue
        odd = _warm_ups(table, column, heading)
        others = {arm for row, arm in enumerate(arms) if row not in odd} if odd else set()
        row = next((row for row in sorted(odd) if arms[row] in others), None)
        if row is not None:
            hint = "Leave out the rows that were to warm up or do not count; if they do, leave "
            hint += "the column out, or call it otherwise."
            raise _refusal(table, row, column, "this row is no repetition like the others", hint)


def _refusal(table: Table, row: int, column: int, what: str, hint: str) -> Exception:
    cell = quoted(table.columns[column][row].strip())
    words = f"column {quoted(table.name(column))} says that {what}: {cell}"
    return table.source.error(words, table.spot(row, column), hint=hint)


def _warm_ups(table: Table, column: int, heading: Heading) -> set[int]:
    """The rows that a column says were to warm up, or do not count."""
    marked = _is_warm_up(heading.name)
    if not marked and not table.is_text(column):
        return set()
    cells = table.columns[column]
    words = {cell: cell.strip().lower() for cell in set(cells)}
    present = {word for word in words.values() if not is_missing(word)}
    if marked:
        marks = _TRUE | _MARKS
        odd = present & marks if present <= marks | _FALSE | {"0"} else set[str]()
    else:
        odd = set(filter(_is_warm_up, present))
    return {row for row, cell in enumerate(cells) if words[cell] in odd} if odd else set()


def _is_warm_up(text: str) -> bool:
    """Whether words are nothing but "warm-up", "discarded" and the like; "warm" may be an arm."""
    words = [word for word in split_words(text) if word not in _BESIDE and not word.isdigit()]
    return "".join(words) in _WARM_UPS


def _failure_test(heading: Heading, present: Set[str]) -> Callable[[str], bool] | None:
    """What tells cells of failed rows in a column with these cells; None where nothing can."""
    words = set(split_words(heading.name))
    if heading.role is Role.CODE and words & (_FAILURES | _EXITS):
        if words & _FAILURES:
            return _is_failure_or_code if "code" in words else _is_failure
        # "rc" may number a release candidate.
        return _is_failed_exit if words != {"rc"} or "0" in present else None
    if heading.role in (Role.CODE, Role.UNKNOWN, Role.VALUE) and words & _STATES:
        if not all(map(_CODE.fullmatch, present)):
            return _is_failed_state
        # 200 is no code of a process.
        return _is_failed_exit if heading.role is Role.CODE and "0" in present else None
    if heading.role is Role.OUTCOME and not words & known.FRACTION_WORDS:
        return _outcome_test(words, present)
    return None


def _outcome_test(words: Set[str], present: Set[str]) -> Callable[[str], bool] | None:
    if words & known.BAD_WORDS:
        return _is_failure if words & _FAILURES else None
    flags = {cell for cell in present if is_number(cell)} <= {"0", "1"}
    return _is_no_success if flags else None


def _is_failed_exit(cell: str) -> bool:
    return _is_failed_state(cell) or (bool(_CODE.fullmatch(cell)) and float(cell) != 0)


def _is_failure_or_code(cell: str) -> bool:
    return _is_failure(cell) or _is_failed_exit(cell)


def _is_no_success(cell: str) -> bool:
    return cell in _FALSE or cell == "0" or _is_failed_state(cell)


def _is_failed_state(cell: str) -> bool:
    if not _WORD.search(cell):
        return False
    words = set(split_words(cell))
    if "not" in words and words & known.GOOD_OUTCOMES:
        return True
    return bool(words & _FAILED_STATES) and not _DENIAL.search(cell)


def _is_failure(cell: str) -> bool:
    """Whether a cell of a column of failures holds words, and not that there was none; numbers are
    counts of transactions, and what stands behind ± is a spread."""
    if cell in _TRUE or cell in _FALSE:
        return cell in _TRUE
    if is_number(cell.lstrip("±+-/ ")) or _SHARE.match(cell) or not _WORD.search(cell):
        return False
    words = set(split_words(cell))
    succeeded = bool(words & known.GOOD_OUTCOMES) and "not" not in words
    return not (succeeded or _DENIAL.search(cell))


def _refuse_mixture(table: Table, roles: Roles) -> None:
    """Throughputs and latencies in one column are not to be averaged."""
    for column, heading in enumerate(roles.headings):
        if not table.is_text(column) or column == roles.arm:
            continue
        cells = [cell.strip() for cell in table.columns[column]]
        distinct = list(dict.fromkeys(cells))
        if len(distinct) < 2 or not (heading.role is Role.METRIC_NAME or _metrics(distinct)):
            continue
        other = cells.index(distinct[1])
        raise table.source.error(
            f'several metrics in one column: "{cells[other][:40]}" after "{cells[0][:40]}"',
            table.spot(other, column),
            hint="Keep the rows of one metric, or give each a column of its own.",
        )


def _metrics(cells: Sequence[str]) -> bool:
    """Whether cells name metrics, of more than one kind or statistic."""
    matches = [metric_of(cell) for cell in cells[:100]]
    names = {metric.name for metric in matches if metric is not None}
    return len(names) > 1 and 2 * sum(outcome is not None for outcome in matches) >= len(matches)
