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
    arm, on the traces above; in turns the nearest turn of another epoch, on turns that were
    recorded by reproductions. *Loop at borders*: simulated, since no record has it: 20 ms of work
    whose time scatters by {spin:g} % at every border of slices, on machines as in the cycles above,
    of which it sees the share that is named. *False*: of {count:,} weighings of {epochs} epochs
    drawn from these with arms drawn anew, called different at {level:g} %, adjusted. Code and
    traces: {code}.{missing}
"""


def section(results: Results) -> str:
    """The section on covariates."""
    head, lines = "## Covariates: a trial", list(results)
    if not lines:
        return f"{head}\n\nNot yet tried."
    expected = [case.key for case in cases()]
    missing = (
        "" if len(lines) == len(expected) else f" **Done so far: {len(lines)} of {len(expected)}.**"
    )
    text = _WORDS.format(
        gain=GAIN,
        spin=100 * SPIN_SD,
        count=WEIGHINGS,
        epochs=EPOCHS,
        level=100 * ALPHA,
        code=", ".join(sorted({line["code"] for line in lines})),
        missing=missing,
    )
    rows = [
        [
            line["covariate"],
            line["source"],
            f"{line['epochs']:,} of {line['weighings']}",
            f"{100 * line['sd']:.1f}",
            f"{line['correlation']:+.2f}",
            f"{line['ratio']:.2f} [{line['ratio_low']:.2f}, {line['ratio_high']:.2f}]",
            at_most(Proportion(line["false"], line["virtual"]), BOUND),
        ]
        for line in sorted(lines, key=lambda line: expected.index(line["key"]))
    ]
    columns = ["covariate", "on", "epochs", "sd, %", "correlation", "ratio", "false, %"]
    return "\n\n".join([head, paragraph(text).strip(), table(columns, rows)])
