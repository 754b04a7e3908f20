"""Refuses changes of keys of a study that have no effect in the layout it is weighed in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from steelyard.model.errors import StudyError
from steelyard.model.units import NS_PER_S
from steelyard.record.plan import CYCLES, SLICES, TURNS
from steelyard.running.layouts.choice import preferred_layout
from steelyard.study.address import WHOLE_CYCLES
from steelyard.study.budget import BUDGETS, TurnBounds
from steelyard.study.change import key_of
from steelyard.study.study import Study
from steelyard.workloads.reading.resolved import resolve

LENGTHS: Mapping[str, frozenset[str]] = {
    f"budget.{key}": frozenset({layout}) for key, layout in BUDGETS.items()
}
COUNTS_IN: Mapping[str, frozenset[str]] = {
    **LENGTHS,
    **dict.fromkeys([f"turns.{key}" for key in TurnBounds.model_fields], WHOLE_CYCLES),
    "cost": frozenset({SLICES}),
}
"""Key → the layouts that it counts in; those that are not here count in all, and of `budget.slice`
turns say themselves that they do not go by it."""


def require_effect(study: Study, changes: Iterable[str]) -> None:
    """StudyError: a change is of a key that counts in no layout that the study may be weighed in.
    Which one it will be is known here but for what memory and the pilot say: then both count."""
    typed = [*_typed(study, [key_of(change) for change in changes])]
    if not typed:
        return
    chosen = preferred_layout(study, resolve(study.workload, study.engine).scripts)
    is_open = study.layout == "auto" and chosen.name == CYCLES
    possible = {chosen.name, TURNS} if is_open else {chosen.name}
    idle = [key for key in typed if possible.isdisjoint(COUNTS_IN[key])]
    if any(key in LENGTHS and key not in idle for key in typed):  # `--budget` gives all of them
        idle = [key for key in idle if key not in LENGTHS]
    if idle:
        raise StudyError(
            f'override "{idle[0]}" has no effect: study {study.name} is weighed in {chosen.name}',
            detail=f"In {chosen.name}: {chosen.why.partition(';')[0]}.",
            hint=_in_its_place(study, idle[0], chosen.name),
        )


def _typed(study: Study, typed: Iterable[str]) -> Iterator[str]:
    """Keys of `COUNTS_IN` that were typed, by themselves or in a table, and say something."""
    keys = [*typed]
    for key in COUNTS_IN:
        table, _, name = key.rpartition(".")
        values = getattr(study, table) if table else study
        says = name in values.model_fields_set and getattr(values, name) not in (None, "auto")
        if says and any(f"{key}.".startswith(f"{other}.") for other in keys):
            yield key


def _in_its_place(study: Study, key: str, layout: str) -> str:
    """What to type."""
    own = next((each for each in LENGTHS if layout in LENGTHS[each]), "")
    minutes = study.budget.length_ns(layout) / (60 * NS_PER_S)
    first = f"Write --set {own}={minutes:g}m, or --budget" if key in LENGTHS else "Leave it out"
    if study.is_external:
        return f"{first}: an address is weighed in {layout} alone."
    [other, *_] = sorted(COUNTS_IN[key])
    return f"{first}; or insist on its layout: --set layout={other}."
