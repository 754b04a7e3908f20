"""Writes a verdict as JUnit XML: a test a contrast, which fails where a --fail-if condition holds.

An invalid contrast is skipped: it says nothing of the arms. The form is that of Jenkins' JUnit
plugin (junit-10.xsd), which GitLab and GitHub's reporters read.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from steelyard.evaluation.rule import FailCondition, VerdictKind
from steelyard.model.files.printable import printable_xml
from steelyard.record.contrast import ContrastLine
from steelyard.record.verdict import Verdict
from steelyard.report.incidents import interruption_text
from steelyard.wording.contrast_text import reading_text


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
