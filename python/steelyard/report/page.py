"""Makes the report: one self-contained HTML page from a record, offline and without scripts."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import jinja2
from markupsafe import Markup

from steelyard.evaluation.drive_health_rows import weighing_rows
from steelyard.model.errors import StudyError
from steelyard.model.files.printable import printable
from steelyard.model.threat import Threat
from steelyard.record.contrast import WithdrawnThreat
from steelyard.record.reader import RecordLines
from steelyard.record.record import Record
from steelyard.record.spent import Spent
from steelyard.record.verdict import Compared, TimeParts, Verdict
from steelyard.report import environment_rows, tables
from steelyard.report.answer.first_page import first_page
from steelyard.report.answer.measured import capacity_limit, capacity_rows, cost_rows, show_contrast
from steelyard.report.answer.scripts import (
    plan_reasons,
    script_counts,
    script_rows,
    statement_rows,
)
from steelyard.report.calibration import ShownCalibration, calibration
from steelyard.report.charts.drawing import HALF, WIDE, both_widths
from steelyard.report.charts.epochs import MOST_DOTS, draw_slices, outside
from steelyard.report.charts.factors import shown_factors
from steelyard.report.charts.latency import draw_distribution, draw_tail
from steelyard.report.charts.percentile_effects import draw_percentile_effects
from steelyard.report.devices import devices_text, figure_rows, not_available, used_figures
from steelyard.report.incidents import (
    epochs_with_incidents,
    incident_rows,
    interruption_text,
)
from steelyard.report.layouts.shown_layout import layout_named, shown_layout
from steelyard.report.plan import plan_rows
from steelyard.report.plans import shown_plans
from steelyard.report.source import (
    LATENCY_EDGES_NS,
    CountLatencies,
    PageSource,
    core_counts,
    read_source,
)
from steelyard.report.time_parts import (
    MOST_REASONS,
    bottleneck_line,
    cause_sentence,
    draw_time_parts,
    part_rows,
)
from steelyard.report.turns import shown_turns
from steelyard.report.wall_time import draw_wall_time, phase_rows, took_text
from steelyard.study.read import read_recorded_study
from steelyard.wording.contrast_text import method_text, shown_epoch

_HERE = Path(__file__).parent


def write_report(
    record: Path, *, count_latencies: CountLatencies = core_counts, lines: RecordLines | None = None
) -> Path:
    """Write report.html into the record directory, from its files alone, and return its path: a
    page that says so of a record without a verdict. RecordError: there is no readable record.
    `lines`: of this record, where they were read before."""
    source = read_source(record, count_latencies, lines)
    return Record.open(record).write("report.html", render_page(source))


@dataclass(frozen=True)
class Brevity:
    """How much of its lists a page of few pages holds, and of each text."""

    contrasts: int
    doubts: int
    scripts: int
    characters: int


_WHOLE = Brevity(contrasts=100, doubts=100, scripts=1000, characters=4000)


def render_page(source: PageSource, brevity: Brevity | None = None) -> str:
    """The page as text, at most 2 MB however many slices there were; with a brevity its first
    screen alone, to be printed."""
    template = "template.html.j2" if brevity is None else "brief.html.j2"
    return (
        templates(_HERE)
        .get_template(template)
        .render(
            style=Markup(style_sheet()),
            most=brevity or _WHOLE,
            first=first_page(source),
            **_context(source),
        )
    )


def style_sheet() -> str:
    """The style of the report and of every page beside it: CSS for light, dark, phone and print."""
    return (_HERE / "style.css").read_text(encoding="utf-8")


@cache
def templates(folder: Path) -> jinja2.Environment:
    """The templates of pages that stand in a folder: text is escaped, a name that is not there is
    an error."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _printable(value: object) -> object:
    return type(value)(printable(value)) if isinstance(value, str) else value


def _context(source: PageSource) -> dict[str, Any]:
    verdict, plan = source.verdict, source.plan
    defaults = verdict.defaults if verdict else None
    classes = _arm_classes(source)
    layout, record = shown_layout(plan), verdict.record if verdict else ""
    record = record or "/".join(source.directory.parts[-3:])
    contrasts = [show_contrast(line, plan, classes, verdict) for line in source.contrasts]
    judged = (*source.contrasts, *source.pairs)
    return {
        "source": source,
        "question": source.question,
        "notices": environment_rows.notices(source.environment),
        "plan": plan,
        "verdict": verdict,
        "title": source.title or plan.study or "weighing",
        "classes": classes,
        "contrasts": contrasts,
        "pairs": [show_contrast(line, plan, classes, verdict) for line in source.pairs],
        "calibration": _calibration(source),
        "factors": shown_factors(verdict.factors if verdict else None),
        "threats": sorted(
            _by_threat((c.arm, c.threats) for c in judged),
            key=lambda entry: not entry.threat.invalidates,
        ),
        "withdrawn": _by_threat((c.arm, c.withdrawn) for c in judged),
        "course": interruption_text(verdict, plan.epochs) if verdict else "",
        "happened": incident_rows(source),
        "turns": shown_turns(source, classes),
        "epochs_drawn": layout.epochs_drawn(plan),
        "loaded": layout.loaded(plan),
        "slices": _slices(source, classes),
        "latency": _latency(source, classes),
        **_tables(verdict, plan.control),
        "devices": _devices(verdict),
        "standbys": [tables.lag_line(lag) for lag in verdict.standbys] if verdict else [],
        "capacity": capacity_rows(verdict) if verdict else [],
        "capacity_limit": capacity_limit(verdict) if verdict else "",
        "costs": cost_rows(verdict) if verdict else [],
        "cost_sentences": [c.sentence for c in verdict.costs if c.sentence] if verdict else [],
        "time": [_time(breakdown, verdict) for breakdown in verdict.time] if verdict else [],
        "scripts": _scripts(verdict),
        "statements": _statements(verdict),
        "pages": verdict.pages if verdict else None,
        "price": tables.page_price(verdict.pages) if verdict and verdict.pages else "",
        "query_plans": shown_plans(source.plans, plan.control, verdict),
        "differences": verdict.differences if verdict else None,
        "by_arm": source.differences if len(source.differences) > 1 else {},
        "default_rows": environment_rows.default_rows(defaults),
        "only_lines": environment_rows.only_lines(defaults, plan.control),
        "loads_line": environment_rows.loads_line(verdict.loads if verdict else None),
        "compared": environment_rows.settings_compared(source.environment, verdict),
        "plan_rows": plan_rows(plan)
        + environment_rows.workload_rows(source.environment, source.plans.get(plan.control, {})),
        "method": method_text(contrasts[0].facts.details) if contrasts else "",
        "machine_rows": [
            *environment_rows.machine_rows(source.environment),
            *source.devices,
            *weighing_rows(source.environment.drives, source.drives_after, verdict),
        ],
        "builds": environment_rows.builds(source.environment),
        "spent": _spent(verdict.spent if verdict else None),
        "took": took_text(verdict) if verdict else "",
        "hash_rows": environment_rows.hash_rows(source.environment),
        "command": plan.command or shlex.join(["steelyard", "weigh", plan.study]),
        "record": record,
        "report_command": shlex.join(["steelyard", "report", record]),
        "amount": tables.amount,
    }


def _calibration(source: PageSource) -> ShownCalibration | None:
    """None of a record in which no arm's truth is known."""
    if source.verdict is None or all(line.true_percent is None for line in source.contrasts):
        return None
    try:
        study = read_recorded_study(source.directory / "study.toml")
    except StudyError:  # of another version of Steelyard
        return None
    return calibration(source.verdict, study)


def _arm_classes(source: PageSource) -> dict[str, str]:
    """The style class that carries an arm's colour: the same arm, the same colour everywhere."""
    return {arm: f"arm{number % 6}" for number, arm in enumerate(source.arms)}


Doubt = TypeVar("Doubt", Threat, WithdrawnThreat)


@dataclass(frozen=True)
class ShownThreat(Generic[Doubt]):
    """A threat, and the arms in whose contrasts it was seen."""

    threat: Doubt
    arms: list[str]


def _by_threat(by_arm: Iterable[tuple[str, Sequence[Doubt]]]) -> list[ShownThreat[Doubt]]:
    """Every threat once."""
    by_threat: dict[tuple[str, str], ShownThreat[Doubt]] = {}
    for arm, threats in by_arm:
        for threat in threats:
            entry = by_threat.setdefault((threat.name, threat.seen), ShownThreat(threat, []))
            entry.arms.append(arm)
    return list(by_threat.values())


def _slices(source: PageSource, classes: Mapping[str, str]) -> dict[str, Any] | None:
    total = sum(map(len, source.dots.values()))
    if not total or not shown_layout(source.plan).dots:
        return None
    marked = epochs_with_incidents(source)
    levels: dict[str, dict[int, float]] = {}
    for contrast in source.contrasts:
        for row in contrast.details.epochs:
            for arm, level in row.throughput.items():
                if level is not None:
                    levels.setdefault(arm, {})[shown_epoch(row)] = level
    return {
        "picture": both_widths(
            lambda width: draw_slices(source.dots, levels, classes, width, marked), WIDE
        ),
        "marked": bool(marked & {dot.epoch for some in source.dots.values() for dot in some}),
        "levels": bool(levels),
        "total": total,
        "shown": min(total, MOST_DOTS),
        "outside": outside(source.dots),
    }


def _latency(source: PageSource, classes: Mapping[str, str]) -> dict[str, Any] | None:
    counts = {arm: some for arm, some in source.latency_counts.items() if sum(some)}
    effects = []
    latency = source.verdict.latency if source.verdict else ()
    for arm, rows in _rows_by_arm(latency).items():
        control = source.plan.control
        arm_class = classes.get(arm, "arm1")

        draw = partial(draw_percentile_effects, rows, control, arm, arm_class)
        effects.append(
            {
                "arm": arm,
                "control": control,
                "picture": both_widths(draw, WIDE),
                "rows": tables.latency_rows(rows),
            }
        )
    if not counts and not effects:
        return None
    edges = LATENCY_EDGES_NS
    return {
        "distribution": counts
        and both_widths(lambda width: draw_distribution(counts, edges, classes, width), HALF),
        "tail": counts
        and both_widths(lambda width: draw_tail(counts, edges, classes, width), HALF),
        "effects": effects,
    }


Row = TypeVar("Row", bound=Compared)


def _rows_by_arm(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows of the verdict by the arm they are about."""
    by_arm: dict[str, list[Row]] = {}
    for row in rows:
        by_arm.setdefault(row.arm, []).append(row)
    return by_arm


def _scripts(verdict: Verdict | None) -> list[dict[str, Any]]:
    """The scripts of a mix, a table for every arm."""
    return [
        {
            "arm": arm,
            "control": rows[0].control,
            "counts": script_counts(rows),
            "rows": script_rows(rows),
        }
        for arm, rows in _rows_by_arm(verdict.scripts if verdict else ()).items()
    ]


def _statements(verdict: Verdict | None) -> list[dict[str, Any]]:
    """The commands that were timed, a table for every arm; those of the client in one of their
    own."""
    return [
        {
            "arm": arm,
            "control": rows[0].control,
            "counts": script_counts([row for row in rows if row.share_percent is not None]),
            "rows": statement_rows([row for row in rows if row.share_percent is not None]),
            "client": statement_rows([row for row in rows if row.share_percent is None]),
        }
        for arm, rows in _rows_by_arm(verdict.statements if verdict else ()).items()
    ]


def _time(breakdown: TimeParts, verdict: Verdict) -> dict[str, Any]:
    """Where the time of a transaction goes in one arm."""
    sentence = cause_sentence(breakdown)
    return {
        "arm": breakdown.arm,
        "control": breakdown.control,
        "epochs": breakdown.epochs,
        "plans": plan_reasons(verdict, breakdown.arm)[:MOST_REASONS],
        "sentence": sentence[0].upper() + sentence[1:],
        "bottleneck": bottleneck_line(breakdown),
        "picture": both_widths(partial(draw_time_parts, breakdown), WIDE),
        "rows": part_rows(breakdown),
    }


def _devices(verdict: Verdict | None) -> dict[str, Any] | None:
    """What the devices did while each arm was driven; None where the record does not say."""
    summary = verdict.devices if verdict else None
    if verdict is None or summary is None:
        return None
    return {
        "names": devices_text(summary),
        "missing": not_available(summary),
        "shared": summary.shared_with_record,
        "slices": layout_named(verdict.layout).moves,
        "groups": [
            {"arm": line.arm, "control": line.control, "rows": figure_rows(figures)}
            for line in verdict.contrasts
            if (figures := used_figures(summary, line.arm))
        ],
    }


def _spent(spent: Spent | None) -> dict[str, Any] | None:
    """Where the wall time went; None in records from before it was kept."""
    if spent is None or not spent.seconds:
        return None
    return {"picture": both_widths(partial(draw_wall_time, spent), WIDE), "rows": phase_rows(spent)}


_BY_ARM = ("causes", "work", "by_query", "statement_costs", "by_script")


def _tables(verdict: Verdict | None, control: str) -> dict[str, Any]:
    """What was compared beside the contrasts: a table for every arm; none without a verdict."""
    if verdict is None:
        return dict.fromkeys(_BY_ARM, ())
    return {
        "causes": [
            {
                "arm": arm,
                "control": control,
                "rows": tables.cause_rows(rows),
                "none": tables.none_line(rows),
            }
            for arm, rows in _rows_by_arm(verdict.causes).items()
        ],
        "work": _by_arm(verdict.work, control, tables.work_rows),
        "by_query": _by_arm(verdict.queries, control, tables.query_rows),
        "statement_costs": _by_arm(verdict.statement_costs, control, tables.statement_cost_rows),
        "by_script": _by_arm(verdict.latency_by_script, control, tables.script_rows),
    }


def _by_arm(
    rows: Iterable[Row], control: str, rows_of: Callable[[list[Row]], list[dict[str, str]]]
) -> list[dict[str, Any]]:
    return [
        {"arm": arm, "control": control, "rows": rows_of(arm_rows)}
        for arm, arm_rows in _rows_by_arm(rows).items()
    ]
