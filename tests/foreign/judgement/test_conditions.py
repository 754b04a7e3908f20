"""What was asked of the arms is compared, and a load that differs explains any difference."""

from __future__ import annotations

import json

import pytest

from foreign.judged_files import RANDOM, doubts, judged, judged_text, only, refused, verdict
from steelyard.foreign.judgement.judgement import Judgement
from steelyard.model.threat import Threat


def first_doubt(judgement: Judgement) -> Threat:
    return only(judgement).threats[0]


@pytest.mark.parametrize(
    ("files", "named"),
    [
        (["off=c8.txt", "on=c16.txt"], ["script", "scale is 100", "mode", "clients is 8 in off"]),
        (["a=hdb_vu8.txt", "b=hdb_vu16.txt"], ["virtual users is 8 in a and 16 in b"]),
        (["clients_by_arm.csv"], ["clients is 8 in pg16 and 16 in pg17", "scale is 100"]),
    ],
)
def test_a_load_that_differs_makes_the_verdict_invalid(files: list[str], named: list[str]) -> None:
    judgement = judged(*files, **RANDOM)
    assert verdict(judgement) == "invalid"
    threat = first_doubt(judgement)
    assert (threat.name, threat.invalidates) == ("conditions differ", True)
    assert all(name in threat.seen for name in named)


def summary(clients: int, tps: float, duration: int = 60) -> str:
    return (
        f"pgbench (17.2)\ntransaction type: <builtin: TPC-B (sort of)>\nscaling factor: 100\n"
        f"query mode: simple\nnumber of clients: {clients}\nnumber of threads: 2\n"
        f"duration: {duration} s\nlatency average = 8.1 ms\n"
        f"tps = {tps} (without initial connection time)\n"
    )


def test_what_is_no_load_is_named_and_leaves_the_verdict() -> None:
    arms = [
        "".join(summary(8, 1000.25 + 10 * arm + 1.5 * n, 60 - 30 * arm) for n in range(10))
        for arm in range(2)
    ]
    judgement = judged_text(*arms, **RANDOM)
    assert verdict(judgement) == "faster"
    assert first_doubt(judgement).seen == "duration is 60 s in a and 30 s in b"


def test_settings_of_the_arms_are_named_and_leave_the_verdict() -> None:
    rows = "".join(f"off,1GB,{100 + n}.5\non,2GB,{110 + n}.5\n" for n in range(10))
    judgement = judged_text(f"arm,shared_buffers,tps\n{rows}", **RANDOM)
    assert verdict(judgement) == "faster"
    assert first_doubt(judgement).seen == "shared_buffers is 1GB in off and 2GB in on"


def test_a_warm_up_among_the_runs_is_a_cell_of_its_own_length() -> None:
    arms = [summary(8, 700.5, 10) + summary(8, 1000.5 + arm) for arm in range(2)]
    judgement = judged_text(*arms)
    assert "conditions differ" in doubts(judgement) or only(judgement).details.paired


def test_failures_in_logs_of_intervals_are_a_doubt() -> None:
    judgement = judged(
        "ok=agg_ok_1.log", "bad=agg_bad_1.log", "ok=agg_ok_2.log", "bad=agg_bad_2.log"
    )
    assert "errors or retries differ" in doubts(judgement)


def test_failures_in_columns_are_a_doubt() -> None:
    judgement = judged("tps_err.csv")
    seen = [t.seen for t in only(judgement).threats if t.name == "errors or retries differ"]
    assert seen == [
        "216000 failures or retries are counted in 12 rows of pg17, and 24 in 12 of pg16"
    ]
    rows = "".join(f"off,{100 + n}.5,3,1000\non,{101 + n}.5,90,1000\n" for n in range(8))
    of_all = judged_text(f"arm,tps,failed,transactions\n{rows}")
    assert any("720 of 8000" in threat.seen for threat in only(of_all).threats)


def test_results_of_which_virtual_users_failed_are_refused() -> None:
    error = refused("a=hdb_vu8.txt", "b=hdb_failed.txt")
    assert "virtual users failed" in error.primary
    assert "Leave this run out" in str(error.hint)


def fio_output(iops: float, **options: str) -> str:
    side = {"iops": iops, "bw_bytes": 4096 * iops, "io_bytes": 4e6, "total_ios": 1000}
    job = {"jobname": "a", "error": 0, "job options": {"rw": "randread"} | options}
    output = {"fio version": "fio-3.33", "jobs": [job | {"read": side | {"runtime": 1000}}]}
    return json.dumps(output)


@pytest.mark.parametrize(
    ("option", "value", "explains"),
    [
        ("bs", "64k", True),
        ("rw", "randwrite", True),
        ("iodepth", "32", True),
        ("numjobs", "4", True),
        ("fsync", "1", True),
        ("ioengine", "io_uring", False),
        ("direct", "1", False),
        ("runtime", "30", False),
    ],
)
def test_another_load_of_fio_explains_a_difference(option: str, value: str, explains: bool) -> None:
    judgement = judged_text(fio_output(900), fio_output(800, **{option: value}))
    (threat,) = [one for one in only(judgement).threats if one.name == "conditions differ"]
    assert threat.invalidates is explains
    assert f"{option} is " in threat.seen
