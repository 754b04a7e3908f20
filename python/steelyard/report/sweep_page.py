"""Writes the page of a sweep: its sentences, a curve an arm, and a table that leads to points."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from markupsafe import Markup

from steelyard.evaluation.sweep import reading
from steelyard.model.files.own_directory import write_whole
from steelyard.record.sweep import Swept
from steelyard.report.charts.drawing import WIDE, both_widths
from steelyard.report.charts.sweep import draw_sweep
from steelyard.report.page import style_sheet, templates

_HERE = Path(__file__).parent


def write_sweep_page(swept: Swept, folder: Path) -> Path:
    """report.html in the sweep's folder."""
    page = folder / "report.html"
    write_whole(page, render_sweep(swept))
    return page


def render_sweep(swept: Swept) -> str:
    """The page as text; it opens from disk and loads nothing else."""
    arms = list(dict.fromkeys(one.arm for point in swept.points for one in point.contrasts))
    charts = [
        {"arm": arm, "picture": both_widths(partial(draw_sweep, swept, arm), WIDE)} for arm in arms
    ]
    return (
        templates(_HERE)
        .get_template("sweep.html.j2")
        .render(
            style=Markup(style_sheet()),
            swept=swept,
            name=swept.key.rpartition(".")[2],
            charts=charts,
            reading=reading,
        )
    )
