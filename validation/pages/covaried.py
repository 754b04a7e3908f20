"""How much narrower epochs become by what the arms do not move."""

from __future__ import annotations

from validation.cases.covariates import ALPHA, EPOCHS, SPIN_SD, WEIGHINGS, cases
from validation.pages.shares import BOUND
from validation.pages.table import at_most, paragraph, table
from validation.proportion import Proportion
from validation.results import Results

GAIN = 0.8
"""A ratio of variances that is worth adopting: narrower by 20 %."""
_WORDS = """
    The log ratio of an epoch, adjusted by a covariate that no arm can move (`validation/cases/
    covariates.py`): β is fitted through the origin on all other epochs, so that the exact test
    stays exact. *Ratio*: variance of an epoch adjusted ÷ as it is; below {gain:g} it would be worth
    having. *Neighbours' rate*: what the slices before and after each did, less the mean of their
    arm, on the traces above; in turns the nearest turn of another epoch, on the turns that the
    reproductions keep. *Loop at borders*: simulated, since no record has it: 20 ms of work whose
    time scatters by {spin:g} % at every border of slices, on machines as in the cycles above, of
    which it sees the share that is named. *False*: of {count:,} weighings of {epochs} epochs drawn
    from these with arms drawn anew, called different at {level:g} %, adjusted. Code and traces:
    {code}.{missing}
"""


def section(results: Results) -> str:
    """The section on covariates."""
    head, lines = "## Covariates: a trial", list(results)
    if not lines:
        return f"{head}\n\nNot yet tried."
    wanted = [case.key for case in cases()]
    missing = (
        "" if len(lines) == len(wanted) else f" **Done so far: {len(lines)} of {len(wanted)}.**"
    )
    words = _WORDS.format(
        gain=GAIN,
        spin=100 * SPIN_SD,
        count=WEIGHINGS,
        epochs=EPOCHS,
        level=100 * ALPHA,
        code=", ".join(sorted({one["code"] for one in lines})),
        missing=missing,
    )
    rows = [
        [
            one["covariate"],
            one["source"],
            f"{one['epochs']:,} of {one['weighings']}",
            f"{100 * one['sd']:.1f}",
            f"{one['correlation']:+.2f}",
            f"{one['ratio']:.2f} [{one['ratio_low']:.2f}, {one['ratio_high']:.2f}]",
            at_most(Proportion(one["false"], one["virtual"]), BOUND),
        ]
        for one in sorted(lines, key=lambda one: wanted.index(one["key"]))
    ]
    columns = ["covariate", "on", "epochs", "sd, %", "correlation", "ratio", "false, %"]
    return "\n\n".join([head, paragraph(words).strip(), table(columns, rows)])
