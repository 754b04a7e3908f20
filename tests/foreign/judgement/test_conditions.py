"""What was asked of the arms is compared, and a load that differs explains any difference."""

from __future__ import annotations

import json

import pytest

from foreign.judged_files import RANDOM, doubts, judged, judged_text, only, refused, verdict
from steelyard.evaluation.threats.numbers import (
    ConditionsDiffer,
    DifferingCondition,
    UnequalFailureCounts,
    UnequalOutcomes,
)
from steelyard.foreign.judgement.judgement import Judgement


def differing(judgement: Judgement) -> ConditionsDiffer:
    (conditions,) = [t for t in only(judgement).threats if isinstance(t, ConditionsDiffer)]
    return conditions


@pytest.mark.parametrize(
    ("files", "values"),
    [
        (
            ["off=c8.txt", "on=c16.txt"],
            {
                "script": ("<builtin: TPC-B (sort of)>", "<builtin: select only>"),
                "scale": ("100", "300"),
                "mode": ("simple", "prepared"),
                "clients": ("8", "16"),
            },
        ),
        (["a=hdb_vu8.txt", "b=hdb_vu16.txt"], {"virtual users": ("8", "16")}),
        (["clients_by_arm.csv"], {"clients": ("8", "16"), "scale": ("100", "1000")}),
    ],
)
def test_a_load_that_differs_makes_the_verdict_invalid(
    files: list[str], values: dict[str, tuple[str, str]]
) -> None:
    judgement = judged(*files, **RANDOM)
    assert verdict(judgement) == "invalid"
    threat = only(judgement).threats[0]
    assert threat == differing(judgement)
    assert (threat.name, threat.invalidates) == ("conditions differ", True)
    explaining = [c for c in differing(judgement).conditions if c.explains]
    assert explaining == [
        DifferingCondition(name, (of_control,), (of_arm,), explains=True)
        for name, (of_control, of_arm) in values.items()
    ]


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
    duration = DifferingCondition("duration", ("60 s",), ("30 s",), explains=False)
    assert only(judgement).threats[0] == ConditionsDiffer("b", "a", (duration,))


def test_settings_of_the_arms_are_named_and_leave_the_verdict() -> None:
    rows = "".join(f"off,1GB,{100 + n}.5\non,2GB,{110 + n}.5\n" for n in range(10))
    judgement = judged_text(f"arm,shared_buffers,tps\n{rows}", **RANDOM)
    assert verdict(judgement) == "faster"
    buffers = DifferingCondition("shared_buffers", ("1GB",), ("2GB",), explains=False)
    assert only(judgement).threats[0] == ConditionsDiffer("on", "off", (buffers,))


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
    counted = UnequalFailureCounts("pg17", "pg16", (216_000, 24), (12, 12))
    assert counted in only(judgement).threats
    rows = "".join(f"off,{100 + n}.5,3,1000\non,{101 + n}.5,90,1000\n" for n in range(8))
    of_all = judged_text(f"arm,tps,failed,transactions\n{rows}")
    unequal = UnequalOutcomes("on", "off", (720, 24), (8_000, 8_000))
    assert unequal in only(of_all).threats


def test_results_of_which_virtual_users_failed_are_refused() -> None:
    error = refused("a=hdb_vu8.txt", "b=hdb_failed.txt")
    assert "virtual users failed" in error.primary
    assert "Leave this run out" in str(error.hint)


def test_values_that_a_file_holds_are_cut_short_and_printable() -> None:
    rows = "".join(f"off,{'x' * 50},{100 + n}.5\non,a\x1b[1mb,{101 + n}.5\n" for n in range(8))
    (condition,) = differing(judged_text(f"arm,shape,tps\n{rows}", **RANDOM)).conditions
    assert condition.of_control == ("x" * 39 + "…",)
    assert condition.of_arm == ("a\N{REPLACEMENT CHARACTER}[1mb",)


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
    threat = differing(judgement)
    assert threat.invalidates is explains
    (condition,) = threat.conditions
    assert (condition.name, condition.explains) == (option, explains)
