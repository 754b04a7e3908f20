"""Formats what a weighing reports while it runs: the plan, an epoch, a turn, a threat in a line."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT
from steelyard.model.threat import Threat
from steelyard.model.units import (
    NS_PER_S,
    format_digits,
    format_duration,
    format_percent,
    percent_of_log,
)
from steelyard.record.contrast import ContrastLine
from steelyard.record.plan import Plan
from steelyard.record.verdict import Verdict
from steelyard.report.layouts.plan_words import about_duration
from steelyard.report.layouts.shown_layout import shown_layout
from steelyard.report.plan import factor_rows
from steelyard.wording.contrast_text import estimate_text, full_stop, reading_text


def plan_line(plan: Plan) -> str:
    """`"12 epochs of 6.5 s, slices of 50 ms, placement symmetric, … seed 7"`; in turns `"10 epochs
    of 2 turns of about 2 min, 41 min in all, …"`."""
    return ", ".join([*shown_layout(plan).plan_parts(plan), *_further_parts(plan)])


def plan_lines(plan: Plan) -> list[str]:
    """The plan, and the factors, cells and effects of a factorial, a line each."""
    more = factor_rows(plan.factors) if plan.factors is not None else []
    return [f"plan: {plan_line(plan)}", *(f"{label}: {text}" for label, text in more)]


def _further_parts(plan: Plan) -> list[str]:
    own_data = [f"own data of {' and '.join(plan.sql)}"] if plan.sql else []
    ways = [f"{arm} by {way}" for arm, way in plan.connect.items()]
    parts = [f"placement {plan.placement}", *own_data, *ways]
    parts += [verdict_epochs_text(plan), f"seed {plan.seed}"]
    if plan.left_out:
        share = 100 * sum(script.share for script in plan.left_out)
        kinds = "1 script" if len(plan.left_out) == 1 else f"{len(plan.left_out)} scripts"
        parts.append(
            f"without {kinds} of the mix ({format_digits(share, 2)} % of the transactions)"
        )
    return parts


def turn_line(n: int, plan: Plan | None, what: str, seconds_left: float | None) -> str:
    """`"epoch 3 of 10: turn of off, 21 min left"`."""
    parts = (f"{epoch_text(n, plan)}: {what}", turn_time_left_text(seconds_left))
    return ", ".join(filter(None, parts))


def epoch_text(n: int, plan: Plan | None) -> str:
    """`"epoch 3 of 10"`; without a plan, or beyond its epochs, `"epoch 3"`."""
    return f"epoch {n} of {plan.epochs}" if plan and n <= plan.epochs else f"epoch {n}"


def verdict_epochs_text(plan: Plan) -> str:
    """When a verdict may fall: `"looks after epoch 8 and 12"`; or that none will."""
    if plan.open_ended:
        return "a look after every epoch"
    if plan.epochs < FEWEST_FOR_VERDICT:
        fewest = FEWEST_FOR_VERDICT
        return f"no verdict: it needs {fewest} epochs (--set budget.epochs={fewest})"
    if plan.look:
        return f"looks after epoch {plan.look} and {plan.epochs}"
    return f"one look after epoch {plan.epochs}"


def epoch_line(
    n: int, total: int, contrasts: Sequence[ContrastLine], seconds_left: float | None
) -> str:
    """`"epoch  3/12  off against on +2.31 %, so far +2.40 % [+1.20, +3.50], 54 s left"`."""
    texts = [_contrast_text(contrast) for contrast in contrasts]
    left = time_left_text(seconds_left)
    width = len(str(total))
    count = f"{n:>{width}}/{total}" if n <= total else f"{n} (open-ended)"
    return f"epoch {count}  " + "; ".join(texts) + (f", {left}" if left else "")


def cell_line(
    n: int, total: int, contrasts: Sequence[ContrastLine], seconds_left: float | None
) -> str:
    """Of a factorial: `"epoch  3/16  7 cells against off+plain so far from −14.20 % (on+pglz) to
    +3.10 % (on+plain), 4 min left"`; empty where nothing is known yet."""
    estimated = [contrast for contrast in contrasts if contrast.estimate_percent is not None]
    if not estimated:
        return ""
    least, most = (pick(estimated, key=_estimate) for pick in (min, max))
    ends = [f"{estimate_text(contrast)} ({contrast.arm})" for contrast in (least, most)]
    left = time_left_text(seconds_left)
    return (
        f"epoch {n:>{len(str(total))}}/{total}  {len(contrasts)} cells against "
        f"{contrasts[0].control} so far from {ends[0]} to {ends[1]}{f', {left}' if left else ''}"
    )


def _estimate(contrast: ContrastLine) -> float:
    return contrast.estimate_percent or 0.0


def recalled_line(total: int, contrasts: Sequence[ContrastLine]) -> str:
    """`"record: 4 of 12 epochs; off against on, so far +2.40 % [+1.20, +3.50]"`."""
    texts = [f"{contrast.pair}, so far {reading_text(contrast)}" for contrast in contrasts]
    return f"record: {len(contrasts[0].details.d)} of {total} epochs; " + "; ".join(texts)


def time_left_text(seconds_left: float | None) -> str:
    """`"54 s left"`; nothing where it is not known."""
    if seconds_left is None or seconds_left < 0:
        return ""
    return f"{format_duration(round(seconds_left) * NS_PER_S) if seconds_left >= 1 else '0 s'} left"


def turn_time_left_text(seconds_left: float | None) -> str:
    """`"21 min left"`, rounded, since no two turns take the same; nothing where it is not known."""
    return "" if seconds_left is None else f"{about_duration(seconds_left * NS_PER_S)} left"


def epoch_reading(d: float | None) -> str:
    """The log ratio of an epoch as a percent, or that it was lost."""
    return "lost" if d is None else format_percent(percent_of_log(d))


def threat_line(threat: Threat) -> str:
    """`"doubt: steal or throttling: the hypervisor took …"`."""
    kind = "invalid" if threat.invalidates else "doubt"
    return f"{kind}: {threat.name}: {threat.seen}"


def verdict_line(verdict: Verdict) -> str:
    """The verdict in one sentence."""
    return f"verdict: {full_stop(verdict.sentence or 'none')}"


def _contrast_text(contrast: ContrastLine) -> str:
    so_far = reading_text(contrast)
    return f"{contrast.pair} {epoch_reading(contrast.details.d[-1])}, so far {so_far}"
