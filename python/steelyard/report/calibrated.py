"""Says a calibration in words: readings beside truths, what the machine is good for, the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.model.units import NS_PER_S, format_duration, format_percent
from steelyard.report.words import digits_for, estimate, finite, interval, ordinal
from steelyard.study.study import Study, Weight

Facts = Mapping[str, Any]
_MATTERS = 0.05
"""In percent: half the interval of a truth, from where on it is shown."""


def weight_words(weight: Weight) -> str:
    """`"3 % done twice"`, `"equal arms"`."""
    parts = {
        "done twice": weight.twice,
        "in stalls": weight.stall_worth,
        "left behind": weight.background,
    }
    said = [f"{100 * share:g} % {word}" for word, share in parts.items() if share]
    said += [f"{100 * weight.stall:.3g} % stall"] if weight.stall else []
    return ", ".join(said) or "equal arms"


def truth_cells(
    contrast: Facts, names: Mapping[str, str], whole: bool
) -> tuple[str, str, str, str]:
    """Weight, truth, reading, held; a truth without its own uncertainty unless `whole`."""
    truth = _truth(contrast)
    read = f"{estimate(contrast)} {interval(contrast).removesuffix(' %')}"
    held = {True: "yes", False: "NO", None: "–"}[contrast.get("covered")]
    short = f"{truth.partition(' ±')[0]} %" if "±" in truth else truth
    return names[str(contrast["arm"])], truth if whole else short, read, held


def _truth(contrast: Facts) -> str:
    value = finite(contrast.get("true_percent"))
    if value is None:
        return "unknown"
    ends = [finite(contrast.get(f"true_{end}_percent")) for end in ("low", "high")]
    digits = digits_for(contrast)
    if None not in ends and (half := (ends[1] - ends[0]) / 2) >= _MATTERS:  # type: ignore[operator]
        return f"{format_percent(value, digits).removesuffix(' %')} ± {half:.2g} %"
    return format_percent(value, digits)


def covered_words(contrasts: Sequence[Facts], names: Mapping[str, str]) -> str:
    """Whether the intervals hold the truths, and what to think of one that does not."""
    known = [one for one in contrasts if one.get("covered") is not None]
    missed = [one for one in known if not one["covered"]]
    if not known:
        return "No interval could be made, so nothing is known of this balance yet."
    if not missed:
        held = (
            "The interval holds its truth"
            if len(known) == 1
            else f"All {len(known)} intervals hold their truths"
        )
        return f"{held}: in this weighing the balance read right."
    said = [
        f"{names[str(one['arm'])]} must read {_truth(one)} and read "
        f"{estimate(one)} {interval(one).removesuffix(' %')}"
        for one in missed
    ]
    return (
        f"Missed: {'; '.join(said)}. One 95 % interval in twenty misses by chance. Calibrate again "
        "with another seed: what is missed again is no chance, and this machine not to be believed "
        "until its cause is found."
    )


@dataclass(frozen=True)
class Trust:
    """What a machine can be trusted for, in words."""

    head: str
    rows: list[tuple[str, str]]
    """Difference and time: `("2 %", "in about 15 min 35 s (10 min to 30 min)")`."""
    foot: str


def trust_of(verdict: Facts, study: Study) -> Trust | None:
    """None where nothing is known, and of a balance that is off: it can be trusted for nothing."""
    rows = list(verdict.get("trust") or [])
    if not rows or (verdict.get("ledger") or {}).get("off_balance"):
        return None
    name = study.equals[0].name
    equal: Facts = next((one for one in verdict["contrasts"] if one["arm"] == name), {})
    sd = finite((equal.get("details") or {}).get("epoch_sd_percent")) or 0.0
    missed = any(one.get("covered") is False for one in verdict["contrasts"])
    return Trust(
        head=f"{'If that was chance, what' if missed else 'What'} this machine can be trusted for, "
        f"weighing two arms under {load_words(study)}, where epochs of equal arms scatter by "
        f"{sd:.2g} %:",
        rows=[(f"{row['percent']:g} %", trust_words(row)) for row in rows],
        foot="So long a weighing sees that much four times in five; loading and pilot come on top.",
    )


def load_words(study: Study) -> str:
    """`"pgbench select-only at scale 5 with 1 client"`."""
    work, clients = study.workload, study.workload.clients
    scripts = "+".join(name.rpartition("/")[2] for name in work.scripts)
    who = "1 client" if clients == 1 else f"{clients} clients"
    return f"{work.name.rpartition('/')[2]} {scripts} at scale {work.scale} with {who}"


def trust_words(row: Facts) -> str:
    """`"in about 1 min 10 s (50 s to 2 min 30 s)"`."""
    likely, least, most = (finite(row.get(k)) for k in ("seconds", "least_seconds", "most_seconds"))
    if likely is None or least is None:
        return "in no time that anybody would wait: epochs scatter too much"
    if most == least:
        return f"in about {_time(likely)}, the least that a verdict takes"
    return (
        f"in about {_time(likely)} ({_time(least)} to {'hours' if most is None else _time(most)})"
    )


def _time(seconds: float) -> str:
    return format_duration(round(seconds) * NS_PER_S)


def ledger_words(ledger: Facts | None) -> str:
    """How the balance stands by all weighings of equal arms on this machine."""
    if not ledger:
        return ""
    n = int(ledger["weighings"])
    times = "1 weighing" if n == 1 else f"{n} weighings"
    begun = int(ledger["ledgers"])
    which = f" (the {ordinal(begun)} ledger of this machine)" if begun > 1 else ""
    said = f"ledger: {times} of equal arms{which}, e-value {_evidence(ledger['e_value'])}"
    if ledger["off_balance"]:
        said += (
            f"; it reached {_evidence(ledger['largest_e_value'])}: this balance is off, and every "
            "verdict on this machine is invalid until it is mended and a new ledger begun "
            "(--new-ledger)"
        )
    else:
        said += " (at 100 this balance would be off)"
    if skipped := int(ledger["skipped_lines"]):
        lines = "1 damaged line" if skipped == 1 else f"{skipped} damaged lines"
        said += f"; {lines} of {ledger['path']} left out"
    return f"{said}."


def _evidence(value: float) -> str:
    return "over 1000" if value > 1000 else f"{value:.3g}"


def calibration(verdict: Facts, study: Study) -> dict[str, Any]:
    """What the page shows of a calibration."""
    contrasts = list(verdict["contrasts"])
    names = {arm.name: weight_words(arm.weight) for arm in study.arms}
    heads = ("weight", "truth", "reading", "held")
    trust = trust_of(verdict, study)
    return {
        "rows": [dict(zip(heads, truth_cells(x, names, True), strict=True)) for x in contrasts],
        "covered": covered_words(contrasts, names),
        "trust": trust,
        "trusted": [{"size": size, "time": time} for size, time in (trust.rows if trust else ())],
        "ledger": ledger_words(verdict.get("ledger")),
    }
