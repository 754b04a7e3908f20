"""Makes the report: one self-contained HTML page from a record, offline and without scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from steelyard.model.errors import StudyError
from steelyard.record.record import Record
from steelyard.report import builds, surroundings, tables, words
from steelyard.report.calibrated import calibration
from steelyard.report.charts.drawing import HALF, NARROW, WIDE
from steelyard.report.charts.effect import draw_effect
from steelyard.report.charts.epochs import draw_epochs
from steelyard.report.charts.latency import draw_distribution, draw_tail
from steelyard.report.charts.settling import draw_settling, percent_span
from steelyard.report.charts.slices import MOST_DOTS, draw_slices, outside
from steelyard.report.charts.strip import draw_strip
from steelyard.report.course import course_rows, marked_epochs
from steelyard.report.source import (
    LATENCY_EDGES_NS,
    CountLatencies,
    Source,
    core_counts,
    read_source,
    shown_epoch,
)
from steelyard.study.read import read_study

_HERE = Path(__file__).parent


def write_report(record: Path, *, count_latencies: CountLatencies = core_counts) -> Path:
    """Write report.html into the record directory and return its path.

    The page is drawn from the record's files alone; a record without a verdict gets a page that
    says so. Raises RecordError when the directory holds no readable record.
    """
    source = read_source(record, count_latencies)
    return Record.open(record).write("report.html", render_page(source))


def render_page(source: Source) -> str:
    """The page as text, at most 2 MB however many slices there were."""
    return _template().render(
        style=Markup((_HERE / "style.css").read_text(encoding="utf-8")),
        **_context(source),
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
    return environment.get_template("template.html.j2")


@dataclass(frozen=True)
class Weighed:
    """One contrast, ready to be shown."""

    facts: Mapping[str, Any]
    arm: str
    control: str
    arm_class: str
    word: str
    mark: str
    sentence: str
    scope: str
    truth: str
    strip: Markup
    epochs: Markup | None
    settling: Markup | None
    slots: list[int]
    epoch_rows: list[dict[str, str]]
    settling_rows: list[dict[str, str]]
    beside: list[tuple[str, str]]


def _context(source: Source) -> dict[str, Any]:
    verdict = source.verdict or {}
    classes = _arm_classes(source)
    contrasts = [_weighed(source, number, classes) for number in range(len(source.contrasts))]
    return {
        "source": source,
        "study": source.study,
        "plan": source.plan,
        "verdict": source.verdict,
        "title": source.study.get("title") or source.plan.get("study") or "weighing",
        "classes": classes,
        "contrasts": contrasts,
        "calibration": _calibration(source),
        "threats": _threats(source, "threats"),
        "withdrawn": _threats(source, "withdrawn"),
        "course": words.course(verdict, source.plan),
        "happened": course_rows(source),
        "slices": _slices(source, classes),
        "latency": _latency(source, classes),
        "causes": _by_arm(source, "causes", tables.cause_rows),
        "work": _by_arm(source, "work", tables.work_rows),
        "by_query": _by_arm(source, "queries", tables.query_rows),
        "by_statement": _by_arm(source, "statements", tables.statement_rows),
        "by_script": _by_arm(source, "latency_by_script", tables.script_rows),
        "pages": verdict.get("pages"),
        "differences": verdict.get("differences"),
        "default_rows": builds.default_rows(verdict.get("defaults")),
        "only_lines": builds.only_lines(verdict.get("defaults"), str(source.plan.get("control"))),
        "loads_line": builds.loads_line(verdict.get("loads")),
        "compared": surroundings.settings_compared(source.environment, verdict),
        "plan_rows": tables.plan_rows(source.plan) + surroundings.workload_rows(source.environment),
        "interval_words": words.interval_words(contrasts[0].facts.get("details") or {})
        if contrasts
        else "",
        "machine_rows": surroundings.machine_rows(source.environment),
        "builds": surroundings.builds(source.environment),
        "hash_rows": surroundings.hash_rows(source.environment),
        "command": source.plan.get("command") or f"steelyard weigh {source.plan.get('study', '')}",
        "record": verdict.get("record") or "/".join(source.directory.parts[-3:]),
        "amount": tables.amount,
    }


def _calibration(source: Source) -> dict[str, Any] | None:
    """None of a record in which no arm's truth is known."""
    if source.verdict is None or all(one.get("true_percent") is None for one in source.contrasts):
        return None
    try:
        study = read_study(str(source.directory / "study.toml"))
    except StudyError:  # of another version of Steelyard
        return None
    return calibration(source.verdict, study)


def _arm_classes(source: Source) -> dict[str, str]:
    """The style class that carries an arm's colour: the same arm, the same colour everywhere."""
    return {arm: f"arm{place % 6}" for place, arm in enumerate(source.arms)}


def _both(draw: Callable[[float], Markup], wide: float) -> Markup:
    """A picture at desktop width and at phone width; the style sheet shows one of them."""
    return Markup('<div class="wide">{}</div><div class="narrow">{}</div>').format(
        draw(wide), draw(NARROW)
    )


def _margin_percent(source: Source) -> float:
    return (words.finite(source.plan.get("margin")) or 0.01) * 100


def _weighed(source: Source, number: int, classes: Mapping[str, str]) -> Weighed:
    facts = source.contrasts[number]
    arm = str(facts.get("arm"))
    arm_class = classes.get(arm, "arm1")
    margin = _margin_percent(source)
    word = str(facts.get("verdict", "inconclusive"))
    details = facts.get("details") or {}
    said = facts.get("sentence")  # records from before 2026-11-22 have none
    span = percent_span(facts, margin) if details else (0.0, 1.0)
    rows = details.get("epochs", [])
    return Weighed(
        facts=facts,
        arm=arm,
        control=str(facts.get("control")),
        arm_class=arm_class,
        word=word,
        mark=words.MARKS.get(word, "?"),
        sentence=words.told(facts, str(said or words.sentence(facts))),
        scope=words.scope(facts),
        truth=words.truth_words(facts),
        strip=_both(lambda width: draw_strip(facts, margin, arm_class, width), WIDE - 60),
        epochs=_both(lambda width: draw_epochs(facts, span, margin, arm_class, width), HALF)
        if rows
        else None,
        settling=_both(
            lambda width: draw_settling(facts, span, margin, _looks(source), arm_class, width), HALF
        )
        if details.get("settling")
        else None,
        slots=sorted({int(row.get("slots", {}).get(arm, 0)) for row in rows}),
        epoch_rows=tables.epoch_rows(facts),
        settling_rows=tables.settling_rows(facts),
        beside=tables.beside_rows(facts),
    )


def _looks(source: Source) -> list[tuple[int, str]]:
    """The planned looks: after which epoch, and what is written there."""
    if source.plan.get("open_ended"):
        return [(int(source.plan.get("epochs", 0)), "planned end")]
    numbers = [source.plan.get("look"), source.plan.get("epochs")]
    planned = [int(number) for number in numbers if number]
    return [(number, f"look {place}") for place, number in enumerate(planned, 1)]


def _threats(source: Source, key_of: str) -> list[Mapping[str, Any]]:
    """Every threat once, those that invalidate first, with the arms it is about; `key_of`: of a
    contrast, "threats" or those "withdrawn"."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for contrast in source.contrasts:
        for threat in contrast.get(key_of, []):
            key = (str(threat.get("name")), str(threat.get("seen")))
            found.setdefault(key, {**threat, "about": []})["about"].append(contrast.get("arm"))
    return sorted(found.values(), key=lambda threat: not threat.get("invalidates"))


def _slices(source: Source, classes: Mapping[str, str]) -> dict[str, Any] | None:
    total = sum(map(len, source.dots.values()))
    if not total:
        return None
    marked = marked_epochs(source)
    levels: dict[str, dict[int, float]] = {}
    for contrast in source.contrasts:
        for row in (contrast.get("details") or {}).get("epochs", []):
            for arm, level in row.get("throughput", {}).items():
                if words.finite(level) is not None:
                    levels.setdefault(str(arm), {})[shown_epoch(int(row["epoch"]))] = float(level)
    return {
        "picture": _both(
            lambda width: draw_slices(source.dots, levels, classes, width, marked), WIDE
        ),
        "marked": bool(marked & {dot.epoch for some in source.dots.values() for dot in some}),
        "levels": bool(levels),
        "total": total,
        "shown": min(total, MOST_DOTS),
        "outside": outside(source.dots),
    }


def _latency(source: Source, classes: Mapping[str, str]) -> dict[str, Any] | None:
    counts = {arm: some for arm, some in source.latency_counts.items() if sum(some)}
    effects = []
    for arm, rows in _rows_by_arm(source, "latency").items():
        control = str(source.plan.get("control"))
        arm_class = classes.get(arm, "arm1")

        draw = partial(draw_effect, rows, control, arm, arm_class)
        effects.append(
            {
                "arm": arm,
                "control": control,
                "picture": _both(draw, WIDE),
                "rows": tables.latency_rows(rows),
            }
        )
    if not counts and not effects:
        return None
    edges = LATENCY_EDGES_NS
    return {
        "distribution": counts
        and _both(lambda width: draw_distribution(counts, edges, classes, width), HALF),
        "tail": counts and _both(lambda width: draw_tail(counts, edges, classes, width), HALF),
        "effects": effects,
    }


def _rows_by_arm(source: Source, key: str) -> dict[str, list[Mapping[str, Any]]]:
    """The verdict's rows under `key` by the arm they are about, the first arm if none is named."""
    first = str(source.contrasts[0].get("arm")) if source.contrasts else ""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in (source.verdict or {}).get(key) or []:
        found.setdefault(str(row.get("arm") or first), []).append(row)
    return found


def _by_arm(
    source: Source, key: str, rows_of: Callable[[list[Mapping[str, Any]]], list[dict[str, str]]]
) -> list[dict[str, Any]]:
    control = str(source.plan.get("control"))
    return [
        {"arm": arm, "control": control, "rows": rows_of(rows)}
        for arm, rows in _rows_by_arm(source, key).items()
    ]
