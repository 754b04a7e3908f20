"""Writes a verdict for what runs builds: as Markdown, for the summary of a build or a comment on a
change; and as JUnit XML, a test a contrast, which fails where a --fail-if condition holds.

Of the XML an invalid contrast is skipped: it says nothing of the arms. The form is that of Jenkins'
JUnit plugin (junit-10.xsd), which GitLab and GitHub's reporters read.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping, Sequence

from steelyard.cli.views.text_layout import rest_in_report
from steelyard.evaluation.rule import FailCondition, VerdictKind
from steelyard.model.files.printable import printable, printable_xml
from steelyard.model.latency_goal import metric_words
from steelyard.record.contrast import ContrastLine
from steelyard.record.factors import FactorEffects
from steelyard.record.verdict import Verdict
from steelyard.report.answer.first_page import gate_lines, repeating_command
from steelyard.report.answer.measured import figures, place_text
from steelyard.report.answer.scripts import (
    plan_reasons,
    script_counts,
    script_rows,
    statement_rows,
    within_scripts,
)
from steelyard.report.incidents import interruption_text
from steelyard.report.time_parts import cause_lines
from steelyard.report.wall_time import took_text
from steelyard.wording.contrast_text import (
    MARKS,
    ends_of,
    estimate_text,
    interval_text,
    reading_text,
)

_MOST_ROWS = 20
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&$])")
_BEGINS_BLOCK = re.compile(r"^(\d{0,9})([-+.)=])(?=\s|[-=]*$)")
"""A bullet, a number of a list, or a line of a heading or a rule."""


def markdown(verdict: Verdict, conditions: Sequence[FailCondition] = ()) -> str:
    """The sentence, a row an arm, both arms in absolute numbers, the gate, the scripts, the cause,
    the doubts, and the command that repeats it."""
    lines = [_head(verdict), "", escaped(verdict.sentence), ""]
    stopped = interruption_text(verdict)
    lines += [escaped(stopped), ""] if stopped else []
    every = verdict.every_contrast
    gate = gate_lines(conditions, every)
    lines += [*(f"**{escaped(line)}**" for line in gate), *([""] if gate else [])]
    lines += [*_effects(verdict.factors), *_table(every), ""]
    if verdict.factors is None:
        lines += [*_measured(verdict), ""]
        lines += _scripts(verdict)
    if verdict.time:
        plans = {time.arm: plan_reasons(verdict, time.arm) for time in verdict.time}
        lines += [f"- {escaped(line)}" for line in cause_lines(verdict.time, plans)] + [""]
    lines += [*_doubts(every), ""]
    lines += [f"Took {took_text(verdict)}; seed {verdict.seed}. Repeat:", ""]
    lines += _fenced(repeating_command(verdict))
    return printable("\n".join(lines) + "\n")


def escaped(text: str) -> str:
    """Text on one line in which no letter is markup."""
    return _BEGINS_BLOCK.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", " ".join(text.split())))


def _fenced(code: str) -> list[str]:
    """Code as it is, between fences that no line of it ends."""
    longest = max((len(run) for run in re.findall("`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, code, fence]


def _head(verdict: Verdict) -> str:
    """The verdict in a word; where arms differ in it, how many have which."""
    study, factors = escaped(verdict.study), verdict.factors
    if factors is not None:
        return f"### {study}: {escaped(_interactions(factors))}"
    counts = Counter(line.verdict for line in verdict.contrasts)
    if len(counts) == 1:
        [word] = counts
        return f"### {MARKS[word]} {study}: {word}"
    words = (f"{MARKS[word]} {counts[word]} {word}" for word in MARKS if word in counts)
    return f"### {study}: {', '.join(words)}"


def _interactions(factors: FactorEffects) -> str:
    """Which interactions matter. That none does is said only where each is within the margin."""
    interactions = [effect for effect in factors.effects if not effect.is_main]
    matters = [effect.name for effect in interactions if effect.verdict == "matters"]
    if matters:
        return f"matters: {', '.join(matters)}"
    open_ones = [effect.name for effect in interactions if effect.verdict != "negligible"]
    if open_ones or not interactions:
        names = f": {', '.join(open_ones)}" if open_ones else ""
        return f"whether an interaction matters is not told{names}"
    return f"no interaction beyond ±{factors.margin_percent:g} %"


def _effects(factors: FactorEffects | None) -> list[str]:
    """A row an effect of a factorial; nothing where there is none."""
    if factors is None:
        return []
    rows = [
        f"| {escaped(effect.name)} | {estimate_text(effect)} "
        f"| {escaped(interval_text(ends_of(effect)))} | {effect.verdict} |"
        for effect in factors.effects
    ]
    return ["| effect | change | joint interval | verdict |", "|---|---:|---:|---|", *rows, ""]


def _table(contrasts: Sequence[ContrastLine]) -> list[str]:
    head = "| arm against control | metric | change | interval | verdict |"
    rows = [
        f"| {escaped(contrast.arm)} against {escaped(contrast.control)} "
        f"| {escaped(metric_words(contrast.metric))} "
        f"| {estimate_text(contrast)} | {escaped(interval_text(ends_of(contrast)))} "
        f"| {MARKS[contrast.verdict]} {contrast.verdict} |"
        for contrast in contrasts
    ]
    return [head, "|---|---|---:|---:|---|", *rows]


def _measured(verdict: Verdict) -> list[str]:
    """Throughput and percentiles of the control and each arm, and where it was weighed."""
    lines = [
        f"- {escaped(f'{contrast.control} → {contrast.arm}')}: "
        + escaped("; ".join(" ".join(row) for row in rows))
        for contrast in verdict.contrasts
        if (rows := figures(verdict, contrast))
    ]
    lines += [f"- {escaped(cost.sentence)}" for cost in verdict.costs if cost.sentence]
    place = place_text(verdict.place)
    return [*lines, *([f"- {escaped(place)}"] if place else [])]


def _scripts(verdict: Verdict) -> list[str]:
    """A row a script, the worst first, where the mix is several; then so the statements of scripts
    that hold several."""
    lines: list[str] = []
    for contrast in verdict.contrasts:
        scripts = [row for row in verdict.scripts if row.arm == contrast.arm]
        statements = within_scripts(verdict, contrast.arm)
        if scripts:
            lines += _worst_first("script", contrast, script_counts(scripts), script_rows(scripts))
        if statements:
            lines += _worst_first(
                "statement", contrast, script_counts(statements), statement_rows(statements)
            )
    return lines


def _worst_first(
    kind: str, contrast: ContrastLine, counts: str, rows: Sequence[Mapping[str, str]]
) -> list[str]:
    control, arm = escaped(contrast.control), escaped(contrast.arm)
    keys = ("metric", "share", "control", "arm", "reading", "plan", "sql")
    more = rest_in_report(len(rows) - _MOST_ROWS)
    return [
        f"{kind.capitalize()}s of {escaped(contrast.pair)}: {counts}",
        "",
        f"| {kind} | share | {control} | {arm} | change | plan | SQL |",
        "|---|---:|---:|---:|---:|---|---|",
        *(f"| {' | '.join(escaped(row[key]) for key in keys)} |" for row in rows[:_MOST_ROWS]),
        *([""] if more else []),
        *more,
        "",
    ]


def _doubts(contrasts: Sequence[ContrastLine]) -> list[str]:
    """Every doubt once."""
    threats = {
        (threat.name, threat.seen): threat for contrast in contrasts for threat in contrast.threats
    }
    if not threats:
        return ["Doubts: none of the known threats was seen."]
    fatal = " (makes the verdict invalid)"
    return [
        f"Doubts: {len(threats)}",
        "",
        *(
            f"- **{escaped(threat.name)}**{fatal if threat.invalidates else ''}: "
            f"{escaped(threat.seen)}"
            for threat in threats.values()
        ),
    ]


def junit(verdict: Verdict, conditions: Sequence[FailCondition]) -> str:
    """One test suite; seconds are those of the whole weighing, at its first contrast."""
    every = verdict.every_contrast
    failing = [_failing(line, conditions) for line in every]
    skipped = [line.verdict == VerdictKind.INVALID for line in every]
    stopped = interruption_text(verdict)
    seconds = f"{verdict.whole_seconds or verdict.seconds:.1f}"
    suite = ET.Element(
        "testsuite",
        name=printable_xml(f"steelyard.{verdict.study}"),
        tests=str(len(every)),
        failures=str(sum(condition is not None for condition in failing)),
        errors="0",
        skipped=str(sum(skipped)),
        time=seconds,
    )
    for number, (line, failed) in enumerate(zip(every, failing, strict=True)):
        case = ET.SubElement(
            suite,
            "testcase",
            classname=printable_xml(f"steelyard.{verdict.study}"),
            name=printable_xml(f"{line.arm} against {line.control}: {line.metric}"),
            time=seconds if number == 0 else "0.0",
        )
        sentence = line.sentence or f"{line.verdict}: {reading_text(line)}"
        doubts = [f"doubt: {threat.name}: {threat.seen}" for threat in line.threats]
        if failed is not None:
            reason = f"{line.verdict}: {reading_text(line)}, beyond {100 * failed.margin:g} %"
            ET.SubElement(
                case, "failure", message=printable_xml(reason), type=line.verdict
            ).text = printable_xml(sentence)
        elif line.verdict == VerdictKind.INVALID:
            ET.SubElement(case, "skipped", message=printable_xml(sentence))
        output = [sentence, *doubts, *([stopped] if stopped else [])]
        ET.SubElement(case, "system-out").text = printable_xml("\n".join(output))
    ET.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suite, "unicode") + "\n"


def _failing(line: ContrastLine, conditions: Sequence[FailCondition]) -> FailCondition | None:
    return next((condition for condition in conditions if condition.holds([line])), None)
