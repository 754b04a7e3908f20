"""Steelyard's own rule, as a weighing of 10 epochs has it: 30 s of measuring."""

from __future__ import annotations

import numpy as np

from steelyard.evaluation.rule import VerdictKind
from validation.cases.virtual import Question, VirtualWeighing, planned
from validation.machines.machine import Machine
from validation.rules.rule import Rule, Says
from validation.worlds.world import SIGMA

EPOCHS = 10
_SAYS = {
    VerdictKind.SLOWER: Says.SLOWER,
    VerdictKind.FASTER: Says.FASTER,
    VerdictKind.EQUIVALENT: Says.SAME,
}


def judge(machine: Machine, rng: np.random.Generator) -> Says:
    """Two looks, at 8 and 10 epochs, margin 1 %; what is measured after an ending is given back."""
    before = machine.seconds
    d, first = machine.epochs(EPOCHS)
    ending = VirtualWeighing(d, first, planned(EPOCHS, SIGMA)).ending(Question(0.0), False)
    machine.seconds = before + (machine.seconds - before) * ending.epochs / EPOCHS
    return _SAYS.get(ending.kind, Says.NOTHING)


STEELYARD = Rule("steelyard, 10 epochs", "METHODOLOGY.md", "nothing", judge)
