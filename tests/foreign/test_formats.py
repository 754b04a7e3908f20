"""Every format is recognized by its content, and adding one takes its file and its line."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from foreign.reading import GOLDEN, only, sheet_of
from steelyard.foreign import formats
from steelyard.foreign.format import TextFormat
from steelyard.foreign.metric import TIME, Metric
from steelyard.foreign.series import Series, Sheet
from steelyard.foreign.source import SourceText, open_source, source_of
from steelyard.model.errors import UsageError

ROOT = Path(__file__).parents[2]
FORMATS = {
    "pgbench_summary.txt": "pgbench",
    "pgbench_three_summaries.txt": "pgbench",
    "pgbench_progress.txt": "pgbench",
    "pgbench_progress_rate.txt": "pgbench",
    "pgbench_summary_rate.txt": "pgbench",
    "pgbench_log.txt": "pgbench-log",
    "pgbench_log_skipped.txt": "pgbench-log",
    "pgbench_aggregate.txt": "pgbench-aggregate",
    "pgbench_aggregate_rate.txt": "pgbench-aggregate",
    "hammerdb.txt": "hammerdb",
    "hammerdb_before_4.txt": "hammerdb",
    "hammerdb_counter.txt": "hammerdb",
    "hyperfine.json": "json",
    "fio.json": "json",
}


def test_every_format_is_told_by_its_content() -> None:
    assert {p.name: formats.format_of(open_source(p)) for p in GOLDEN.iterdir()} == FORMATS


def test_a_format_is_its_reader_and_its_line_in_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_tally(source: SourceText) -> Sheet:
        values = np.array([float(len(line)) for line in source.text.split()])
        return Sheet(source.name, "tally", ((Metric(TIME, "s", False), (Series("", values),)),))

    tally = TextFormat("tally", lambda source: source.text.startswith("|"), read_tally)
    monkeypatch.setattr(formats, "TEXT_FORMATS", (*formats.TEXT_FORMATS, tally))
    text = "||| ||\n|\n"
    assert formats.format_of(source_of(text.encode(), "f")) == "tally"
    assert only(sheet_of(text)).values.tolist() == [3, 2, 1]
    assert only(sheet_of("## #\n", "tally")).values.tolist() == [2, 1]
    with pytest.raises(UsageError) as refused:
        sheet_of(text, "telly")
    assert refused.value.hint == f"Accepted: {', '.join(formats.format_names())}."
    assert formats.format_names()[-1] == "tally"


def test_every_format_is_in_the_help_and_in_the_reference() -> None:
    reference = (ROOT / "docs" / "reference" / "judge.md").read_text(encoding="utf-8")
    commands = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    [help_text] = re.findall(r"--format NAME\s+(.*?);", commands, re.DOTALL)
    help_text = re.sub(r"-\s+", "-", help_text)  # names are cut at their hyphens
    for name in formats.format_names():
        assert f"| `{name}`" in reference, name
        assert re.search(rf"(?<![\w-]){name}(?![\w-])", help_text), name
