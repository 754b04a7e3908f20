"""A comparison in a terminal has a row a script of either mix."""

from __future__ import annotations

from pathlib import Path

from history.made import change, keep_record
from steelyard.cli.views.history.comparison_view import comparison_lines
from steelyard.history.compare import compare_records


def weighed(folder: Path, rows: list[tuple[str, float | None, float | None]]) -> Path:
    """A record of a mix: (script, low, high) of each."""
    record = keep_record(folder)
    scripts = [
        {
            "arm": "off", "control": "on", "confidence": 0.95, "script": name, "control_us": 100.0,
            "arm_us": 101.0, "share_percent": 50.0, "low_percent": low, "high_percent": high,
            "estimate_percent": None if low is None or high is None else (low + high) / 2,
        }
        for name, low, high in rows
    ]  # fmt: skip
    change(record / "verdict.json", lambda verdict: {**verdict, "scripts": scripts})
    return record


def test_scripts_stand_the_worst_of_the_second_first(tmp_path: Path) -> None:
    first = weighed(tmp_path / "one", [("orders", -4.0, 2.0), ("payments", 1.0, 5.0)])
    second = weighed(
        tmp_path / "two", [("payments", 0.5, 1.5), ("orders", 6.0, 9.0), ("new", None, None)]
    )
    lines = list(comparison_lines(compare_records(first, second), 100))
    start = next(n for n, line in enumerate(lines) if line.startswith("by script"))
    assert lines[start : start + 4] == [
        "by script  first                   second",
        "new        –                       –",
        "orders     −1.00 % [−4.00, +2.00]  +7.50 % [+6.00, +9.00]",
        "payments   +3.00 % [+1.00, +5.00]  +1.00 % [+0.50, +1.50]",
    ]


def test_records_of_one_script_have_no_such_rows(tmp_path: Path) -> None:
    records = [keep_record(tmp_path / name) for name in ("one", "two")]
    assert not [
        line for line in comparison_lines(compare_records(*records), 100) if "by script" in line
    ]


def test_values_that_differ_behind_a_long_beginning_are_told_apart(tmp_path: Path) -> None:
    options = " ".join(f"'--with-{name}'" for name in ("icu", "llvm", "lz4", "openssl", "zstd"))
    first, second = (
        keep_record(
            tmp_path / name,
            control_build={"configure": f"{options} '--with-blocksize={size}'"},
        )
        for name, size in (("one", 8), ("two", 16))
    )
    lines = list(comparison_lines(compare_records(first, second), 80))
    [row] = [line for line in lines if line.startswith("  configure of on")]
    ours, theirs = row.removeprefix("  configure of on").strip().split("  →  ")
    assert "blocksize=8" in ours
    assert "blocksize=16" in theirs
    text = " ".join(" ".join(lines).split())
    assert "blocksize=8' in the first" in text
    assert "blocksize=16' in the second" in text
