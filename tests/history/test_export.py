"""What is exported is read back by csv, by sqlite3, and by the grammar of OpenMetrics."""

from __future__ import annotations

import csv
import math
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from history.made import change_contrast
from report.conftest import THREATS
from steelyard.history.export import export, format_of
from steelyard.history.index import read_history
from steelyard.model.errors import RecordError, UsageError

Keep = Callable[..., Path]
_SAMPLE = re.compile(
    r'(?P<name>[a-zA-Z_:][\w:]*)\{(?P<labels>(?:\w+="(?:[^"\\\n]|\\.)*",?)*)\} '
    r"(?P<value>NaN|[+-]Inf|-?\d+(?:\.\d+)?(?:e[+-]\d+)?)(?: (?P<at>\d+))?"
)
"""A sample of OpenMetrics 1.0, as its ABNF has it, without exemplars."""


@pytest.fixture
def three(keep: Keep, records: Path) -> Path:
    """Two of one question, and one with an open end."""
    keep(1, threats=THREATS)
    keep(2, effect=-0.03)
    change_contrast(keep(3, study="aa"), low_percent=None)
    return records


def test_csv_holds_a_row_a_contrast(three: Path, tmp_path: Path) -> None:
    file = tmp_path / "all.csv"
    assert export(read_history(three).entries, file, "csv") == 3
    with file.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["study"] for row in rows] == ["checksums", "checksums", "aa"]
    assert rows[0]["at"] == "2026-03-01T12:00:00Z"
    assert float(rows[1]["estimate_percent"]) == pytest.approx(-3, abs=0.3)
    assert rows[0]["doubts"] == "steal or throttling; memory or disk nearly full"
    assert rows[2]["low_percent"] == ""
    assert rows[0]["arm_version"] == "18.4"


def test_the_database_holds_contrasts_epochs_and_doubts(three: Path, tmp_path: Path) -> None:
    file = tmp_path / "all.sqlite"
    for _ in range(2):  # it is made anew
        export(read_history(three).entries, file, "sqlite")
    with closing(sqlite3.connect(file)) as database:
        rows = database.execute(
            "SELECT study, c.epochs, count(*), avg(log_ratio), estimate_percent FROM contrasts c "
            "JOIN epochs e ON e.contrast = c.id GROUP BY c.id ORDER BY c.id"
        ).fetchall()
        doubts = database.execute("SELECT contrast, name FROM doubts").fetchall()
        [low] = database.execute("SELECT low_percent FROM contrasts WHERE study = 'aa'").fetchone()
    assert [row[:3] for row in rows] == [("checksums", 8, 8), ("checksums", 8, 8), ("aa", 8, 8)]
    for _, _, _, mean, percent in rows:
        assert math.expm1(mean) * 100 == pytest.approx(percent)
    assert [number for number, _ in doubts] == [1, 1]
    assert low is None


def samples(text: str) -> list[re.Match[str]]:
    """The samples of an exposition; it must be one, each family in one piece."""
    *lines, end = text.splitlines()
    assert end == "# EOF"
    assert text.endswith("\n")
    found, families = [], []
    for line in lines:
        if line.startswith("# "):
            _, kind, name, _ = line.split(" ", 3)
            assert kind in ("TYPE", "HELP")
            if kind == "TYPE":
                families.append(name)
            continue
        sample = _SAMPLE.fullmatch(line)
        assert sample is not None, line
        assert sample["name"] == families[-1]
        found.append(sample)
    assert len(set(families)) == len(families)
    return found


def test_openmetrics_holds_ratios_with_timestamps_that_rise(three: Path, tmp_path: Path) -> None:
    file = tmp_path / "all.prom"
    export(read_history(three).entries, file, "openmetrics")
    found = samples(file.read_text(encoding="utf-8"))
    ratios = [one for one in found if one["name"] == "steelyard_ratio"]
    assert [float(one["value"]) for one in ratios] == pytest.approx([1.024, 0.97, 1.024], abs=0.004)
    series: dict[tuple[str, str], list[int]] = {}
    for one in found:
        series.setdefault((one["name"], one["labels"]), []).append(int(one["at"]))
    assert all(sorted(set(at)) == at for at in series.values())
    assert ratios[0]["at"] == "1772366400"  # date -ud 2026-03-01T12:00:00 +%s
    lows = [one["value"] for one in found if one["name"] == "steelyard_ratio_low"]
    assert lows[2] == "0"
    states = [one for one in found if one["name"] == "steelyard_verdict"]
    assert sum(int(one["value"]) for one in states) == 3
    assert len(states) == 15


def test_the_newest_alone_have_no_timestamp(three: Path, tmp_path: Path) -> None:
    file = tmp_path / "new.prom"
    assert export(read_history(three).entries, file, "openmetrics", latest=True) == 2
    found = samples(file.read_text(encoding="utf-8"))
    assert {one["at"] for one in found} == {None}
    assert len([one for one in found if one["name"] == "steelyard_ratio"]) == 2


def test_words_of_labels_are_escaped(keep: Keep, records: Path, tmp_path: Path) -> None:
    keep(1, machine={"hostname": 'a "quoted" \\ name', "processor": "x\ny"})
    export(read_history(records).entries, tmp_path / "all.om", "openmetrics")
    [first, *_] = samples((tmp_path / "all.om").read_text(encoding="utf-8"))
    assert r"a \"quoted\" \\ name, x\ny" in first["labels"]


def test_no_records_make_files_without_rows(records: Path, tmp_path: Path) -> None:
    for form, name in (("csv", "a.csv"), ("sqlite", "a.db"), ("openmetrics", "a.txt")):
        assert export(read_history(records).entries, tmp_path / name, form) == 0
    assert samples((tmp_path / "a.txt").read_text()) == []


def test_the_format_is_named_or_told_by_the_ending() -> None:
    assert format_of(Path("x.db"), None) == "sqlite"
    assert format_of(Path("x.data"), "csv") == "csv"
    with pytest.raises(UsageError, match="does not say by its ending"):
        format_of(Path("x.data"), None)
    with pytest.raises(UsageError, match='unrecognized format: "xml"'):
        format_of(Path("x.csv"), "xml")


def test_a_file_that_cannot_be_written_leaves_nothing(three: Path, tmp_path: Path) -> None:
    entries = read_history(three).entries
    (tmp_path / "taken.csv").mkdir()
    with pytest.raises(RecordError, match="could not write"):
        export(entries, tmp_path / "taken.csv", "csv")
    with pytest.raises(RecordError, match="could not write"):
        export(entries, tmp_path / "no" / "folder.sqlite", "sqlite")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["records", "taken.csv"]
