"""The ready questions are weighed as they are, where their arms can be had; else they say how."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from underway import Underway

pytestmark = [pytest.mark.postgres, pytest.mark.long]

Start = Callable[..., Underway]
SHORT = ("--budget", "20s")
SMALL = ("--set", "workload.scale=1", "--set", "budget.slice=50ms", "--set", "layout=slices")
DEBIAN = Path("/usr/lib/postgresql/15/bin/postgres")
OF_15 = ("--set", "control.version=15")


def weigh(start: Start, *arguments: str) -> dict[str, Any]:
    weighing = start("record", *arguments, *SHORT)
    assert weighing.end() == 0, weighing.said
    assert weighing.verdict["differences"]["undeclared"] == []
    return weighing.verdict


def declared(verdict: dict[str, Any]) -> set[str]:
    return {name for name, *_ in verdict["differences"]["declared"]}


@pytest.mark.parametrize(
    ("study", "more", "differs"),
    [
        ("io-method", ("--set", "workload.scale=1"), {"io_method", "io_workers"}),
        ("autovacuum", SMALL, {"autovacuum"}),
        (
            "log-min-duration",
            SMALL,
            {
                "log_min_duration_statement",
                "log_min_duration_sample",
                "log_statement_sample_rate",
            },
        ),
        ("fillfactor", SMALL, {"sql"}),
    ],
)
def test_a_question_of_settings_and_tables_is_weighed_on_the_bundled_build(
    start: Start, study: str, more: tuple[str, ...], differs: set[str]
) -> None:
    verdict = weigh(start, study, *more)
    assert declared(verdict) == differs
    assert all(one["verdict"] != "invalid" for one in verdict["contrasts"])


def test_partitions_flip_a_plan_and_are_an_arms_own_data(start: Start) -> None:
    verdict = weigh(start, "partitions", *SMALL)
    assert declared(verdict) == {"sql"}
    [one] = verdict["plans"]
    [flip] = one["flips"]
    assert flip == ("Index Scan on pgbench_accounts by pgbench_accounts_pkey → Append of 64 scans")
    assert one["time"]["of"] == "transaction"


@pytest.mark.skipif(not DEBIAN.is_file(), reason="Debian's PostgreSQL 15 is not installed")
@pytest.mark.parametrize(
    ("study", "arms", "more"),
    [
        ("pg-stat-statements", ("on",), SMALL),
        ("auto-explain", ("analyze", "no-timing", "plan-only"), SMALL),
        ("default-toast-compression", ("lz4",), SMALL),
        ("ssl", ("tls",), SMALL),
    ],
)
def test_a_question_that_needs_a_fuller_build_is_weighed_on_one(
    start: Start, study: str, arms: tuple[str, ...], more: tuple[str, ...]
) -> None:
    several = len(arms) > 1
    versions = [
        word for arm in arms for word in ("--set", f"arm.{arm + '.' if several else ''}version=15")
    ]
    verdict = weigh(start, study, *OF_15, *versions, *more)
    assert {one["arm"] for one in verdict["contrasts"]} == set(arms)


def test_clients_are_driven_through_a_pooler(start: Start) -> None:
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    if shutil.which("pgbouncer", path=path) is None:
        pytest.skip("PgBouncer is not installed (Debian: apt-get install pgbouncer)")
    verdict = weigh(start, "pooler", *SMALL)
    assert declared(verdict) == {"pooler"}


def test_each_transaction_has_a_connection_of_its_own_through_a_pooler(start: Start) -> None:
    if shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
        pytest.skip("PgBouncer is not installed (Debian: apt-get install pgbouncer)")
    verdict = weigh(start, "pooler", *SMALL, "--set", "workload.reconnect=true")
    assert all(one["verdict"] != "invalid" for one in verdict["contrasts"])


def test_an_old_pgbouncer_is_refused_prepared_statements_by_its_version(
    start: Start, tmp_path: Path
) -> None:
    old = tmp_path / "pgbouncer"
    old.write_text("#!/bin/sh\necho PgBouncer 1.18.0\n")
    old.chmod(0o755)
    for place in (tmp_path, *tmp_path.parents[:3]):
        place.chmod(place.stat().st_mode | 0o011)
    weighing = start(
        "record", "pooler", "--set", "workload.mode=prepared", "--set",
        f'arm.pooler={{ name = "pgbouncer", program = "{old}" }}',
    )  # fmt: skip
    assert weighing.end() == 3
    assert "PgBouncer 1.18 keeps no prepared statements" in weighing.said
    assert "workload.mode=extended" in weighing.said


@pytest.mark.parametrize(
    ("study", "why", "how"),
    [
        ("jit", "was built without LLVM", "--with-llvm"),
        ("ssl", "was built without OpenSSL", "steelyard engines add 18.4"),
        ("default-toast-compression", "was built without lz4", "Debian's and PGDG's packages"),
        ("pg-stat-statements", "has no contrib", "steelyard engines add 18.4"),
        ("auto-explain", "has no contrib", "steelyard engines add 18.4"),
    ],
)
def test_a_question_whose_arms_cannot_be_had_says_how(
    start: Start, study: str, why: str, how: str
) -> None:
    weighing = start("record", study)
    assert weighing.end() == 3
    assert why in weighing.said
    assert how in weighing.said
