"""Every answer begins with what was read, in words and in JSON, and says no figure that is none."""

from __future__ import annotations

import json
import re

import pytest

from foreign.judged_files import judged, judged_text, refused_text
from steelyard.cli.views.judgement_view import render_judgement

FILES = [
    ["a=nan_a.txt", "b=prog2.txt"],
    ["minavg.csv"],
    ["a=q16n.csv", "b=q17n.csv"],
    ["a=jtl_a.csv", "b=jtl_b.csv"],
    ["off=sweep_off.txt", "on=sweep_on.txt"],
    ["old=go_old.txt", "new=go_new.txt"],
    ["unbal_block.csv"],
]


@pytest.mark.parametrize("files", FILES, ids=lambda files: files[0])
def test_the_first_lines_say_what_was_read_and_no_line_says_nan(files: list[str]) -> None:
    judgement = judged(*files)
    text = render_judgement(judgement, 100)
    assert text.startswith("  read: ")
    assert re.search(r"\bnan\b", text) is None
    assert judgement.reading is not None
    first, second = judgement.reading.lines
    for part in (judgement.comparison.form, " against ", "judged: ", "is better"):
        assert part in first
    assert "paired" in second
    assert "a replicate is" in second
    json.dumps(judgement.to_json(), allow_nan=False)


def test_the_reading_in_json_has_every_part() -> None:
    assert judged("minavg.csv").to_json()["reading"] == {
        "format": "CSV, long form",
        "rows": [12, 12],
        "arms": ["pg16", "pg17"],
        "column": "avg_latency",
        "metric": "mean latency",
        "unit": "",
        "higher_is_better": False,
        "other_numbers": ["min_latency", "max_latency"],
        "paired": False,
        "pairing": "nothing connects row k of one arm with row k of the other",
        "replicate": "a row",
    }


def test_a_replicate_is_named_by_what_it_is() -> None:
    replicates = [
        judgement.reading.replicate
        for judgement in (
            judged("x=ep_x.csv", "y=ep_y.csv"),
            judged("a=q16n.csv", "b=q17n.csv"),
            judged("a=pg96.txt", "a=pg_ci.txt", "b=pg96b.txt"),
        )
        if judgement.reading is not None
    ]
    assert replicates == [
        "a run, of which every arm has one: its rows are slices",
        "a row: Q1, Q2 …",
        "a file",
    ]


def test_a_heading_is_printed_without_what_a_terminal_would_act_on() -> None:
    rows = "".join(f"off,{100 + n}.5\non,{110 + n}.5\n" for n in range(8))
    judgement = judged_text(f"arm,tps \x1b[31m{'x' * 200}\n{rows}", higher_is_better=True)
    text = render_judgement(judgement, 100)
    assert "\x1b" not in text
    assert "x" * 100 not in text.replace("\n", "")


def test_no_hint_leads_in_a_circle() -> None:
    rows = "".join(f"{15 + n % 3 / 10}k,{14 + n % 4 / 10}k\n" for n in range(8))
    asked = refused_text(f"off,on\n{rows}")
    assert "--unit" in str(asked.hint)
    assert judged_text(f"off,on\n{rows}", unit="tps").contrasts
    percent = "".join(f"{50 + n % 3}%,{49 + n % 4}%\n" for n in range(8))
    assert "--unit" not in str(refused_text(f"off,on\n{percent}").hint)
    assert judged_text(f"off,on\n{percent}", higher_is_better=True).contrasts
