"""Writes the page of a sweep: its sentences, a curve an arm, and a table that leads to points."""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path

import jinja2
from markupsafe import Markup

from steelyard.evaluation.sweep import reading
from steelyard.record.sweep import Swept
from steelyard.report.charts.drawing import WIDE, both_widths
from steelyard.report.charts.sweep import draw_sweep

_HERE = Path(__file__).parent


def write_sweep_page(swept: Swept, folder: Path) -> Path:
    """report.html in the sweep's folder."""
    page = folder / "report.html"
    page.write_text(render_sweep(swept), encoding="utf-8")
    return page


def render_sweep(swept: Swept) -> str:
    """The page as text; it opens from disk and asks for nothing."""
    arms = list(dict.fromkeys(one.arm for point in swept.points for one in point.contrasts))
    charts = [
        {"arm": arm, "picture": both_widths(partial(draw_sweep, swept, arm), WIDE)} for arm in arms
    ]
    return _template().render(
        style=Markup((_HERE / "style.css").read_text(encoding="utf-8")),
        swept=swept,
        name=swept.key.rpartition(".")[2],
        charts=charts,
        reading=reading,
    )


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("sweep.html.j2")
