"""Writes a verdict into the files that continuous integration asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from steelyard.cli.views.ci.junit import junit
from steelyard.cli.views.ci.markdown import markdown
from steelyard.evaluation.rule import FailCondition
from steelyard.record.verdict import Verdict


def write_for_ci(
    verdict: Verdict, conditions: Sequence[FailCondition], summary: Path | None, xml: Path | None
) -> None:
    """Write those that are not None."""
    if summary is not None:
        summary.write_text(markdown(verdict), encoding="utf-8")
    if xml is not None:
        xml.write_text(junit(verdict, conditions), encoding="utf-8")
