"""What fio says becomes figures; what it fails at becomes an error with its own words."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from steelyard.model.errors import EngineError, UsageError
from steelyard.tuning.fio import (
    DATA,
    LOG_BYTES,
    MIX,
    Fio,
    Job,
    figure_of,
    find_fio,
    job_file,
    jobs,
    layout_options,
    options,
    run_job,
)
from tuning.probes import found, latency, side

PROCESSORS = 2


def job_named(name: str) -> Job:
    return next(job for job in jobs(PROCESSORS) if job.name == name)


def program(place: Path, script: str) -> Fio:
    """A program in place of fio; `$told` is the file it is to write to."""
    path = place / "fio"
    path.write_text(f'#!/bin/sh\ntold="${{2#--output=}}"\n{script}\n')
    path.chmod(0o755)
    return Fio(str(path), "fio-0")


def test_a_read_has_its_own_figures() -> None:
    given = found(side(900, 100_000), side(0, 0))
    one = figure_of(job_named("random read, depth 1"), "io_uring", given, PROCESSORS)
    assert (one.iops, one.bytes_per_s) == (100, 8192 * 100)
    assert (one.mean_ns, one.p50_ns, one.p99_ns, one.p999_ns) == (1e5, 1e5, 3e5, 9e5)
    assert one.processor_share == pytest.approx(0.2)
    assert one.engine == "io_uring"


def test_a_mix_is_both_sides_together_by_their_requests() -> None:
    given = found(side(700, 100_000), side(300, 200_000))
    one = figure_of(job_named(MIX), "libaio", given, PROCESSORS)
    assert one.iops == pytest.approx(1000 / 9)
    assert one.mean_ns == pytest.approx(130_000)


def test_the_logs_path_is_write_and_sync_and_says_it_was_psync() -> None:
    given = found(side(0, 0), side(90, 20_000), sync={"total_ios": 90, "lat_ns": latency(500_000)})
    one = figure_of(job_named("log write and sync"), "io_uring", given, PROCESSORS)
    assert one.mean_ns == pytest.approx(520_000)
    assert one.p99_ns == 1_500_000
    assert one.engine == "psync"


@pytest.mark.parametrize(
    ("workers", "each", "share", "bound"),
    [
        (8, 24.0, 0.96, True),  # 8 workers share 2 processors: a quarter each is all there is
        (8, 12.0, 0.48, False),
        (2, 96.0, 0.96, True),
        (1, 96.0, 0.96, True),  # a lone worker cannot use the second processor
        (1, 48.0, 0.48, False),
    ],
)
def test_a_job_is_processor_bound_where_its_workers_use_all_that_they_could(
    workers: int, each: float, share: float, bound: bool
) -> None:
    asked = {"numjobs": str(workers), "iodepth": "8"}
    given = found(
        side(900, 1e5), side(0, 0), usr_cpu=each / 4, sys_cpu=each * 3 / 4, **{"job options": asked}
    )
    one = figure_of(job_named("sequential read, 8 workers"), "io_uring", given, PROCESSORS)
    assert one.processor_share == pytest.approx(share)
    assert one.processor_bound == bound


@pytest.mark.parametrize(
    ("workers", "each", "worth", "bound"),
    [
        (2, 74.0, 1.5, True),  # a quota of one processor and a half is all there is
        (2, 74.0, 2.0, False),
        (1, 48.0, 0.5, True),
        (1, 96.0, 1.5, True),
        (1, 48.0, 1.5, False),
    ],
)
def test_a_job_that_uses_all_of_a_quota_is_processor_bound(
    workers: int, each: float, worth: float, bound: bool
) -> None:
    asked = {"numjobs": str(workers), "iodepth": "8"}
    given = found(side(900, 1e5), side(0, 0), usr_cpu=0.0, sys_cpu=each, **{"job options": asked})
    one = figure_of(job_named("random read, depth 1"), "io_uring", given, worth)
    assert one.processor_bound == bound


def test_every_job_uses_files_that_were_laid_out_and_extends_none() -> None:
    for job in jobs(4):
        given = options(job, "libaio", direct=True, size_bytes=1 << 30, seconds=9, ramp_s=2, seed=1)
        assert given["allow_file_create"] == "0"
        assert given["overwrite"] == "1"
        size = LOG_BYTES if job.name == "log write and sync" else 1 << 30
        assert int(given["size"]) == (size // 8 if "8 workers" in job.name else size)
        last = (int(given["numjobs"]) - 1) * int(given.get("offset_increment", 0))
        assert last + int(given["size"]) <= size, "a worker beyond the end would extend the file"
        assert given["direct"] == ("0" if job.name == "log write and sync" else "1")
    laid = layout_options(DATA, 1 << 30, 1)
    assert (laid["rw"], laid["fallocate"], laid["end_fsync"]) == ("write", "none", "1")


def test_with_psync_workers_take_the_place_of_depth() -> None:
    deep = job_named("random read, depth 32")
    given = options(deep, "psync", direct=True, size_bytes=1 << 30, seconds=9, ramp_s=2, seed=1)
    assert (given["numjobs"], given["iodepth"]) == ("32", "1")
    assert "directory=/a\\:b\n" in job_file("x", given, "/a:b")


@pytest.mark.parametrize("engine", ["io_uring", "psync"])
@pytest.mark.parametrize("megabytes", [32, 1024, 4096])
def test_workers_that_go_through_a_file_in_order_have_each_a_part_of_their_own(
    engine: str, megabytes: int
) -> None:
    size = megabytes << 20
    for job in jobs(2):
        given = options(job, engine, direct=True, size_bytes=size, seconds=9, ramp_s=2, seed=1)
        workers, part = int(given["numjobs"]), int(given["size"])
        if job.rw in ("read", "write") and workers > 1:
            assert part >= job.block_bytes
            assert part % job.block_bytes == 0
            assert int(given["offset_increment"]) == part, "no two read the same"
            assert workers * part <= size
        else:
            assert "offset_increment" not in given
    scan = options(
        job_named("sequential read"),
        "psync",
        direct=True,
        size_bytes=size,
        seconds=9,
        ramp_s=2,
        seed=1,
    )
    assert (scan["numjobs"], int(scan["size"])) == ("16", size // 16)


def test_what_fio_fails_at_is_said_in_its_words(tmp_path: Path) -> None:
    gone = program(tmp_path, "echo 'fio: engine io_uring not loadable' >&2; exit 1")
    with pytest.raises(EngineError) as failure:
        run_job(gone, tmp_path, "[x]\n", 1)
    assert "not loadable" in str(failure.value.detail)
    told = json.dumps({"jobs": [found(side(1, 1.0), side(0, 0), error=28)]})
    full = program(tmp_path, f"echo '{told}' > \"$told\"; echo 'No space left' >&2")
    with pytest.raises(EngineError) as failure:
        run_job(full, tmp_path, "[x]\n", 1)
    assert "No space left" in str(failure.value.detail)


def test_notes_on_standard_output_do_not_matter(tmp_path: Path) -> None:
    told = json.dumps({"jobs": [found(side(9, 1.0), side(0, 0))]})
    noisy = program(tmp_path, f"echo 'note: something'; echo '{told}' > \"$told\"")
    assert run_job(noisy, tmp_path, "[x]\n", 1)["read"]["total_ios"] == 9


def test_without_fio_it_is_said_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError) as refused:
        find_fio()
    assert "apt install fio" in str(refused.value.hint)
    assert os.environ["PATH"] == str(tmp_path)
