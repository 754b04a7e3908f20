"""Under a target of YCSB latency is judged, and what its command line asks for is compared."""

from __future__ import annotations

import pytest

from foreign.judged_files import doubts, judged_text, percent, verdict
from foreign.judged_files import only as only_contrast
from foreign.reading import assert_values, only, sheet_of
from steelyard.foreign.metric import LATENCY, THROUGHPUT
from steelyard.foreign.series import Order, TransactionCounts
from steelyard.foreign.tools.measured_runs import FIXED_RATE

COMMAND = "Command line: -t -db site.ycsb.db.JdbcClient -P workloads/workloada"


def summary(rate: float, read: float, update: float, *, command: str = "") -> str:
    return (
        f"{command}\n[OVERALL], RunTime(ms), 60000\n[OVERALL], Throughput(ops/sec), {rate}\n"
        f"[READ], Operations, 300\n[READ], AverageLatency(us), {read}\n[READ], Return=OK, 300\n"
        "[CLEANUP], Operations, 8\n[CLEANUP], AverageLatency(us), 9000.5\n"
        f"[UPDATE], Operations, 100\n[UPDATE], AverageLatency(us), {update}\n"
        "[UPDATE], 99thPercentileLatency(us), 5000\n"
    )


@pytest.mark.parametrize(
    ("options", "rated"),
    [
        ("", False),
        (" -threads 8", False),
        (" -target 0", False),
        (" -target 1000 -threads 8", True),
        (" -threads 8 -p target=1000", True),
    ],
)
@pytest.mark.parametrize(
    "command", [COMMAND, "/usr/bin/java -cp lib/a.jar site.ycsb.Client -t -db x -P a/workloada"]
)
def test_under_a_target_the_mean_of_all_operations_comes_first(
    command: str, options: str, *, rated: bool
) -> None:
    text = "".join(summary(1000.5, read, 900, command=command + options) for read in (400, 440))
    sheet = sheet_of(text)
    names = [metric.name for metric, _ in sheet.metrics]
    assert (FIXED_RATE in sheet.notes) is rated
    if rated:
        assert names[:2] == [LATENCY, f"read:{LATENCY}"]
        assert_values(only(sheet), [525, 555])
    else:
        assert names[:2] == [THROUGHPUT, f"read:{LATENCY}"]
    assert names.index(f"cleanup:{LATENCY}") > names.index("update:latency_p99")


def test_arms_at_one_rate_differ_in_their_latency() -> None:
    def runs(scale: float) -> str:
        return "".join(
            summary(
                1000 + k / 7, scale * (400 + k * k), 900 * scale, command=f"{COMMAND} -target 1000"
            )
            for k in range(12)
        )

    assert verdict(judged_text(runs(1), runs(2), order=Order.RANDOM)) == "slower"


@pytest.mark.parametrize(
    ("there", "here", "differ"),
    [
        ("-threads 8", "-threads 64", True),
        ("-threads 8", "-p threadcount=64", True),
        ("-threads 8", "-p threadcount=8", False),
        ("-P a/workloada", "-P b/workloadb", True),
        ("-P a/workloada", "-P /tmp/workloada", False),
        ("-target 500", "-target 1000", True),
        ("-p recordcount=1000", "-p recordcount=9000", True),
        ("-p db.url=jdbc:a -p db.passwd=x", "-p db.url=jdbc:b -p db.passwd=y", False),
    ],
)
def test_the_load_that_a_command_line_asks_for_is_compared(
    there: str, here: str, *, differ: bool
) -> None:
    texts = [
        "".join(
            summary(500 + k / 7, 400 + k, 900, command=f"Command line: -t -db x {options}")
            for k in range(8)
        )
        for options in (there, here)
    ]
    judgement = judged_text(*texts, order=Order.RANDOM)
    assert ("conditions differ" in doubts(judgement)) is differ
    assert (verdict(judgement) == "invalid") is differ


def test_passwords_of_a_command_line_are_no_conditions() -> None:
    text = summary(500, 400, 900, command=f"{COMMAND} -p db.passwd=secret -p recordcount=9")
    values = [value for factor in only(sheet_of(text)).factors for value in factor.values]
    assert "9" in values
    assert not any("secret" in value for value in values)


def test_a_failure_counts_once_and_the_order_of_the_first_lines_does_not_matter() -> None:
    text = (
        "[OVERALL], Throughput(ops/sec), 5.5\n[OVERALL], RunTime(ms), 9\n[READ], Operations, 90\n"
    )
    failed = text + "[READ], Return=ERROR, 9\n[READ-FAILED], Operations, 9\n"
    assert sheet_of(failed).outcomes == {"": TransactionCounts(99, 9)}
    assert_values(only(sheet_of(text + text.replace("5.5", "6.5"))), [5.5, 6.5])


def test_loading_and_running_are_two_loads_without_a_command_line() -> None:
    """`ycsb` writes its command line to the standard error, which `> a.txt` does not keep."""

    def loading(rate: float) -> str:
        text = summary(rate, 400, 900).replace("[UPDATE]", "[INSERT]")
        return "".join(line for line in text.splitlines(True) if not line.startswith("[READ]"))

    def both(scale: float) -> str:
        return "".join(
            loading(scale * (9000 + k * 7 % 9)) + summary(scale * (1000 + k * 5 % 9), 400, 900)
            for k in range(9)
        )

    sheet = sheet_of(both(1.01))
    factors = {factor.name: factor.values for factor in only(sheet).factors}
    assert factors["operations"] == ("insert", "read, update") * 9
    judgement = judged_text(both(1.013), both(1.111), order=Order.RANDOM)
    assert only_contrast(judgement).details.paired
    assert percent(judgement) == pytest.approx(100 * (1.111 / 1.013 - 1), abs=0.01)
    runs = "".join(summary(1000.5 + k, 400, 900) for k in range(9))
    loads = "".join(loading(9000.5 + k) for k in range(9))
    assert verdict(judged_text(runs, loads, order=Order.RANDOM)) == "invalid"
