"""Draws and words one contrast for the page: its interval, its epochs and how it settled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from steelyard.record.contrast import ContrastLine
from steelyard.record.plan import Plan
from steelyard.record.verdict import Verdict
from steelyard.report import tables
from steelyard.report.answer.measured import figures
from steelyard.report.charts.drawing import HALF, WIDE, both_widths
from steelyard.report.charts.interval import draw_interval
from steelyard.report.charts.settling import draw_epochs, draw_settling, percent_span
from steelyard.report.layouts.shown_layout import shown_layout
from steelyard.wording.contrast_text import MARKS, scope_text, shown_sentence, truth_text


@dataclass(frozen=True)
class ShownContrast:
    """One contrast, ready to be shown."""

    facts: ContrastLine
    arm: str
    control: str
    arm_class: str
    word: str
    mark: str
    sentence: str
    measured: list[tuple[str, str]]
    """Both arms in absolute numbers."""
    scope: str
    truth: str
    interval: Markup
    epochs: Markup | None
    settling: Markup | None
    slots: list[int]
    epoch_rows: list[dict[str, str]]
    settling_rows: list[dict[str, str]]
    details: list[tuple[str, str]]


def show_contrast(
    facts: ContrastLine, plan: Plan, classes: Mapping[str, str], verdict: Verdict | None
) -> ShownContrast:
    """The contrast in words, pictures and tables; `classes`: arm → its style class."""
    arm, true = facts.arm, facts.true_percent
    arm_class = classes.get(arm, "arm1")
    margin = plan.margin_percent
    details = facts.details
    span = percent_span(facts, margin)
    return ShownContrast(
        facts=facts,
        arm=arm,
        control=facts.control,
        arm_class=arm_class,
        word=facts.verdict,
        mark=MARKS.get(facts.verdict, "?"),
        sentence=shown_sentence(facts),
        measured=figures(verdict, facts) if verdict else [],
        scope=scope_text(facts, shown_layout(plan).counts(facts)),
        truth=truth_text(facts.truth),
        interval=both_widths(
            lambda width: draw_interval(facts, margin, arm_class, width, true), WIDE - 60
        ),
        epochs=both_widths(lambda width: draw_epochs(facts, span, margin, arm_class, width), HALF)
        if details.epochs
        else None,
        settling=both_widths(
            lambda width: draw_settling(
                facts, span, margin, _planned_looks(plan), arm_class, width
            ),
            HALF,
        )
        if details.settling
        else None,
        slots=sorted({row.slots.get(arm, 0) for row in details.epochs}),
        epoch_rows=tables.epoch_rows(facts),
        settling_rows=tables.settling_rows(facts),
        details=tables.detail_rows(facts),
    )


def _planned_looks(plan: Plan) -> list[tuple[int, str]]:
    """The planned looks: after which epoch, and what is written there."""
    if plan.open_ended:
        return [(plan.epochs, "planned end")]
    return [(epoch, f"look {number}") for number, epoch in enumerate(plan.decision_epochs, 1)]
