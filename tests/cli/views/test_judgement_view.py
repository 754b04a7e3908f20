"""A judgement names its arms apart and in columns, whatever a file calls them."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from steelyard.cli.views.judgement_view import render_judgement
from steelyard.cli.views.text_layout import columns_of
from steelyard.foreign.comparison import Options, compare
from steelyard.foreign.formats import read_sheet
from steelyard.foreign.judgement.judge_numbers import judge_numbers
from steelyard.foreign.source import open_source

PREFIX = "results of the nightly benchmark on host db17.example.com, "
NAMES = [
    (f"{PREFIX}control", f"{PREFIX}arm"),
    (f"{PREFIX}old, 8 clients", f"{PREFIX}new, 8 clients"),
    ("n" * 300, "n" * 299 + "m"),
    ("基准版本数据库十八", "新版本数据库十九测试"),
    ("🐘 18", "🐘🐘 19"),
    ("on\nof two lines", "off\tby a tab"),
    ("shared_buffers=128MB", "shared_buffers=16GB"),
]


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("names", NAMES)
def test_arms_are_told_apart_and_lines_fit(
    tmp_path: Path, names: tuple[str, str], width: int
) -> None:
    dice = random.Random(1)
    rows = {name: [dice.gauss(1000 + 200 * n, 20) for _ in range(12)] for n, name in
            enumerate(names)}  # fmt: skip
    file = tmp_path / "numbers.json"
    file.write_text(json.dumps(rows))
    options = Options(unit="tps")
    text = render_judgement(
        judge_numbers(compare([(None, read_sheet(open_source(file)))], options)), width
    )
    lines = text.splitlines()
    assert [line for line in lines if columns_of(line) > width] == []
    start = next(n for n, line in enumerate(lines) if re.match(r"arm +rows", line))
    head, *arms = lines[start : start + 3]
    assert "median" in head
    labels = [re.split(r"  +12  ", line)[0] for line in arms]
    assert len({*labels}) == 2
    assert len({columns_of(line[: line.index("  12  ")]) for line in arms}) == 1
    plots = [line.strip() for line in lines if line.endswith(", transactions/s")]
    assert len({*plots}) == 2
    [reading] = re.findall(r"rows an arm; (.*); judged", " ".join(" ".join(lines).split()))
    arm, control = reading.split(" against ")
    assert arm != control
