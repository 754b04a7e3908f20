"""Refuses rows that say of themselves that they failed, were to warm up, or do not count."""

from __future__ import annotations

import re
from collections.abc import Callable, Set

from steelyard.foreign.number import is_missing, is_number
from steelyard.foreign.source import quoted
from steelyard.foreign.tables.column_roles import Roles
from steelyard.foreign.tables.table import Table
from steelyard.foreign.vocabulary import words as known
from steelyard.foreign.vocabulary.heading import Heading, Role
from steelyard.foreign.vocabulary.tokens import split_words

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
_TRUE_FAILURES = {("invalid",), ("timeout",), ("timed", "out"), ("timedout",), ("crashed",)}
_FALSE_FAILURES = {(w,) for w in ("completed", "finished", "done", "valid", "included", "keep")}
"""Headings of flags, but for words beside them."""
_HTTP = {"http", "response", "status", "statuscode", "httpcode", "httpstatus"}
_TELLING = _STATES | _EXITS | _FAILURES | _HTTP | known.GOOD_OUTCOMES | {"code"}
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
_HTTP_CODE, _NO_ANSWER = re.compile(r"[1-5][0-9]{2}(?:\.0*)?"), re.compile(r"0+(?:\.0*)?")
_SHARE = re.compile(r"[0-9]+\s*(?:of|out|from|/)")
_WORD = re.compile(r"[^\W\d_]{2}")


def refuse_failed_rows(table: Table, roles: Roles) -> None:
    """NumbersError with its place for a row that says of itself that it failed: by a code other
    than 0 or one of HTTP, by words in a column of errors or states, by a flag."""
    for column, heading in enumerate(roles.headings):
        if heading.role is Role.ARM or (roles.chosen and column in roles.numbers):
            continue
        if not (_TELLING.intersection(split_words(heading.name)) or _flag_of(heading)):
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


def refuse_warm_ups(table: Table, roles: Roles) -> None:
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
    flagged = _flag_test(heading, present)
    if flagged is not None or heading.role is Role.CODE:
        return flagged or _code_test(words, present)
    if heading.role in (Role.UNKNOWN, Role.VALUE) and words & _STATES:
        return None if all(map(_CODE.fullmatch, present)) else _is_failed_state
    if heading.role is Role.OUTCOME and not words & known.FRACTION_WORDS:
        return _outcome_test(words, present)
    return None


def _code_test(words: Set[str], present: Set[str]) -> Callable[[str], bool] | None:
    if words & _FAILURES:
        return _is_failure_or_code if "code" in words else _is_failure
    if words & _EXITS:
        # "rc" may number a release candidate.
        return _is_failed_exit if words != {"rc"} or "0" in present else None
    if _are_http(words, present):
        return _is_http_failure
    if not words & _STATES:
        return None
    if not all(map(_CODE.fullmatch, present)):
        return _is_failed_state
    return _is_failed_exit if "0" in present else None


def _flag_of(heading: Heading) -> tuple[str, ...]:
    """The words of a heading of flags that say whether a row counts: "valid" of "is_valid"."""
    words = tuple(word for word in split_words(heading.name) if word not in _BESIDE)
    return words if words in _TRUE_FAILURES | _FALSE_FAILURES else ()


def _flag_test(heading: Heading, present: Set[str]) -> Callable[[str], bool] | None:
    """What tells flags of rows that do not count; None where cells are none. A timeout of 1 in all
    rows is a setting."""
    flag, numbers = _flag_of(heading), {cell for cell in present if _CODE.fullmatch(cell)}
    values = {float(cell) for cell in numbers}
    if not flag or not present - numbers <= _TRUE | _FALSE or not values <= {0, 1}:
        return None
    if flag == ("timeout",) and len(values) == 1:
        return None
    return _is_true if flag in _TRUE_FAILURES else _is_false


def _is_true(cell: str) -> bool:
    return cell in _TRUE or (bool(_CODE.fullmatch(cell)) and float(cell) == 1)


def _is_false(cell: str) -> bool:
    return cell in _FALSE or (bool(_CODE.fullmatch(cell)) and float(cell) == 0)


def _are_http(words: Set[str], present: Set[str]) -> bool:
    """Whether cells are status codes of HTTP, 0 and 000 where there was no answer: by the heading,
    or since one of them is a success."""
    successes = any(cell.startswith("2") for cell in present)
    sure = words & (_HTTP - {"status"}) or {"status", "code"} <= words
    if not (sure or (successes and words <= _HTTP | {"code"})):
        return False
    answered = {cell for cell in present if not _NO_ANSWER.fullmatch(cell)}
    return all(map(_HTTP_CODE.fullmatch, answered)) and bool(answered or words & _HTTP - _STATES)


def _is_http_failure(cell: str) -> bool:
    return cell[0] in "045"


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
