"""Makes what the page shows of turns: distance, curves, throughput by the second, and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from steelyard.model.turn import Turn
from steelyard.model.units import NS_PER_S, format_bytes, format_digits, format_duration
from steelyard.record.plan import Plan, TurnChoices
from steelyard.record.turns.turn_summary import (
    CurveLine,
    EvennessLine,
    StallLine,
    TurnSummary,
    TurnSumsLine,
    near_words,
)
from steelyard.record.verdict import Verdict
from steelyard.report.charts.drawing import WIDE, both_widths
from steelyard.report.charts.turns import draw_by_distance, draw_distances, draw_seconds
from steelyard.report.layouts.shown_layout import shown_layout
from steelyard.report.source import PageSource
from steelyard.report.tables import amount
from steelyard.wording.contrast_text import reading_text

Row = dict[str, str]

MOST_BYTES = 700_000
"""Of pictures by the second; the last epochs of a long weighing are left out of the page."""
MOST_STALLS = 60
ALIKE = 0.05
"""Distances of the arms that differ by less are said as one."""
UNLIKE = 1.5
"""Cycles of two arms that differ by more."""
_TOO_NEAR = (
    "The effect at other distances is not computed: the arms were not both measured for long "
    "enough after a checkpoint began."
)
EVENNESS = {
    "throughput_mean": "mean",
    "throughput_sd": "standard deviation",
    "throughput_cv": "CV: standard deviation ÷ mean",
}


@dataclass(frozen=True)
class ShownPair:
    """What turns show of an arm against the control."""

    arm: str
    control: str
    distances: Markup | None
    too_near: str
    """Why no distance is computed; empty where one is, and where there is no curve."""
    other_ages: str
    """What the curve takes for time since a checkpoint; empty where cycles are alike."""
    curve: Markup | None
    curve_rows: list[Row]
    evenness: list[Row]


@dataclass(frozen=True)
class ShownTurns:
    """The section on turns, ready to be shown."""

    title: str
    unit: str
    """What an arm was measured in, in an epoch."""
    point: str
    """What throughput is drawn by."""
    lead: str
    """How turns were measured."""
    distance: str
    """The distance between checkpoints and the time scale."""
    pairs: list[ShownPair]
    seconds: list[tuple[int, Markup]]
    """Epoch (from 1) and its picture."""
    left_out: int
    """Epochs that are not drawn by the second."""
    stalls: list[Row]
    """A row an arm; none where nothing stalled."""
    stall_rows: list[Row]
    further_stalls: int
    """Stalls without a row."""
    sums: list[Row]
    """What each arm wrote and left, a column an arm."""
    arms: list[tuple[str, str]]
    """Key of a column → the arm that it is of."""


def shown_turns(source: PageSource, classes: Mapping[str, str]) -> ShownTurns | None:
    """None of a weighing in slices. Before there is a verdict, throughput by the second alone."""
    plan, verdict = source.plan, source.verdict
    layout, turns = shown_layout(plan), plan.turns
    if turns is None:
        return None
    summary = (verdict and verdict.turns) or TurnSummary()
    seconds, left_out = _seconds(source, classes)
    rows = stall_rows(summary.stalls)
    return ShownTurns(
        title=layout.title,
        unit=layout.unit,
        point=layout.point,
        lead=layout.lead(turns),
        distance=distance_sentence(verdict, turns, layout.unit) if verdict else "",
        pairs=[_pair(arm, plan, verdict, summary, classes) for arm in source.arms[1:]]
        if verdict
        else [],
        seconds=seconds,
        left_out=left_out,
        stalls=stall_sums(source.arms, summary) if summary.stalls else [],
        stall_rows=rows,
        further_stalls=len(summary.stalls) - len(rows),
        sums=sum_rows(source.arms, summary.sums),
        arms=[(str(number), arm) for number, arm in enumerate(source.arms)],
    )


def distance_sentence(verdict: Verdict, turns: TurnChoices, unit: str) -> str:
    """How far apart checkpoints were, and by which factor they were brought nearer; `unit`: what an
    arm was measured in."""
    summary = verdict.turns or TurnSummary()
    if turns.continuous:
        return _log_sentence(turns, [line.arm for line in summary.sums])
    cycle_seconds = {line.arm: line.cycle_seconds for line in summary.sums if line.cycle_seconds}
    lengths = list(cycle_seconds.values())
    if not lengths:
        far = f"No {unit} saw two checkpoints begin: they were"
    elif len(cycle_seconds) == len(summary.sums) and max(lengths) <= (1 + ALIKE) * min(lengths):
        far = f"A checkpoint began every {_seconds_text(lengths[0])},"
    else:
        each = " and ".join(
            f"every {_seconds_text(far)} in {arm}" for arm, far in cycle_seconds.items()
        )
        far = f"A checkpoint began {each},"
    scale = turns.time_scale
    arms = [line.arm for line in summary.sums]
    near = "as far apart as" if scale == 1 else f"{near_words(turns, arms)} as"
    return f"{far} {near} the arms' own settings have it (time scale {_factor(scale)})."


def _log_sentence(turns: TurnChoices, arms: Sequence[str]) -> str:
    each = [
        f"every {_seconds_text(seconds)} in {arm}" for arm, seconds in turns.cycle_seconds.items()
    ]
    far = f" It was to turn over {' and '.join(each)}." if each else ""
    near = f"{near_words(turns, arms)} as" if turns.time_scale != 1 else "as large as"
    return (
        f"The log was {near} the arms' own settings have it (time scale "
        f"{_factor(turns.time_scale)}).{far}"
    )


def _factor(scale: float) -> str:
    return f"F = {scale:g}".replace(" ", "\N{NO-BREAK SPACE}")


def _seconds_text(seconds: float) -> str:
    return format_duration(seconds * NS_PER_S)


def _pair(
    arm: str, plan: Plan, verdict: Verdict, summary: TurnSummary, classes: Mapping[str, str]
) -> ShownPair:
    pair, margin = (plan.control, arm), plan.margin_percent
    distances = [line for line in verdict.by_distance if line.arm == arm]
    curve = [line for line in summary.curve if line.arm == arm]
    return ShownPair(
        arm=arm,
        control=plan.control,
        distances=both_widths(
            lambda width: draw_distances(distances, pair, classes, margin, width), WIDE
        )
        if distances
        else None,
        too_near=_TOO_NEAR if curve and not distances else "",
        other_ages=other_ages(pair, {line.arm: line.cycle_seconds for line in summary.sums})
        if curve
        else "",
        curve=both_widths(lambda width: draw_by_distance(curve, pair, classes, margin, width), WIDE)
        if curve
        else None,
        curve_rows=curve_rows(curve),
        evenness=evenness_rows([line for line in summary.evenness if line.arm == arm]),
    )


def other_ages(pair: tuple[str, str], cycle_seconds: Mapping[str, float | None]) -> str:
    """The same seconds after a checkpoint lie at other ages where the arms' cycles are unlike;
    empty where they are alike."""
    cycles = [cycle_seconds.get(arm) for arm in pair]
    lengths = [cycle for cycle in cycles if cycle]
    if len(lengths) < len(pair) or max(lengths) <= UNLIKE * min(lengths):
        return ""
    each = " and ".join(
        f"{_seconds_text(length)} in {arm}" for arm, length in zip(pair, lengths, strict=True)
    )
    return (
        f"Checkpoints are {each} apart, so the same seconds after one are of other ages of the "
        "servers: what changes with age alone is in this curve."
    )


def _seconds(
    source: PageSource, classes: Mapping[str, str]
) -> tuple[list[tuple[int, Markup]], int]:
    """Pictures of as many epochs as fit, and how many are left out."""
    pictures: list[tuple[int, Markup]] = []
    size = 0
    epochs = {epoch: _ordered(turns, source.arms) for epoch, turns in source.turns.items()}
    drawn = {epoch: turns for epoch, turns in sorted(epochs.items()) if turns}
    for epoch, turns in drawn.items():
        picture = _picture(turns, classes, epoch, shown_layout(source.plan).first)
        size += len(picture.encode())
        if pictures and size > MOST_BYTES:
            break
        pictures.append((epoch, picture))
    return pictures, len(drawn) - len(pictures)


def _picture(turns: Sequence[Turn], classes: Mapping[str, str], epoch: int, first: str) -> Markup:
    return both_widths(lambda width: draw_seconds(turns, classes, epoch, width, first), WIDE)


def _ordered(turns: Mapping[str, Turn], arms: Sequence[str]) -> list[Turn]:
    """Those that were measured, the control first."""
    return [turns[arm] for arm in arms if arm in turns and turns[arm].seconds]


def curve_rows(lines: Iterable[CurveLine]) -> list[Row]:
    """The contrast in each bin, with what the arms wrote there."""
    return [
        {
            "time": f"{_seconds_text(line.from_seconds) if line.from_seconds else '0'} to "
            f"{_seconds_text(line.to_seconds)}",
            "reading": reading_text(line),
            "control_images": amount(line.control_images),
            "arm_images": amount(line.arm_images),
            "control_wal": _bytes(line.control_wal_bytes),
            "arm_wal": _bytes(line.arm_wal_bytes),
        }
        for line in lines
    ]


def evenness_rows(lines: Iterable[EvennessLine]) -> list[Row]:
    """Mean, standard deviation and CV of throughput over equal windows, with their contrasts."""
    return [
        {
            "metric": EVENNESS.get(line.metric, line.metric),
            "control": evenness_value(line.metric, line.control_value),
            "arm": evenness_value(line.metric, line.arm_value),
            "reading": reading_text(line),
        }
        for line in lines
    ]


def evenness_value(metric: str, value: float) -> str:
    """A CV as a percent, the others in transactions a second."""
    return (
        f"{format_digits(100 * value, 3)} %" if metric == "throughput_cv" else amount(value, "tps")
    )


def stall_sums(arms: Sequence[str], summary: TurnSummary) -> list[Row]:
    """A row an arm: how often and how long it stalled, and what mostly went on then."""
    rows = []
    for arm in arms:
        stalls = [stall for stall in summary.stalls if stall.arm == arm]
        stalled = sum(stall.seconds for stall in stalls)
        loaded = sum(
            line.turns * line.seconds for line in summary.sums if line.arm == arm and line.seconds
        )
        share = (
            f" ({format_digits(100 * stalled / loaded, 2)} % of the time)"
            if loaded and stalls
            else ""
        )
        rows.append(
            {
                "arm": arm,
                "stalls": str(len(stalls)),
                "storms": str(sum(stall.storm for stall in stalls)),
                "time": f"{_seconds_text(stalled)}{share}" if stalls else "–",
                "longest": _seconds_text(max(stall.seconds for stall in stalls)) if stalls else "–",
                "note": _causes(stalls),
            }
        )
    return rows


def _causes(stalls: Iterable[StallLine]) -> str:
    """`"begin of a checkpoint (5), kernel write-back (1)"`, the most frequent first."""
    counted = Counter(stall.cause for stall in stalls).most_common()
    return ", ".join(f"{cause} ({count})" for cause, count in counted)


def stall_rows(stalls: Sequence[StallLine]) -> list[Row]:
    """The longest stalls, in order of time."""
    longest = sorted(stalls, key=lambda stall: -stall.seconds)[:MOST_STALLS]
    return [
        {
            "where": f"epoch {stall.epoch}, {stall.arm}",
            "at": _seconds_text(stall.from_seconds) if stall.from_seconds else "0 s",
            "length": f"{_seconds_text(stall.seconds)}{', a storm' if stall.storm else ''}",
            "depth": f"{format_digits(100 * stall.depth, 2)} %",
            "cause": stall.cause,
        }
        for stall in sorted(longest, key=lambda stall: (stall.epoch, stall.arm, stall.from_seconds))
    ]


def sum_rows(arms: Sequence[str], sums: Iterable[TurnSumsLine]) -> list[Row]:
    """What each arm wrote and left, a column an arm."""
    by_arm = {line.arm: line for line in sums}
    if len(by_arm) < len(arms):
        return []
    columns = [_sum_column(by_arm[arm]) for arm in arms]
    return [
        {"what": what, **{str(number): column[what] for number, column in enumerate(columns)}}
        for what in columns[0]
        if any(column[what] for column in columns)
    ]


def _sum_column(line: TurnSumsLine) -> Row:
    return {
        "turns": str(line.turns),
        "measured": _known_seconds(line.seconds),
        "from one checkpoint to the next": _known_seconds(line.cycle_seconds),
        "checkpoints completed": amount(line.checkpoints),
        "WAL written": _bytes(line.wal_bytes),
        "waiting to be written, at the start": _bytes(line.waiting_at_start_bytes),
        "waiting to be written, at the end": _bytes(line.waiting_at_end_bytes),
        "files of all arms, at its first turn and at its last": _growth(line),
    }


def _growth(line: TurnSumsLine) -> str:
    """Empty where it is not known."""
    ends = line.first_files_bytes, line.last_files_bytes
    return "" if None in ends else " and ".join(_bytes(end) for end in ends)


def _known_seconds(seconds: float | None) -> str:
    return "–" if seconds is None else _seconds_text(seconds)


def _bytes(size: float | None) -> str:
    return "–" if size is None else format_bytes(size)
