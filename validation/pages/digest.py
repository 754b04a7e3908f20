"""The few figures of docs/method that come from the validation, so that they cannot disagree."""

from __future__ import annotations

from validation.cases.simulation import NO_MARGIN, OPEN_EPOCHS, Tally
from validation.cases.virtual import Question
from validation.pages.shares import (
    ZERO,
    Simulated,
    detected,
    equivalent,
    false_alarms,
    missed,
)
from validation.pages.table import percent, table
from validation.proportion import Proportion

VALIDATED = "<!-- figures of docs/results/validation.md -->\n"
JUDGED = "<!-- figures of judge -->\n"
ENDS = "<!-- end of figures -->\n"
EPOCHS = (8, 10, 12, 18, 30)
NAMED = (
    "white",
    "slot effect",
    "slot effect that alternates",
    "drift",
    "spikes",
    "variance regimes",
    "storm",
    "stalls in one arm",
    "arm × time autocorrelation",
    "slow restarts, one arm",
)
"""The worlds that METHODOLOGY.md shows; docs/results/validation.md shows them all."""


def figures(every: Simulated) -> str:
    """The text between the marks."""
    return "\n".join(["", _alarms(every), "", _power(every), "", _open(every), ""])


def _alarms(every: Simulated) -> str:
    rows = []
    for world in NAMED:
        shares = [
            false_alarms(every.tally(world, epochs, "first verdict", NO_MARGIN))
            for epochs in EPOCHS
        ]
        rows.append([world, *(_one_digit(share) for share in shares)])
    head = "false “slower” or “faster” for equal arms, %, at their worst"
    return table([head, *(f"N = {epochs}" for epochs in EPOCHS)], rows)


def _power(every: Simulated) -> str:
    def row(words: str, effect: float, rule: str = "plan") -> list[str]:
        tallies = [every.tally("white", epochs, rule, Question(effect)) for epochs in EPOCHS]
        return [words, *(f"{percent(detected(tally))} % ({_epochs(tally)})" for tally in tallies)]

    none = [every.tally("white", epochs, "plan", ZERO) for epochs in EPOCHS]
    apart = [every.tally("white", epochs, "plan", Question(-0.01)) for epochs in EPOCHS]
    rows = [
        row("an effect of 1 sd is seen (epochs used)", -0.01),
        row("an effect of 2 sd is seen", -0.02),
        ["equal arms are called equivalent, δ = 1 sd", *(_whole(equivalent(o)) for o in none)],
        ["arms δ = 1 sd apart are", *(f"{_one_digit(equivalent(o))} %" for o in apart)],
    ]
    return table(["white world, by the plan", *(f"N = {epochs}" for epochs in EPOCHS)], rows)


def _open(every: Simulated) -> str:
    [planned] = OPEN_EPOCHS
    none = every.tally("white", planned, "open, first verdict", NO_MARGIN)
    small = every.tally("white", planned, "open, first verdict", Question(-0.01))
    rules = ("open, first verdict", "open")
    misses = max(
        (
            missed(every.tally("white", planned, rule, Question(effect)))
            for rule in rules
            for effect in (0.0, -0.01, -0.03)
        ),
        key=lambda share: share.value,
    )
    return (
        f"Open-ended weighings planned for {planned} epochs and judged after every one, white "
        f"world, {none.weighings:,} a case: false alarms {false_alarms(none)} %, truth missed "
        f"{misses} % at its worst, an effect of 1 sd seen in {percent(detected(small))} % after "
        f"{_epochs(small)} epochs."
    )


def _epochs(tally: Tally) -> str:
    return f"{tally.epochs / tally.weighings:.1f}" if tally.weighings else "–"


def _one_digit(share: Proportion) -> str:
    return f"{100 * share.value:.1f}" if share.trials else "–"


def _whole(share: Proportion) -> str:
    return f"{percent(share)} %" if share.trials else "–"


def replaced(text: str, begins: str, figures: str) -> str:
    """A document with what stands behind one mark replaced; ValueError without the marks."""
    before, mark, rest = text.partition(begins)
    _, end, after = rest.partition(ENDS)
    if not mark or not end:
        raise ValueError("the document has no marks for the figures of the validation")
    return before + begins + figures + ENDS + after
