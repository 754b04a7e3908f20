"""Formats a calibration: readings beside true effects, detectable differences, the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.model.units import NS_PER_S, format_digits, format_duration, format_percent
from steelyard.record.contrast import ContrastLine
from steelyard.record.epoch import LedgerBalance
from steelyard.record.verdict import TrustLine, Verdict
from steelyard.study.arm import Weight
from steelyard.study.study import Study
from steelyard.wording.contrast_text import (
    digits_for,
    ends_of,
    ordinal,
    reading_text,
)

_MATTERS = 0.05
"""In percent: half the interval of a truth, from where on it is shown."""


def weight_text(weight: Weight) -> str:
    """`"3 % done twice"`, `"equal arms"`."""
    parts = {
        "done twice": weight.double_work,
        "in stalls": weight.stall_share,
        "left behind": weight.background,
    }
    texts = [f"{100 * share:g} % {word}" for word, share in parts.items() if share]
    texts += [f"{format_digits(100 * weight.stall, 3)} % stall"] if weight.stall else []
    return ", ".join(texts) or "equal arms"


def truth_cells(
    contrast: ContrastLine, names: Mapping[str, str], whole: bool
) -> tuple[str, str, str, str]:
    """Weight, truth, reading, held; a truth without its own uncertainty unless `whole`."""
    truth = _truth(contrast)
    read = reading_text(contrast)
    coverage = {True: "yes", False: "NO", None: "–"}[contrast.covered]
    short = f"{truth.partition(' ±')[0]} %" if "±" in truth else truth
    return names[contrast.arm], truth if whole else short, read, coverage


def _truth(contrast: ContrastLine) -> str:
    true, low, high = contrast.true_percent, contrast.true_low_percent, contrast.true_high_percent
    if true is None:
        return "unknown"
    value = format_percent(true, digits_for(ends_of(contrast)))
    if low is None or high is None:
        return value
    half = (high - low) / 2
    return f"{value.removesuffix(' %')} ± {format_digits(half, 2)} %" if half >= _MATTERS else value


def coverage_text(contrasts: Sequence[ContrastLine], names: Mapping[str, str]) -> str:
    """Whether the intervals hold the true effects, and what to do about one that does not."""
    computed = [contrast for contrast in contrasts if contrast.covered is not None]
    missed = [contrast for contrast in computed if not contrast.covered]
    if not computed:
        return "No interval could be computed, so nothing is known about this machine yet."
    if not missed:
        sentence = (
            "The interval holds its truth"
            if len(computed) == 1
            else f"All {len(computed)} intervals hold their truths"
        )
        return f"{sentence}: in this weighing the readings are right."
    misses = [
        f"{names[contrast.arm]} must read {_truth(contrast)} and read {reading_text(contrast)}"
        for contrast in missed
    ]
    return (
        f"Missed: {'; '.join(misses)}. One 95 % interval in twenty misses by chance. Calibrate "
        "again with another seed; if that misses again, it is not chance: do not trust this "
        "machine until the cause is found."
    )


@dataclass(frozen=True)
class ShownTrust:
    """Which differences a machine can detect, and in which time."""

    head: str
    rows: list[tuple[str, str]]
    """Difference and time: `("2 %", "in about 15 min 35 s (10 min to 30 min)")`."""
    foot: str


def trust_of(verdict: Verdict, study: Study) -> ShownTrust | None:
    """None where nothing is known, and where the ledger shows that verdicts here are wrong."""
    if not verdict.trust or (verdict.ledger and verdict.ledger.off_balance):
        return None
    name = study.equals[0].name
    sds = [
        contrast.details.epoch_sd_percent for contrast in verdict.contrasts if contrast.arm == name
    ]
    sd = (sds[0] if sds else None) or 0.0
    missed = any(contrast.covered is False for contrast in verdict.contrasts)
    return ShownTrust(
        head=f"{'If that was chance, what' if missed else 'What'} this machine can be trusted for, "
        f"weighing two arms under {load_text(study)}, where epochs of equal arms scatter by "
        f"{format_digits(sd, 2)} %:",
        rows=[(f"{row.percent:g} %", detection_time_text(row)) for row in verdict.trust],
        foot="A weighing this long detects that difference with 80 % power; loading and pilot come "
        "on top.",
    )


def load_text(study: Study) -> str:
    """`"pgbench select-only at scale 5 with 1 client"`."""
    work, clients = study.workload, study.workload.clients
    scripts = "+".join(name.rpartition("/")[2] for name in work.scripts)
    count = "1 client" if clients == 1 else f"{clients} clients"
    return f"{work.name.rpartition('/')[2]} {scripts} at scale {work.scale} with {count}"


def detection_time_text(row: TrustLine) -> str:
    """`"in about 1 min 10 s (50 s to 2 min 30 s)"`."""
    likely, least, most = row.seconds, row.least_seconds, row.most_seconds
    if likely is None or least is None:
        return "not in a practical time: epochs scatter too much"
    if most == least:
        return f"in about {_time(likely)}, the least that a verdict takes"
    return (
        f"in about {_time(likely)} ({_time(least)} to {'hours' if most is None else _time(most)})"
    )


def _time(seconds: float) -> str:
    return format_duration(round(seconds) * NS_PER_S)


def ledger_text(ledger: LedgerBalance | None) -> str:
    """The evidence of all weighings of equal arms on this machine."""
    if ledger is None:
        return ""
    n = ledger.weighings
    times = "1 weighing" if n == 1 else f"{n} weighings"
    begun = ledger.ledgers
    which = f" (the {ordinal(begun)} ledger of this machine)" if begun > 1 else ""
    text = f"ledger: {times} of equal arms{which}, e-value {_evidence(ledger.e_value)}"
    if ledger.off_balance:
        text += (
            f"; it reached {_evidence(ledger.largest_e_value)}: this balance is off, and every "
            "verdict on this machine is invalid until it is repaired and a new ledger begun "
            "(--new-ledger)"
        )
    else:
        text += " (at 100 this balance would be off)"
    if skipped := ledger.skipped_lines:
        lines = "1 damaged line" if skipped == 1 else f"{skipped} damaged lines"
        text += f"; {lines} of {ledger.path} left out"
    return f"{text}."


def _evidence(value: float) -> str:
    return "over 1000" if value > 1000 else format_digits(value, 3)


@dataclass(frozen=True)
class ShownCalibration:
    """What the page shows of a calibration."""

    rows: list[dict[str, str]]
    covered: str
    trust: ShownTrust | None
    trusted: list[dict[str, str]]
    ledger: str


def calibration(verdict: Verdict, study: Study) -> ShownCalibration:
    """The section of a page; the verdict holds what was computed of trust and ledger."""
    contrasts = verdict.contrasts
    names = {arm.name: weight_text(arm.weight) for arm in study.arms}
    heads = ("weight", "truth", "reading", "held")
    trust = trust_of(verdict, study)
    return ShownCalibration(
        rows=[dict(zip(heads, truth_cells(x, names, True), strict=True)) for x in contrasts],
        covered=coverage_text(contrasts, names),
        trust=trust,
        trusted=[{"size": size, "time": time} for size, time in (trust.rows if trust else ())],
        ledger=ledger_text(verdict.ledger),
    )
