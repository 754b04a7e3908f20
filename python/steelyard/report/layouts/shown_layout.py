"""What is shown of a weighing in one layout: rows of its plan, its line of progress, its lead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from steelyard.model.units import NS_PER_MS, NS_PER_S, format_duration
from steelyard.record.contrast import ContrastLine
from steelyard.record.plan import CYCLES, SLICES, TURNS, Plan, TurnChoices
from steelyard.report.layouts.plan_words import (
    Row,
    about_duration,
    because,
    begins,
    cycle_parts,
    cycle_rows,
    decision_text,
    executions_text,
    layout_row,
)
from steelyard.wording.contrast_text import ordinal

_DRAWN: Mapping[str, str] = {
    "own servers": "In every epoch all arms were restarted and given their slots anew at random.",
    "own databases": (
        "In every epoch which arm works in which database was drawn anew at random; each was set "
        "as its arm says and rebuilt, and all connections were opened afresh."
    ),
}
_AFRESH = (
    "In every epoch all connections were opened afresh, in an order of the arms drawn anew at "
    "random; the servers went on."
)


class ShownLayout(Protocol):
    """What report and progress say of a layout."""

    title: str
    """Of the page's section on checkpoint cycles; empty: it has none."""
    unit: str
    """What an arm is measured in, in an epoch."""
    point: str
    """What throughput is drawn by."""
    first: str
    """What the arm that comes first in an epoch has; empty: all run at once."""
    dots: bool
    """Whether every slice is drawn as a dot, since its course by the time is not."""
    moves: bool
    """Whether the load moves between the arms, so that what one leaves may be written in slices of
    another."""

    def plan_rows(self, plan: Plan) -> list[Row]:
        """Layout, epochs, looks and slices."""

    def plan_parts(self, plan: Plan) -> list[str]:
        """Epochs and slices in one line."""

    def lead(self, turns: TurnChoices) -> str:
        """How arms were measured over their checkpoint cycles."""

    def counts(self, contrast: ContrastLine) -> Mapping[str, int]:
        """What the interval rests on."""

    def epochs_drawn(self, plan: Plan) -> str:
        """What is drawn anew in every epoch."""

    def loaded(self, plan: Plan) -> str:
        """How load was put on the arms, the last sentence without its end."""


class SlicesShown:
    """The load moved from arm to arm."""

    title = ""
    unit = "epoch"
    point = "slice"
    first = ""
    dots = True
    moves = True

    def plan_rows(self, plan: Plan) -> list[Row]:
        """Epochs, blocks and slices, and what filled the pools."""
        fewer = "longer and fewer, " if plan.epochs_why else ""
        epochs = f"{plan.epochs}, {fewer}each about {format_duration(plan.epoch_ns)}"
        length = format_duration(plan.slice_ns)
        cut = plan.counted
        filled = f"filled by reading the data, {format_duration(plan.warm_ns)} an epoch"
        return [
            *layout_row(plan, f"about {about_duration(plan.takes_ns)} of load"),
            ("epochs", because(epochs, plan.epochs_why)),
            ("looks", decision_text(plan)),
            ("blocks in an epoch", str(plan.blocks_per_epoch)),
            (
                "slice",
                because(
                    length if cut is None else f"{executions_text(cut)}, about {length}",
                    plan.slice_why,
                ),
            ),
            ("warm-up", format_duration(plan.warmup_ns)),
            ("buffer pools", because(filled, plan.warm_why) if plan.warm == "by reading" else ""),
        ]

    def plan_parts(self, plan: Plan) -> list[str]:
        """`["12 epochs of 6.5 s", "slices of 50 ms"]`."""
        parts = [f"{plan.epochs} epochs of {format_duration(plan.epoch_ns)}"]
        length = format_duration(plan.slice_ns)
        if plan.counted is not None:
            parts.append(f"slices of {executions_text(plan.counted)} (about {length})")
        elif plan.slice_ns:
            parts.append(f"slices of {length}")
        return parts

    def lead(self, turns: TurnChoices) -> str:
        """There is no section on cycles."""
        return ""

    def counts(self, contrast: ContrastLine) -> Mapping[str, int]:
        """Epochs and blocks."""
        return {"epochs": contrast.epochs, "blocks": contrast.blocks}

    def epochs_drawn(self, plan: Plan) -> str:
        """Slots, where the servers are ours."""
        return _DRAWN.get(plan.residency, _AFRESH)

    def loaded(self, plan: Plan) -> str:
        """The load moves."""
        return f"The {_moving(plan)}"


class TurnsShown:
    """One arm at a time, alone on the machine."""

    title = "In turns"
    unit = "turn"
    point = "second"
    first = "first turn"
    dots = False
    moves = False

    def plan_rows(self, plan: Plan) -> list[Row]:
        """Epochs of turns: how long they are, what they are measured by, and what is kept equal."""
        turns = _cycles_of(plan)
        each = about_duration(turns.turn_ns)
        late = f"after {begins(turns)} under load"
        begin = (
            late if turns.continuous else f"the end of a checkpoint, or where none comes, {late}"
        )
        return [
            *layout_row(plan, f"about {about_duration(plan.takes_ns)} in all"),
            ("epochs", f"{plan.epochs}, each {len(plan.arms)} turns of about {each}"),
            *cycle_rows(plan, turns, begin=begin if turns.limits else "", unit="a turn"),
        ]

    def plan_parts(self, plan: Plan) -> list[str]:
        """`["10 epochs of 2 turns of about 2 min", "41 min in all"]`."""
        turns = _cycles_of(plan)
        each = about_duration(turns.turn_ns)
        epochs = f"{plan.epochs} epochs of {len(plan.arms)} turns of about {each}"
        return [epochs, *cycle_parts(plan, turns)]

    def lead(self, turns: TurnChoices) -> str:
        """Alone, from a cold start, for whole cycles."""
        alike = (
            ", or, where its checkpoints are nearer than another arm's, at the same age and for "
            "about as long"
            if turns.unlike_cycles and turns.stated_ns is None
            else ""
        )
        span = _span(turns, "end")
        return (
            f"Each arm ran alone on the machine, from a cold start, and was measured {span}{alike}."
        )

    def counts(self, contrast: ContrastLine) -> Mapping[str, int]:
        """Epochs."""
        return {"epochs": contrast.epochs}

    def epochs_drawn(self, plan: Plan) -> str:
        """The order of turns, and slots."""
        return (
            "In every epoch each arm had one turn, in an order and in a slot drawn anew at random."
        )

    def loaded(self, plan: Plan) -> str:
        """One arm after the other."""
        return (
            "In every epoch each arm had one turn. The other arms were shut down, the files of all "
            "arms were written back and dropped from the page cache, and the arm was started and "
            "warmed until throughput and reads were level, but no longer than planned. Then it was "
            f"measured in slices of {plan.slice_ns / NS_PER_S:g} s on connections that stayed open"
        )


class CyclesShown:
    """All arms, each in its own time."""

    title = "In cycles"
    unit = "window"
    point = "slice"
    first = ""
    dots = False
    moves = True

    def plan_rows(self, plan: Plan) -> list[Row]:
        """Epochs in cycles; times are own time of the arms but for what an epoch takes."""
        turns = _cycles_of(plan)
        late = f"after {begins(turns)} of own time"
        begin = late if turns.continuous else f"the begin of a checkpoint, {late}"
        return [
            *layout_row(plan, f"about {about_duration(plan.takes_ns)} in all"),
            ("epochs", f"{plan.epochs}, each about {about_duration(plan.epoch_takes_ns)}"),
            *cycle_rows(plan, turns, begin=begin, unit="an epoch"),
            *timer_rows(turns),
        ]

    def plan_parts(self, plan: Plan) -> list[str]:
        """`["10 epochs in cycles of about 2 min", "slices of 500 ms", "25 min in all"]`."""
        epochs = f"{plan.epochs} epochs in cycles of about {about_duration(plan.epoch_takes_ns)}"
        slices = f"slices of {format_duration(plan.slice_ns)}"
        return [epochs, slices, *cycle_parts(plan, _cycles_of(plan))]

    def lead(self, turns: TurnChoices) -> str:
        """In own time, for whole cycles."""
        return (
            "All arms ran, and each stood wholly still while another was under load: its "
            "checkpoints and its background worked in its own time. Each was measured "
            f"{_span(turns, 'begin')}, in own time."
        )

    def counts(self, contrast: ContrastLine) -> Mapping[str, int]:
        """Epochs."""
        return {"epochs": contrast.epochs}

    def epochs_drawn(self, plan: Plan) -> str:
        """Slots."""
        return _DRAWN[plan.residency]

    def loaded(self, plan: Plan) -> str:
        """The load moves, and what is not under it stands still."""
        return (
            "An arm that was not under load stood wholly still, every process of it, and none of "
            f"its time counts. After a checkpoint of each arm, the {_moving(plan)}"
        )


def timer_rows(turns: TurnChoices) -> list[Row]:
    """What was done about the settings that count wall time."""
    return [("settings of wall time", "; ".join(turns.timers))] if turns.timers else []


_BY_NAME: Mapping[str, ShownLayout] = {
    SLICES: SlicesShown(),
    TURNS: TurnsShown(),
    CYCLES: CyclesShown(),
}


def shown_layout(plan: Plan) -> ShownLayout:
    """Of a plan."""
    return _BY_NAME[plan.layout_choice.name]


def layout_named(name: str) -> ShownLayout:
    """Of a verdict's word; empty: it is older than the word."""
    return _BY_NAME[name or SLICES]


def _moving(plan: Plan) -> str:
    slices = f"{plan.slice_ns / NS_PER_MS:g} ms"
    if plan.counted is not None:
        each = plan.counted.each
        slices = f"{each} execution{'s' if each > 1 else ''} of each client"
    return (
        f"load went from arm to arm in slices of {slices} on connections that stayed open, in "
        "random order"
    )


def _cycles_of(plan: Plan) -> TurnChoices:
    assert plan.turns is not None  # both layouts over whole cycles have them
    return plan.turns


def _span(turns: TurnChoices, border: str) -> str:
    if turns.stated_ns is not None:
        span = f"for {format_duration(turns.stated_ns)}"
        if turns.continuous:
            return f"{span} at the same age (its server checkpoints all the time)"
        return f"{span}, as the study states"
    return (
        f"from the {border} of one of its checkpoints to the {border} of the "
        f"{ordinal(turns.cycles)} one after it"
    )
