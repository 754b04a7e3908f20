"""What is exported is read back by csv, sqlite3, pyarrow and the parser of prometheus_client."""

from __future__ import annotations

import csv
import json
import math
import shutil
import sqlite3
import tomllib
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from pyarrow import parquet

from history.made import change, change_contrast
from records.conftest import unpack
from report.conftest import THREATS
from steelyard.history.export import export, format_of
from steelyard.history.index import read_history
from steelyard.model.errors import RecordError, UsageError

Keep = Callable[..., Path]
LATENCY = [
    {
        **{"arm": "off", "control": "on", "quantile": quantile, "confidence": 0.95},
        **{"estimate_percent": -2.0, "low_percent": -3.0, "high_percent": -1.0},
        **{"control_us": 100 * (1 + quantile), "arm_us": 98 * (1 + quantile)},
    }
    for quantile in (0.1, 0.5, 0.95, 0.99)
]


@pytest.fixture
def three(keep: Keep, records: Path) -> Path:
    """Two of one question, and one with an open end."""
    folders = [keep(1, threats=THREATS), keep(2, effect=-0.03), keep(3, study="aa")]
    change_contrast(folders[2], low_percent=None)
    for folder in folders:
        change(folder / "verdict.json", lambda said: {**said, "latency": LATENCY})
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


@pytest.mark.parametrize("latest", [False, True])
@pytest.mark.parametrize("form", ["csv", "openmetrics"])
def test_a_copy_of_a_record_is_no_further_row(
    three: Path, tmp_path: Path, form: str, latest: bool
) -> None:
    """Nor the newest answer, whatever time its folder is named by."""
    files = [tmp_path / "before", tmp_path / "after"]
    rows = [export(read_history(three).entries, files[0], form, latest=latest)]
    first = three / "checksums" / "2026-03-01T120000Z"
    for name in ("2026-03-01T120000Z", "2026-04-01T120000Z"):
        shutil.copytree(first, three / "saved" / name)
    rows += [export(read_history(three).entries, files[1], form, latest=latest)]
    assert rows[0] == rows[1]
    assert files[0].read_text() == files[1].read_text()


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


def samples(text: str) -> list[Sample]:
    """The samples of an exposition, as prometheus_client reads it; it refuses what is none."""
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


def test_openmetrics_holds_ratios_with_timestamps_that_rise(three: Path, tmp_path: Path) -> None:
    file = tmp_path / "all.prom"
    export(read_history(three).entries, file, "openmetrics")
    every = samples(file.read_text(encoding="utf-8"))
    ratios = [sample for sample in every if sample.name == "steelyard_ratio"]
    assert [one.value for one in ratios] == pytest.approx([1.024, 0.97, 1.024], abs=0.004)
    series: dict[tuple[str, str], list[float]] = {}
    for sample in every:
        key = sample.name, str(sorted(sample.labels.items()))
        series.setdefault(key, []).append(float(str(sample.timestamp)))
    assert all(sorted(set(at)) == at for at in series.values())
    assert float(str(ratios[0].timestamp)) == 1772366400  # date -ud 2026-03-01T12:00:00 +%s
    lows = [sample.value for sample in every if sample.name == "steelyard_ratio_low"]
    assert lows[2] == 0
    states = [sample.value for sample in every if sample.name == "steelyard_verdict"]
    assert (states.count(1), len(states)) == (3, 15)


def test_openmetrics_holds_both_sides_in_base_units(three: Path, tmp_path: Path) -> None:
    entries = read_history(three).entries
    export(entries, tmp_path / "all.prom", "openmetrics")
    every = samples((tmp_path / "all.prom").read_text(encoding="utf-8"))
    rates = [x for x in every if x.name == "steelyard_throughput_per_second"]
    latency = [x for x in every if x.name == "steelyard_latency_seconds"]
    for side in ("control", "arm"):
        values = [getattr(x.readings[0], f"{side}_values") for x in entries if x.readings]
        own = [x.value for x in rates if x.labels["side"] == side]
        assert own == pytest.approx([x.throughput for x in values])
        p99 = [x for x in latency if (x.labels["side"], x.labels["quantile"]) == (side, "0.99")]
        assert [x.value * 1e6 for x in p99] == pytest.approx([x.latency_us_p99 for x in values])
    assert len(latency) == 3 * 2 * 3


def test_values_that_a_record_does_not_have_are_left_out(keep: Keep, tmp_path: Path) -> None:
    folder = keep(1)
    change(folder / "verdict.json", lambda said: {**said, "latency": []})
    entries = read_history(tmp_path / "records").entries
    export(entries, tmp_path / "all.prom", "openmetrics")
    every = {x.name for x in samples((tmp_path / "all.prom").read_text(encoding="utf-8"))}
    assert "steelyard_throughput_per_second" in every
    assert "steelyard_latency_seconds" not in every
    export(entries, tmp_path / "all.csv", "csv")
    with (tmp_path / "all.csv").open(newline="") as stream:
        [row] = csv.DictReader(stream)
    assert row["control_latency_us_p99"] == ""
    assert float(row["control_throughput"]) > 0


def test_the_newest_alone_have_no_timestamp(three: Path, tmp_path: Path) -> None:
    file = tmp_path / "new.prom"
    assert export(read_history(three).entries, file, "openmetrics", latest=True) == 2
    every = samples(file.read_text(encoding="utf-8"))
    assert {sample.timestamp for sample in every} == {None}
    assert len([sample for sample in every if sample.name == "steelyard_ratio"]) == 2
    states = [sample for sample in every if sample.name == "steelyard_verdict"]
    assert (sum(sample.value for sample in states), len(states)) == (2, 10)


@pytest.mark.parametrize("latest", [False, True])
def test_readers_of_the_older_text_format_know_every_type(
    three: Path, tmp_path: Path, latest: bool
) -> None:
    """node_exporter and Telegraf refuse a text with any other type, and each is said once."""
    file = tmp_path / "new.prom"
    export(read_history(three).entries, file, "openmetrics", latest=latest)
    types = [
        line.split() for line in file.read_text("utf-8").splitlines() if line.startswith("# TYPE ")
    ]
    assert {words[3] for words in types} <= {"counter", "gauge", "histogram", "summary", "untyped"}
    assert len({words[2] for words in types}) == len(types)
    assert "steelyard_verdict" in {words[2] for words in types}


def test_words_of_labels_are_escaped(keep: Keep, records: Path, tmp_path: Path) -> None:
    keep(1, machine={"hostname": 'a "quoted" \\ name', "processor": "x\ny"})
    export(read_history(records).entries, tmp_path / "all.om", "openmetrics")
    [first, *_] = samples((tmp_path / "all.om").read_text(encoding="utf-8"))
    assert first.labels["machine"] == 'a "quoted" \\ name, x\ny'


def test_parquet_has_the_table_of_csv_with_types(three: Path, tmp_path: Path) -> None:
    entries = read_history(three).entries
    for name in ("csv", "parquet"):
        export(entries, tmp_path / f"all.{name}", name)
    with (tmp_path / "all.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    table = parquet.read_table(tmp_path / "all.parquet")
    assert table.column_names == list(rows[0])
    assert str(table.schema.field("at").type) == "timestamp[ms, tz=UTC]"
    assert str(table.schema.field("epochs").type) == "int64"
    columns = table.to_pydict()
    assert columns["at"][0] == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert columns["low_percent"][2] is None
    for name in ("arm", "verdict", "machine"):
        assert columns[name] == [row[name] for row in rows]
    for name in ("control_throughput", "arm_throughput", "arm_latency_us_p95"):
        assert columns[name] == [float(row[name]) for row in rows]


@pytest.mark.parametrize("seed", [2**63 - 1, 2**63, 2**64])
def test_a_seed_that_no_column_holds_is_refused_and_a_table_of_text_has_it(
    keep: Keep, records: Path, tmp_path: Path, seed: int
) -> None:
    """As of `od -An -N8 -tu8 /dev/urandom`: every second one is so large."""
    folder = keep(1)
    for name in ("plan.json", "verdict.json"):
        change(folder / name, lambda document: {**document, "seed": seed})
    entries = read_history(records).entries
    assert [entry.seed for entry in entries] == [seed]
    for form in ("sqlite", "parquet"):
        if seed < 2**63:
            assert export(entries, tmp_path / f"all.{form}", form) == 1
            continue
        with pytest.raises(RecordError, match=r"the seed of .* has more than 63 bits"):
            export(entries, tmp_path / f"all.{form}", form)
        assert not (tmp_path / f"all.{form}").exists()
    export(entries, tmp_path / "all.csv", "csv")
    assert str(seed) in (tmp_path / "all.csv").read_text()


def test_parquet_without_its_library_is_refused_with_what_to_type(
    three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="pyarrow is not installed") as refused:
        export(read_history(three).entries, tmp_path / "all.parquet", "parquet")
    assert "pip install 'steelyard[parquet]'" in str(refused.value)
    assert not (tmp_path / "all.parquet").exists()


@pytest.mark.parametrize("name", ["checksums", "queries", "three-arms"])
def test_values_are_those_of_the_records_own_slices(
    name: str, records: Path, tmp_path: Path
) -> None:
    """Throughput from transactions and time under load of slices.jsonl, on kept records."""
    folder = unpack(name, records)
    [entry] = read_history(records).entries
    study = tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))
    clients = study["workload"].get("clients")
    for reading in entry.readings:
        for arm, values in (
            (reading.control, reading.control_values),
            (reading.arm, reading.arm_values),
        ):
            assert values.throughput is not None
            assert values.throughput == pytest.approx(rate_of_slices(folder, arm, clients), rel=0.1)


def rate_of_slices(folder: Path, arm: str, clients: int | None) -> float:
    """Transactions a second of an arm over all its measured slices."""
    lines = [json.loads(line) for line in (folder / "slices.jsonl").read_text().splitlines()]
    own = [x for x in lines if x["arm"] == arm and x["kind"] == "measured"]
    busy = sum(x["busy_ns"] / (clients or x["clients"]) for x in own)
    return float(sum(x["transactions"] for x in own) / busy * 1e9)


def test_no_records_make_files_without_rows(records: Path, tmp_path: Path) -> None:
    for form, name in (
        ("csv", "a.csv"),
        ("sqlite", "a.db"),
        ("parquet", "a.parquet"),
        ("openmetrics", "a.txt"),
    ):
        assert export(read_history(records).entries, tmp_path / name, form) == 0
    assert samples((tmp_path / "a.txt").read_text()) == []
    assert parquet.read_table(tmp_path / "a.parquet").num_rows == 0


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
