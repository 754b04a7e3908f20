"""What the bundled pgbench writes today is read as what pgbench itself says of it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from own_cache import own_server
from steelyard.engines.postgres.libpq.connection_string import client_flags
from steelyard.foreign.comparison import Options, compare
from steelyard.foreign.formats import format_of, read_sheet
from steelyard.foreign.judgement.judge_numbers import judge_numbers
from steelyard.foreign.series import Sheet
from steelyard.foreign.source import open_source

pytestmark = pytest.mark.postgres
Pgbench = Callable[..., str]


@pytest.fixture(scope="module")
def pgbench() -> Iterator[Pgbench]:
    """Runs the bundled pgbench on a small loaded server, in a given directory."""
    with own_server("18") as instance:
        program = Path(instance.identity.bindir) / "pgbench"

        def call(*arguments: str, cwd: Path | None = None) -> str:
            done = subprocess.run(
                [program, *arguments, *client_flags(instance.address), "postgres"],
                cwd=cwd,
                capture_output=True,
                text=True,
                timeout=120,
                check=True,
            )
            return done.stdout + done.stderr

        call("-i", "-q")
        yield call


def sheet_of(path: Path, form: str) -> Sheet:
    source = open_source(path)
    assert format_of(source) == form
    return read_sheet(source)


def number_in(text: str, pattern: str) -> float:
    found = re.search(pattern, text)
    assert found, text
    return float(found[1])


@pytest.mark.long
def test_summary_progress_and_log_of_one_run_agree_with_its_summary(
    pgbench: Pgbench, tmp_path: Path
) -> None:
    text = pgbench("-n", "-S", "-c", "2", "-T", "3", "-P", "1", "-l", cwd=tmp_path)
    summary = re.sub(r"progress: .*\n", "", text)
    (tmp_path / "summary.txt").write_text(summary)
    (tmp_path / "progress.txt").write_text(text)
    tps, latency_ms = (
        number_in(text, r"tps = ([0-9.]+)"),
        number_in(text, r"latency average = ([0-9.]+)"),
    )

    one = sheet_of(tmp_path / "summary.txt", "pgbench")
    assert one.metrics[0][1][0].values.tolist() == [tps]
    assert one.metrics[1][1][0].values.tolist() == [pytest.approx(latency_ms)]
    assert one.clients == {"": 2}

    (rates,) = sheet_of(tmp_path / "progress.txt", "pgbench").metrics[0][1]
    printed = [float(rate) for rate in re.findall(r"^progress: .* s, ([0-9.]+) tps", text, re.M)]
    assert len(printed) >= 2
    assert rates.values.tolist() == printed

    (log,) = tmp_path.glob("pgbench_log.*")
    (latency,) = sheet_of(log, "pgbench-log").metrics[0][1]
    assert latency.weights is not None
    assert latency.weights.sum() == number_in(text, r"actually processed: ([0-9]+)")
    mean_us = float(np.average(latency.values, weights=latency.weights))
    assert mean_us == pytest.approx(1000 * latency_ms, rel=0.02, abs=1)


@pytest.mark.long
def test_intervals_hold_the_transactions_of_the_run(pgbench: Pgbench, tmp_path: Path) -> None:
    text = pgbench("-n", "-S", "-c", "2", "-T", "4", "-l", "--aggregate-interval=1", cwd=tmp_path)
    (log,) = tmp_path.glob("pgbench_log.*")
    sheet = sheet_of(log, "pgbench-aggregate")
    (latency,) = next(series for metric, series in sheet.metrics if metric.name == "latency_mean")
    assert latency.weights is not None
    logged = [int(line.split()[1]) for line in log.read_text().splitlines()]
    assert latency.weights.tolist() == logged
    # pgbench never writes its last interval.
    assert 0 < sum(logged) <= number_in(text, r"actually processed: ([0-9]+)")


def test_a_fixed_rate_with_a_limit_is_read_with_what_it_skipped(
    pgbench: Pgbench, tmp_path: Path
) -> None:
    pgbench("-n", "-N", "-c", "1", "-T", "1", "-R", "2000", "-L", "1", "-l", cwd=tmp_path)
    (log,) = tmp_path.glob("pgbench_log.*")
    lines = log.read_text().splitlines()
    sheet = sheet_of(log, "pgbench-log")
    (latency,) = sheet.metrics[0][1]
    skipped = sum(" skipped " in line for line in lines)
    assert latency.weights is not None
    assert latency.weights.sum() == len(lines) - skipped
    assert (f"{skipped} transactions were skipped" in sheet.notes) == (skipped > 0)


def test_equal_runs_by_turns_are_judged_as_repetitions(pgbench: Pgbench, tmp_path: Path) -> None:
    sheets = []
    for number in range(16):
        arm = "ab"[number % 2]
        path = tmp_path / f"{arm}{number}.txt"
        path.write_text(pgbench("-n", "-S", "-c", "2", "-t", "300"))
        sheets.append((arm, sheet_of(path, "pgbench")))
    (contrast,) = judge_numbers(compare(sheets, Options())).contrasts
    assert contrast.blocks == 8
    assert contrast.details.look in ("last", "too few")
    assert contrast.estimate.low < contrast.estimate.value < contrast.estimate.high
