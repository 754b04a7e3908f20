"""Shows a calibration on a terminal: readings beside truths, and what the machine is good for.

none                           ├──────◉──────┤
3 % done twice       ├────●──◇──┤
3 % in stalls     ├──────◇─●────────┤
                  ┴─────────┴─────────┴─────────┴
                −4 %      −2 %        0       +2 %
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.cli.beam import column
from steelyard.cli.summary import doubt_lines, whereabouts, wrapped
from steelyard.report.charts.scale import Linear, decimals_of
from steelyard.report.words import course, digits_for, estimate, finite, interval, ordinal
from steelyard.study.study import Study, Weight
from steelyard.units import NS_PER_S, format_duration, format_percent

Facts = Mapping[str, Any]
_LEAST = 60
_MOST_PICTURE = 70
_ROOM = 0.08
"""Of the span of a picture, left free at either side."""
_MATTERS = 0.05
"""In percent: half the interval of a truth, from where on it is shown."""


def render_calibration(verdict: Facts, study: Study, width: int) -> str:
    """The whole result as plain lines no wider than `width` (at least 60), colourless."""
    width = max(width, _LEAST)
    contrasts = list(verdict.get("contrasts", []))
    names = {arm.name: weight_words(arm.weight) for arm in study.arms}
    blocks = [
        _table(contrasts, names, width),
        picture(contrasts, names, width),
        wrapped(covered_words(contrasts, names), width, ""),
        _trust(verdict, study, width),
        wrapped(ledger_words(verdict.get("ledger")), width, ""),
        [*doubt_lines(contrasts, width), *wrapped(course(verdict, {}), width, "")],
        whereabouts(verdict),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


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


def _table(contrasts: Sequence[Facts], names: Mapping[str, str], width: int) -> list[str]:
    """On a narrow terminal a truth goes without its own uncertainty."""
    told = [
        ("weight", "truth", "reading", "held"),
        *(_cells(one, names, True) for one in contrasts),
    ]
    lines = _aligned(told)
    if max(map(len, lines)) <= width:
        return lines
    return _aligned([told[0], *(_cells(one, names, False) for one in contrasts)])


def _cells(contrast: Facts, names: Mapping[str, str], whole: bool) -> tuple[str, str, str, str]:
    truth = _truth(contrast)
    read = f"{estimate(contrast)} {interval(contrast).removesuffix(' %')}"
    held = {True: "yes", False: "NO", None: "–"}[contrast.get("covered")]
    short = f"{truth.partition(' ±')[0]} %" if "±" in truth else truth
    return names[str(contrast["arm"])], truth if whole else short, read, held


def _aligned(rows: Sequence[tuple[str, str, str, str]]) -> list[str]:
    wide = [max(len(row[place]) for row in rows) for place in range(3)]
    return [
        f"{row[0]:<{wide[0]}}  {row[1]:>{wide[1]}}  {row[2]:>{wide[2]}}  {row[3]}" for row in rows
    ]


def _truth(contrast: Facts) -> str:
    value = finite(contrast.get("true_percent"))
    if value is None:
        return "unknown"
    ends = [finite(contrast.get(f"true_{end}_percent")) for end in ("low", "high")]
    digits = digits_for(contrast)
    if None not in ends and (half := (ends[1] - ends[0]) / 2) >= _MATTERS:  # type: ignore[operator]
        return f"{format_percent(value, digits).removesuffix(' %')} ± {half:.2g} %"
    return format_percent(value, digits)


def picture(contrasts: Sequence[Facts], names: Mapping[str, str], width: int) -> list[str]:
    """One row an arm on one scale, its truth marked; then the scale, and what the signs mean."""
    label = max(len(name) for name in names.values()) + 2
    x = _scale(contrasts, min(width - label, _MOST_PICTURE))
    if x is None:
        return []
    rows = [f"{names[str(one['arm'])]:<{label}}{_row(one, x)}".rstrip() for one in contrasts]
    axis = [f"{'':<{label}}{line}".rstrip() for line in _axis(x)]
    return [*rows, *axis, f"{'':<{label}}● reading  ◇ truth  ◉ both"]


def _scale(contrasts: Sequence[Facts], columns: int) -> Linear | None:
    keys = ("low", "estimate", "high", "true")
    values = [finite(one.get(f"{key}_percent")) for one in contrasts for key in keys]
    known = [value for value in values if value is not None]
    if not known:
        return None
    low, high = min([*known, 0.0]), max([*known, 0.0])
    room = max(high - low, 0.1) * _ROOM
    return Linear(low - room, high + room, 0, columns - 1)


def _row(contrast: Facts, x: Linear) -> str:
    low, middle, high, true = (
        finite(contrast.get(f"{key}_percent")) for key in ("low", "estimate", "high", "true")
    )
    row = [" "] * (int(x.end) + 1)
    if middle is not None and (low is not None or high is not None):
        first = 0 if low is None else column(low, x)
        last = len(row) - 1 if high is None else column(high, x)
        row[first : last + 1] = "─" * (last - first + 1)
        row[first] = "◂" if low is None else "├"
        row[last] = "▸" if high is None else "┤"
    if middle is not None:
        row[column(middle, x)] = "●"
    if true is not None:
        both = middle is not None and column(true, x) == column(middle, x)
        row[column(true, x)] = "◉" if both else "◇"
    return "".join(row)


def _axis(x: Linear) -> list[str]:
    ticks = x.ticks(max(int((x.end + 1) / 12), 2))
    beam, labels = ["─"] * (int(x.end) + 1), [" "] * (int(x.end) + 1)
    digits = decimals_of(ticks)
    for tick in ticks:
        beam[column(tick, x)] = "┴"
        words = "0" if abs(tick) < 1e-9 else format_percent(tick, digits)
        start = min(max(column(tick, x) - len(words) // 2, 0), len(labels) - len(words))
        labels[start : start + len(words)] = words
    return ["".join(beam), "".join(labels)]


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


def _trust(verdict: Facts, study: Study, width: int) -> list[str]:
    rows = list(verdict.get("trust") or [])
    if not rows or (verdict.get("ledger") or {}).get("off_balance"):
        return []  # a balance that is off can be trusted for nothing
    equal = next(one for one in verdict["contrasts"] if one["arm"] == study.equals[0].name)
    sd = finite((equal.get("details") or {}).get("epoch_sd_percent")) or 0.0
    missed = any(one.get("covered") is False for one in verdict["contrasts"])
    head = (
        f"{'If that was chance, what' if missed else 'What'} this machine can be trusted for, "
        f"weighing two arms under {load_words(study)}, where epochs of equal arms scatter by "
        f"{sd:.2g} %:"
    )
    foot = "So long a weighing sees that much four times in five; loading and pilot come on top."
    lines = [f"  {row['percent']:g} %  {trust_words(row)}" for row in rows]
    return [*wrapped(head, width, ""), *lines, *wrapped(foot, width, "")]


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
