"""Resolves the scripts a study names: those of its workload, and files of the user."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from steelyard._core import check_scripts, script_statements
from steelyard.model.errors import StudyError, UsageError
from steelyard.model.files.small_file import read_small_bytes
from steelyard.model.script_text import TEXTS
from steelyard.workloads.reading.dialects import GENERIC, language
from steelyard.workloads.reading.statements import (
    Assignments,
    first_answer_line,
    has_branches,
    may_write,
    shared_variables,
)
from steelyard.workloads.reading.workload import Workload, WorkloadFile

Tables = Mapping[str, Sequence[Sequence[str | None]]]
"""Rows that scripts draw from, by name."""
EXECUTIONS = 200
"""Tried without sleeping: pauses are drawn at random and depend on options."""
UNIT_NS = {"": 1_000_000_000, "s": 1_000_000_000, "ms": 1_000_000, "us": 1_000}
_SLEEP = re.compile(
    rf"{TEXTS}|\\sleep[ \t]+(?P<amount>:\w+|[+-]?\d+)[ \t]*(?P<unit>us|ms|s|)[ \t]*\r?$",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
"""A unit may touch the number, and a command stand behind a statement on its line."""
_SLEPT = re.compile(r"SELECT 'steelyard sleeps', ([+-]?\d+)[^';]*, '(\w*)';")
"""Of a value that is no whole number, the digits that it begins with."""


@dataclass(frozen=True)
class Script:
    """A script that is ready to be driven."""

    name: str
    text: str
    weight: int
    rows: int | None
    """Rows each transaction must return in all; None: not known."""
    writes: bool
    pause_ns: int = 0
    """About the longest that one transaction sleeps by itself; 0: none does."""
    several: bool = False
    """Whether it holds several statements."""


def resolve_scripts(
    workload: Workload,
    scripts: Mapping[str, int],
    scale: int,
    variables: Mapping[str, str | int | float] | None = None,
    texts: Mapping[str, str] | None = None,
    mode: str | None = None,
) -> list[Script]:
    """The scripts by name or path, with their weights, compiled together and evaluated once each.
    `texts`: those that the study itself holds, which go before others of that name. `mode`: how
    their statements are sent; None: as the workload is meant to be driven.

    StudyError: no such script (the near one is suggested), or a script that is wrong or cannot be
    sent so, with its file, line and column.
    """
    defined = script_variables(workload, scale, variables or {})
    tried, dialect = workload.drawn_first, language(workload.kind)
    every = [_find(workload, name, weight, texts or {}) for name, weight in scripts.items()]
    own = {s.name for s in every if s.name in (texts or {}) or s.name not in workload.scripts}
    assigned = Assignments.of(script.text for script in every if own)
    _require_compiled(workload, every, defined, mode or workload.mode)
    resolved = []
    for script in every:
        name, text = script.name, script.text
        does_write, values = script.writes, defined
        if name in own:
            does_write = may_write(name, text, defined, assigned, workload.kind)
            values = {**dict.fromkeys(shared_variables(text, assigned), "1"), **defined}
        try:
            count = len(script_statements(name, text, values, tables=tried, dialect=dialect))
        except ValueError as error:
            if not _may_have_result(script, str(error), shares=len(values) > len(defined)):
                raise StudyError(f'script "{name}" is wrong', detail=str(error)) from error
            count = 2  # one that answers, and what follows from its answer
        pause_ns = longest_pause_ns(name, text, values, tried, workload.kind)
        several = count > 1 or has_branches(text)
        resolved.append(replace(script, writes=does_write, pause_ns=pause_ns, several=several))
    return resolved


def _may_have_result(script: Script, error: str, *, shares: bool) -> bool:
    """Whether an expression without a result may have one with other answers of the server, or
    other values of variables that it shares: all of them are 1 here."""
    answered = first_answer_line(script.text)
    place = re.match(r"(\d+):", error.removeprefix(f"{script.name}:"))
    return shares or (answered is not None and place is not None and int(place[1]) > answered)


def script_texts(
    workload: Workload, scripts: Iterable[str], texts: Mapping[str, str]
) -> dict[str, str]:
    """Name of a script → its text, as it is found. StudyError: there is no such script."""
    return {name: _find(workload, name, 1, texts).text for name in scripts}


def script_variables(
    workload: Workload, scale: int, variables: Mapping[str, str | int | float]
) -> dict[str, str]:
    """Every variable a script may use, automatic ones as the first client sees them."""
    automatic = {"client_id": 0, "clients": 1, "random_seed": 0, "default_seed": 0}
    every = {**automatic, **workload.variables(scale), **variables}
    return {name: str(value) for name, value in every.items()}


def _require_compiled(
    workload: Workload, scripts: Sequence[Script], defined: dict[str, str], mode: str
) -> None:
    """StudyError: one is wrong, though it may read what the others set, or this mode cannot send
    it."""
    error = _compile_error(workload, scripts, defined, mode)
    if error is None:
        return
    name = next((s.name for s in scripts if error.startswith(f"{s.name}:")), scripts[0].name)
    other = "prepared" if mode == "simple" else "simple"
    if _compile_error(workload, scripts, defined, other) is not None:
        raise StudyError(f'script "{name}" is wrong', detail=error)
    raise StudyError(
        f'script "{name}" cannot be sent as {mode}',
        detail=error,
        # The values of a workload that draws them are written to be sent in its own mode.
        hint=None
        if workload.draws
        else f"Send the statements as {other}: --set workload.mode={other} (drive: -M {other}).",
    )


def _compile_error(
    workload: Workload, scripts: Sequence[Script], defined: dict[str, str], mode: str
) -> str | None:
    texts = [(script.name, script.text) for script in scripts]
    try:
        check_scripts(texts, defined, mode, workload.drawn_first, language(workload.kind))
    except ValueError as error:
        return str(error)
    return None


def _find(workload: Workload, name: str, weight: int, texts: Mapping[str, str]) -> Script:
    """A script before it is compiled; one of the user's is taken to write."""
    if name in texts:
        return Script(name, texts[name], weight, None, writes=True)
    facts = workload.scripts.get(name)
    file = workload.script(name) if facts else _file_of_user(workload, name)
    try:
        text = file.text()
    except UsageError as error:
        raise StudyError(f'could not read script "{file.path}": it is not UTF-8 text') from error
    if facts is None:
        return Script(name, text, weight, None, writes=True)
    return Script(name, text, weight, facts.rows, facts.writes)


def _scripts_hint(workload: Workload) -> str:
    if not workload.scripts:
        return "Give the path of a file that is there."
    listed = ", ".join(workload.scripts)
    advice = f"--set workload={workload.name} drives its own mix"
    return f'Scripts of workload "{workload.name}": {listed}; or give the path of a file. {advice}.'


def _file_of_user(workload: Workload, name: str) -> WorkloadFile:
    path = Path(name).expanduser()
    if "/" not in name and not path.is_file():
        near = get_close_matches(name, workload.scripts, n=1)
        raise StudyError(
            f'unknown script: "{name}"',
            hint=(f'Did you mean "{near[0]}"? ' if near else "") + _scripts_hint(workload),
        )
    try:
        return WorkloadFile(path, read_small_bytes(path))
    except OSError as error:
        raise StudyError(f'could not read script "{path}": {error.strerror}') from error


def longest_pause_ns(
    name: str,
    text: str,
    variables: Mapping[str, str],
    tables: Tables | None = None,
    kind: str = GENERIC,
) -> int:
    """The longest that one of the executions that are tried sleeps in all, in ns; 0: none does."""
    logged = _SLEEP.sub(_logged_sleep, text) if "\\sleep" in text.lower() else text
    if logged == text:
        return 0
    return max(_pause_ns(name, logged, variables, tables, seed, kind) for seed in range(EXECUTIONS))


def _logged_sleep(match: re.Match[str]) -> str:
    if match["amount"] is None:
        return match[0]
    return f" SELECT 'steelyard sleeps', {match['amount']}, '{match['unit']}';"


def _pause_ns(
    name: str,
    logged: str,
    variables: Mapping[str, str],
    tables: Tables | None,
    seed: int,
    kind: str,
) -> int:
    try:
        values, dialect = dict(variables), language(kind)
        statements = script_statements(name, logged, values, seed, tables=tables, dialect=dialect)
    except ValueError:  # no result with these draws: the transaction ends there
        return 0
    slept = _SLEPT.findall("\n".join(statements))
    return sum(max(0, int(amount)) * UNIT_NS[unit.lower()] for amount, unit in slept)
