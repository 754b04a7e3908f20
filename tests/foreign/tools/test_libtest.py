"""Lines of `cargo bench` are repetitions of their benchmarks, whatever the range behind them."""

from __future__ import annotations

import pytest

from foreign.judged_files import RANDOM, judged_text, percent, verdict
from foreign.reading import assert_values, only, refusal, sheet_of
from steelyard.foreign.formats import format_of
from steelyard.foreign.metric import THROUGHPUT, TIME, Metric
from steelyard.foreign.source import source_of


def lines(level: float) -> str:
    """Two benchmarks, measured five times each, with what cargo prints around them."""
    text = "     Running benches/tree.rs (target/release/deps/tree-1)\n\nrunning 2 tests\n"
    for n in range(5):
        for name, time in (("tree::get", 910), ("tree::put 8 B", 2870)):
            text += (
                f"test {name:<14} ... bench: {time * level * (1 + n / 400 + n * n / 3e4):12,.2f} "
                f"ns/iter (+/- {30 + n}.5)\n"
            )
    return text + "\ntest result: ok. 0 passed; 0 failed; 0 ignored; 2 measured; 0 filtered out\n"


def test_a_line_is_one_repetition_of_its_benchmark() -> None:
    assert format_of(source_of(lines(1).encode(), "f")) == "libtest"
    judgement = judged_text(lines(1), lines(1.05), **RANDOM)
    comparison = judgement.comparison
    assert (comparison.metric, comparison.metric.column) == (Metric(TIME, "ns", False), "ns/iter")
    assert [len(arm.values) for arm in comparison.arms] == [10, 10]
    assert (verdict(judgement), percent(judgement)) == ("slower", pytest.approx(5.0, abs=0.01))


@pytest.mark.parametrize(
    ("line", "values", "metric"),
    [
        ("test a ... bench:         910 ns/iter (+/- 12)", [910], Metric(TIME, "ns", False)),
        ("test a ... bench:   1,234,567 ns/iter (+/- 1,002)", [1234567], Metric(TIME, "ns", False)),
        (
            "test a ... bench:       1,090.51 ns/iter (+/- 1.5)",
            [1090.51],
            Metric(TIME, "ns", False),
        ),
        ("test g/a/8 ... bench: 12 us/iter (+/- 1)", [12], Metric(TIME, "µs", False)),
    ],
)
def test_commas_stand_between_thousands(line: str, values: list[float], metric: Metric) -> None:
    sheet = sheet_of(f"{line}\n")
    assert sheet.metrics[0][0] == metric
    assert_values(only(sheet), values)


def test_bytes_a_second_stand_behind_the_time() -> None:
    sheet = sheet_of("test a ... bench:   1,090 ns/iter (+/- 12) = 1,085 MB/s\n")
    assert [metric for metric, _ in sheet.metrics] == [
        Metric(TIME, "ns", False),
        Metric(THROUGHPUT, "MB/s", True),
    ]
    assert_values(only(sheet, 1), [1085])


def test_a_benchmark_that_failed_is_refused() -> None:
    text = "test a ... bench:   90 ns/iter (+/- 1)\ntest tree::put ... FAILED\n"
    assert 'line 2, column 1: a benchmark failed: "tree::put"' in refusal(text)


@pytest.mark.parametrize(
    "text",
    ["test,bench\na,910\nb,870\n", "test a 910 ns\ntest b 870 ns\n", "bench: 5 ns\nbench: 6 ns\n"],
)
def test_what_is_called_a_test_elsewhere_is_a_table(text: str) -> None:
    assert format_of(source_of(text.encode(), "f")) == "csv"
