"""Tests equivalence: two one-sided tests against ±δ, as a set inside the margin.

Each one-sided test has level (.01, .04) at the two looks, so the set with k = ⌊α·G⌋ (92 % two-sided
at the last look) must lie inside. The joint error with slower/faster stays ≤ 5 %: at θ = 0 only
"different" can be false, at |θ| ≥ δ only "equivalent" or a wrong sign, and these are nested. The
two-sided 97 % set would ask for more than the error rate needs: 18 % power where this has 52
(N = 8, δ = 1 sd), 67 against 88 at N = 12. Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15
(1987) 657.
"""

from __future__ import annotations

from steelyard.analysis.decision.e_process import EProcess
from steelyard.analysis.decision.sign_flip import FlipSet, Floats, one_sided_set
from steelyard.model.estimate import Interval


def equivalence_set(d: Floats, alpha: float, assignment: tuple[bool, ...] | None = None) -> FlipSet:
    """The sign-flip set that must lie inside the margin; arguments as for `confidence_set`."""
    return one_sided_set(d, alpha, assignment)


def equivalence_set_open(process: EProcess, alpha: float) -> Interval:
    """The same at any time, from the e-process: θ with max E₊ and max E₋ below 1/α."""
    return process.one_sided_set(alpha)
