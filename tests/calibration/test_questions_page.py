"""The table of studies is what its generator prints, and every study of it can be weighed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from steelyard.study.read import builtin_studies, read_study
from validation.pages.questions import (
    NOT_TO_BE_READ,
    UNREAD,
    minutes,
    needs,
    page_with_table,
    questions,
    reading,
)
from validation.questions import PAGE, WORDS, names, refusal, result_of

ROOT = Path(__file__).parents[2]
CONTRAST = {
    "arm": "on", "control": "off", "estimate_percent": -3.14, "low_percent": -3.6,
    "high_percent": None, "verdict": "slower",
}  # fmt: skip
MACHINE = {
    "kernel": "Linux 6", "processor": "P", "allowed_processors": [0, 1], "memory_bytes": 8e9,
    "virtual": True,
}  # fmt: skip


@pytest.mark.long
def test_the_page_is_what_its_generator_prints() -> None:
    made = subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "studies_reference.py")],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    how = "use .venv/bin/python .ci/studies_reference.py --write"
    assert PAGE.read_text(encoding="utf-8") == made.stdout, how


def test_every_study_has_its_row_with_question_minutes_and_needs() -> None:
    text = questions([])
    for name in builtin_studies():
        [row] = [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]
        own = name in ("addresses", "builds", "queries", "sessions", "settings")
        unread = "of your own arms" if own else UNREAD
        unread = NOT_TO_BE_READ if name == "page-verify-sqlserver" else unread
        assert row.endswith(f"| {unread} |") or name == "calibrate"
        assert read_study(name).question in row


def test_a_reading_has_its_interval_and_a_study_that_cannot_be_had_its_reason() -> None:
    assert reading({"contrasts": [CONTRAST]}) == "on against off -3.1 % [-3.6, unbounded], slower"
    of_time = reading({"contrasts": [CONTRAST]}, " of time")
    assert of_time == "on against off -3.1 % of time [-3.6, unbounded], slower"
    assert reading({"refused": "no huge pages"}) == "cannot be had there: no huge pages"
    found: list[dict[str, Any]] = [
        {"key": "ssl", "words": ["ssl", "--seed", "16"], "refused": "no OpenSSL"},
        {
            "key": "jit",
            "words": ["jit", "--set", "control.version=15", "--seed", "16"],
            "contrasts": [CONTRAST],
            "machine": MACHINE,
        },
    ]
    text = questions(found)
    assert "cannot be had there: no OpenSSL" in text
    assert "-3.1 % of time [" in text, "the study decides by times"
    assert "Read on: 2 processors (P, virtual), 8 GB of memory, Linux 6." in text
    assert "alone: `steelyard weigh jit --set control.version=15`." in text


def test_minutes_are_of_the_layout_that_will_be_chosen() -> None:
    assert minutes(read_study("aa")) == 4
    assert minutes(read_study("autovacuum")) == 30
    assert minutes(read_study("settings")) == 4


def test_needs_are_told_in_words() -> None:
    assert "engines add" in needs(read_study("pg-stat-statements"))
    assert needs(read_study("pooler")) == "PgBouncer"
    assert "LLVM" in needs(read_study("jit"))
    assert needs(read_study("aa")) == needs(read_study("versions")) == ""
    assert needs(read_study("doublewrite")) == "`steelyard engines add mysql-5.7`"
    assert needs(read_study("timing-clock")) == "`steelyard engines add 19`"
    assert needs(read_study("wal-compression")) == (
        "for all arms a build with lz4; for all arms a build with zstd"
    )
    both = "`steelyard engines add mariadb-10.11`; `steelyard engines add mysql-5.7`"
    assert needs(read_study("mariadb-vs-mysql")) == both
    assert "of yours" in needs(read_study("settings"))
    assert "cap memory" in needs(read_study("tuning"))


def test_a_page_without_its_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="no place"):
        page_with_table("# Studies", [])


def test_what_is_weighed_here_are_studies_with_arms_of_their_own() -> None:
    assert set(WORDS) <= set(names())
    assert "settings" not in names()
    assert "io-method" in names()


def test_a_refusal_is_told_by_its_primary_line() -> None:
    said = 'note: x\nerror: cannot weigh "ssl": arm "plain" needs tls\nHINT:  y\n'
    assert refusal(said) == 'cannot weigh "ssl": arm "plain" needs tls'


def test_every_arm_of_a_verdict_is_kept_with_flips() -> None:
    verdict = {
        "contrasts": [{**CONTRAST, "threats": [{"name": "steal or throttling"}], "epochs": 10}],
        "plans": [{"flips": ["a → b"]}], "layout": "slices", "sentence": "s",
        "whole_seconds": 100.0,
    }  # fmt: skip
    result = result_of(verdict, {"machine": MACHINE})
    assert result["contrasts"] == [CONTRAST]
    assert (result["flips"], result["threats"]) == (["a → b"], ["steal or throttling"])
