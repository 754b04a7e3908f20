"""Says what an interval rests on: how many epochs, of what, and how far apart checkpoints were."""

from __future__ import annotations

import math
from collections.abc import Mapping

from steelyard.evaluation.contrast import CyclesBasis, ServersBasis
from steelyard.model.units import NS_PER_S, counted, format_duration
from steelyard.record.plan import Residency
from steelyard.record.turns.turn_summary import near_words, scaled_words

ALIKE = 0.1
"""Relative difference of two arms' distances up to which one is named for both."""
_WHERE: Mapping[Residency, str] = {
    "one server": "sessions of one running server",
    "several servers": "these instances as they stand",
    "own databases": "databases of ours on one running server",
}


def basis_text(basis: ServersBasis | CyclesBasis | str) -> str:
    """`"12 epochs in cycles, a checkpoint every 15 s, 20 times as near as the settings have it"`;
    empty where there is nothing to be said."""
    if isinstance(basis, str):
        return basis
    if isinstance(basis, ServersBasis):
        return f"{counted(basis.epochs, 'epochs')}, {_WHERE[basis.residency]}"
    return _of_cycles(basis)


def _of_cycles(basis: CyclesBasis) -> str:
    text = f"{counted(basis.epochs, 'epochs')} in {basis.layout}"
    if basis.turns.continuous and basis.turns.stated_ns is not None:
        near = scaled_words(basis.turns, basis.arms)
        text += f", {format_duration(basis.turns.stated_ns)} of each arm measured"
    else:
        near = near_words(basis.turns, basis.arms)
        text += _distances(basis) or f", no checkpoint cycle within a {basis.unit}"
    return f"{text}, {near} as the settings have it" if near else text


def _distances(basis: CyclesBasis) -> str:
    """One distance where both arms have about the same, else that of each; empty where no arm has
    one."""
    of_control, of_arm = basis.cycle_seconds
    if of_control is None and of_arm is None:
        return ""
    both = of_control is not None and of_arm is not None
    if both and math.isclose(of_control or 0.0, of_arm or 0.0, rel_tol=ALIKE):
        return f", a checkpoint every {_span(of_control or 0.0)}"
    clauses = [
        f"{'no cycle' if seconds is None else f'every {_span(seconds)}'} in {name}"
        for name, seconds in zip(basis.arms, basis.cycle_seconds, strict=True)
    ]
    return f", checkpoints: {' and '.join(clauses)}"


def _span(seconds: float) -> str:
    return format_duration(round(seconds * NS_PER_S))
