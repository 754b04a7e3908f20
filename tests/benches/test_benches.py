"""Every bench still runs, as small as it goes, and tells what it read, met or missed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).parents[2] / "benches"
DRIVER = "--rounds 1 --seconds 1 --scale 1"
SMALL = {
    "coordinated_omission": "--seconds 4",
    "driver_cpu": DRIVER,
    "driver_pipeline": DRIVER,
    "driver_tpcb": DRIVER,
    "first_sign": "--rounds 1",
    "innodb_scrub": "--rounds 1 --rows 300",
    "judging": "--rounds 1",
    "load_ratio": "--rounds 1 --scale 1",
    "mysql_cpu": "--rounds 1 --seconds 1 --rows 1000",
    "passing": "--rounds 1 --seconds 1",
    "regression": f"--before {shlex.quote(str(BENCHES.parent))} --rounds 1 --seconds 1",
    "scrub": "--rounds 1 --scale 1 --no-cold",
    "start_up": "--rounds 1",
    "statement_times": DRIVER,
    "tproc_c_load": "--rounds 1 --warehouses 1",
    "tproc_h_load": "--rounds 1 --hundredths 1",
    "wall_time": "--rounds 1 --budget 20s --study checksums",
}


def test_every_bench_is_tried() -> None:
    assert {file.stem for file in BENCHES.glob("*.py")} == set(SMALL)


@pytest.mark.postgres
@pytest.mark.long
@pytest.mark.parametrize("name", SMALL)
def test_a_bench_measures_and_says_what_it_read(name: str) -> None:
    if name == "mysql_cpu" and shutil.which("apt-get") is None:
        pytest.skip("sysbench comes from Debian's packages")
    environment = {key: value for key, value in os.environ.items() if key != "BEFORE"}
    done = subprocess.run(
        [sys.executable, BENCHES / f"{name}.py", *shlex.split(SMALL[name])],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode in (0, 1), done.stderr  # 1: a bound is missed, as it may at this size
    assert "Traceback" not in done.stderr, done.stderr
    assert "error:" not in done.stderr, done.stderr  # status 1 too, and nothing was measured
    assert done.stdout.strip(), done.stderr
