"""Refuses overrides of keys of a study that its other keys leave without effect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steelyard.model.errors import StudyError, nearest_hint
from steelyard.study.study import Study
from steelyard.workloads.reading.resolved import variables_read

_VARIABLES = "workload.variables"


@dataclass(frozen=True)
class _IdleKey:
    """A key that a study says in vain."""

    key: str
    why: str
    """What counts in its place, as a clause."""
    hint: str | None
    """What to type."""


def require_counting(study: Study, keys: Sequence[str]) -> None:
    """StudyError: a key of these overrides has no effect beside what else the study says."""
    for idle in (*_idle_keys(study), *_unread_variables(study, keys)):
        if any(f"{idle.key}.".startswith(f"{key}.") for key in keys):
            raise StudyError(f'override "{idle.key}" has no effect: {idle.why}', hint=idle.hint)


def _idle_keys(study: Study) -> Iterator[_IdleKey]:
    budget, work = study.budget, study.workload
    if "measuring" in budget.model_fields_set and None not in (budget.counted, budget.epochs):
        yield _IdleKey(
            "budget.measuring",
            "slices are cut by executions, and budget.epochs says how many epochs there are",
            "Leave out budget.epochs, and the time decides how many there are; or the time "
            f"(--budget), and say how many: --set budget.epochs={2 * (budget.epochs or 0)}.",
        )
    if "cycles" in study.turns.model_fields_set and study.turns.measured is not None:
        yield _IdleKey(
            "turns.cycles",
            "turns.measured says for how long each arm is measured",
            "Leave one of them out.",
        )
    once = _why_loaded_once(study)
    if once and (work.loads or 1) > 1:
        yield _IdleKey("workload.loads", once, "Leave it out.")


def _why_loaded_once(study: Study) -> str:
    """Why there are no separate loads of the data; empty: there may be."""
    if study.is_external and not study.uses_own_databases:
        return "at an address nothing is loaded"
    if study.source is not None and study.source.kind not in (None, "dump"):
        return f"a {study.source.kind} is taken in once, and copied: its files are what they are"
    return ""


def _unread_variables(study: Study, keys: Sequence[str]) -> Iterator[_IdleKey]:
    """Variables of scripts that none of those reads which are driven."""
    if not any(f"{_VARIABLES}.".startswith(f"{key}.") or _is_variable(key) for key in keys):
        return
    names = variables_read(study.workload, study.engine)
    for name in study.workload.variables:
        if name not in names:
            yield _IdleKey(
                f"{_VARIABLES}.{name}",
                f"no script that is driven reads :{name}",
                nearest_hint(name, names) or "Leave it out.",
            )


def _is_variable(key: str) -> bool:
    return key.startswith(f"{_VARIABLES}.")
