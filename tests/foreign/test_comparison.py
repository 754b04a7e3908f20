"""Files and arms come together on one metric in one unit, or it is said why they cannot."""

from __future__ import annotations

from typing import Any

import pytest

from foreign.reading import GOLDEN
from steelyard.foreign.comparison import Comparison, Options, compare
from steelyard.foreign.formats import read_sheet
from steelyard.foreign.metric_choice import in_two_units
from steelyard.foreign.series import Grain, Order, Rows, Series, TransactionCounts
from steelyard.foreign.source import open_source, source_of
from steelyard.model.errors import NumbersError, UsageError

WIDE = "off,on,new\n10,11,12\n13,14,15\n"


def compared(*files: tuple[str | None, str], **asked: Any) -> Comparison:
    """The comparison of texts, each with the arm it was said to hold."""
    sheets = [
        (arm, read_sheet(source_of(text.encode(), f"{n}.txt")))
        for n, (arm, text) in enumerate(files)
    ]
    return compare(sheets, Options(**asked))


def values_of(comparison: Comparison) -> dict[str, list[float]]:
    """Arm → values, control first."""
    return {arm.arm: arm.values.tolist() for arm in comparison.arms}


def test_the_first_arm_is_the_control_unless_another_is_named() -> None:
    assert compared((None, WIDE), unit="s").control.arm == "off"
    named = compared((None, WIDE), unit="s", control="new")
    assert list(values_of(named)) == ["new", "off", "on"]
    with pytest.raises(UsageError, match='there is no arm "newer"') as refused:
        compared((None, WIDE), unit="s", control="newer")
    assert refused.value.hint == 'There are "off", "on", "new".'


@pytest.mark.parametrize(
    ("asked", "metric", "unit", "higher"),
    [
        ({"unit": "ms"}, "time", "ms", False),
        ({"unit": "tps"}, "throughput", "transactions/s", True),
        ({"metric": "tps"}, "throughput", "transactions/s", True),
        ({"metric": "latency", "unit": "s"}, "latency_mean", "s", False),
        ({"metric": "score", "higher_is_better": True}, "score", "", True),
        ({"unit": "furlongs", "higher_is_better": False}, "value", "furlongs", False),
        ({"unit": "s", "higher_is_better": True}, "time", "s", True),
    ],
)
def test_what_the_numbers_are_can_be_said(
    asked: dict[str, Any], metric: str, unit: str, higher: bool
) -> None:
    found = compared((None, WIDE), **asked).metric
    assert (found.name, found.unit, found.higher_is_better) == (metric, unit, higher)


def test_a_direction_that_nobody_knows_is_asked_for() -> None:
    with pytest.raises(UsageError, match="cannot tell whether higher or lower") as refused:
        compared((None, WIDE))
    assert "--lower-is-better" in str(refused.value.hint)


def test_files_are_named_arms_or_called_after_their_files() -> None:
    both = compared(("off", "tps\n1\n2\n"), ("on", "tps\n3\n4\n"))
    assert values_of(both) == {"off": [1, 2], "on": [3, 4]}
    assert (both.rows, both.order) == (Rows.APART, Order.UNKNOWN)
    assert list(values_of(compared((None, "tps\n1\n"), (None, "tps\n3\n")))) == ["0", "1"]


def test_several_files_of_an_arm_are_its_repetitions() -> None:
    found = compared(
        ("off", "tps\n1\n"), ("on", "tps\n3\n"), ("off", "tps\n2\n"), ("on", "tps\n4\n")
    )
    assert values_of(found) == {"off": [1, 2], "on": [3, 4]}


def test_a_run_of_slices_counts_as_one_repetition_beside_others() -> None:
    progress = open_source(GOLDEN / "pgbench_progress.txt").text
    found = compared(("off", progress), ("off", progress), ("on", progress), ("on", progress))
    assert values_of(found)["on"] == pytest.approx([25539.1, 25539.1])
    assert all(arm.grain is Grain.REPETITION for arm in found.arms)
    assert "every file of off counts as one repetition: its total" in found.notes
    alone = compared(("off", progress), ("on", progress))
    assert all(arm.grain is Grain.SLICE for arm in alone.arms)


def test_times_are_converted_and_other_units_must_agree() -> None:
    found = compared(("off", "time_ms\n1000\n2000\n"), ("on", "time_s\n1\n2\n"))
    assert values_of(found) == {"off": [1000, 2000], "on": [1000, 2000]}
    with pytest.raises(
        NumbersError, match=r'holds throughput in NOPM, "0\.txt" throughput in tran'
    ):
        compared(("off", "tps\n1\n"), ("on", "NOPM\n1\n"))
    with pytest.raises(
        NumbersError, match=r'"1\.txt" holds latency mean in ms, "0\.txt" throughput'
    ):
        compared(("off", "tps\n1\n"), ("on", "latency_ms\n1\n"))


def test_a_metric_is_chosen_among_several() -> None:
    text = "arm,tps,latency_ms\noff,100,5\non,110,4\n"
    assert compared((None, text)).metric.name == "throughput"
    assert values_of(compared((None, text), metric="latency")) == {"off": [5], "on": [4]}
    assert values_of(compared((None, text), metric="ms")) == {"off": [5], "on": [4]}
    with pytest.raises(UsageError, match='no metric "price"'):
        compared((None, text), metric="price")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([(None, "tps\n1\n2\n")], '"0.txt" holds one arm: there is nothing to compare it with'),
        ([("on", "tps\n1\n2\n")], 'there is one arm, "on": nothing to compare it with'),
        ([("a", "tps\n1\n"), ("a", "tps\n2\n")], 'there is one arm, "a"'),
        ([("a", WIDE), ("b", WIDE)], '"0.txt" holds several arms: "new", "off", "on"'),
    ],
)
def test_what_cannot_be_compared_is_refused(files: list[tuple[str | None, str]], said: str) -> None:
    with pytest.raises(NumbersError, match=said):
        compared(*files, higher_is_better=True)


RUNS = "arm,tps,latency_ms\noff,100,5\non,110,4\n"


def test_a_unit_chooses_the_metric_that_can_be_in_it() -> None:
    found = compared((None, RUNS), unit="ms")
    assert (found.metric.name, found.metric.unit) == ("latency_mean", "ms")
    assert compared((None, RUNS), unit="tps").metric.name == "throughput"
    summary = open_source(GOLDEN / "pgbench_summary.txt").text
    assert compared(("a", summary), ("b", summary), unit="ms").metric.higher_is_better is False


@pytest.mark.parametrize(
    ("text", "asked", "said"),
    [
        (RUNS, {"unit": "s"}, "throughput in transactions/s and latency mean in ms: not in s"),
        (RUNS, {"unit": "ms", "metric": "tps"}, "holds throughput in transactions/s: not in ms"),
        (RUNS, {"unit": "s", "higher_is_better": False}, "latency mean in ms: not in s"),
        ("off (ms),on (ms)\n1,2\n", {"unit": "s"}, "holds time in ms: not in s"),
        ("rate_off,rate_on\n1,2\n", {"unit": "ms"}, "holds throughput: not in ms"),
        ("off,on\n1 ms,2 ms\n", {"unit": "tps"}, "holds time in ms: not in tps"),
    ],
)
def test_a_unit_does_not_override_what_a_file_says(
    text: str, asked: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        compared((None, text), **asked)
    assert said in refused.value.primary
    assert "--unit" in str(refused.value.hint)


def test_what_became_of_transactions_is_known_where_every_file_of_an_arm_says_so() -> None:
    def text(failed: int) -> str:
        counts = "number of transactions actually processed: 90\nnumber of failed transactions: "
        return f"{counts}{failed} (1%)\ntps = 9.0\n"

    found = compared(("a", text(10)), ("a", text(5)), ("b", text(0)), ("b", "tps = 9.0\n"))
    assert found.outcomes == {"a": TransactionCounts(195, 15)}


def test_throughput_with_the_time_to_connect_is_another_metric() -> None:
    with_it = "latency average = 1 ms\ntps = 5.5 (including reconnection times)\n"
    without = "latency average = 1 ms\ntps = 5.5 (without initial connection time)\n"
    with pytest.raises(NumbersError, match=r'"0\.txt" counts the time to connect in its tps, "1'):
        compared(("a", with_it), ("b", without))
    assert compared(("a", with_it), ("b", with_it)).metric.name == "throughput"
    assert compared(("a", with_it), ("b", without), metric="latency").metric.unit == "ms"
    assert compared(("a", with_it), ("b", "tps = 5.5\n")).metric.name == "throughput"


def test_units_mixed_without_a_word_are_noticed_by_their_size() -> None:
    rows = "off,on\n0.991,1001\n1.010,979\n945,961\n0.932,987\n"
    with pytest.raises(NumbersError) as refused:
        compared((None, rows), metric="time")
    assert refused.value.primary == (
        '"0.txt" line 4, column 1: mixed units: 945 and 0.991 are about a thousand times apart'
    )
    between = "off,on\n0.991,1001\n1.010,979\n0.945,961\n"
    with pytest.raises(NumbersError, match='mixed units: "on" and "off" are about a thousand'):
        compared((None, between), metric="time")
    assert values_of(compared((None, rows), unit="s"))["off"][2] == 945


def test_two_units_are_two_tight_clusters_a_thousand_times_apart() -> None:
    def of(*values: float) -> int | None:
        return in_two_units(Series("", _array(values)).values)

    assert of(1, 1.2, 990, 1.1) == 2
    assert of(1000, 1.2, 990) == 1
    assert of(1, 1.2, 90, 1.1) is None
    assert of(1, 30, 990, 9000) is None
    assert of(5) is None
    assert of(5, 5, 5) is None


def _array(values: Any) -> Any:
    import numpy as np

    return np.array(values, dtype=float)


def test_loads_are_known_where_clients_rate_and_latency_are() -> None:
    text = "arm,clients,tps,latency_ms\noff,256,879.99,267.49\non,256,853.61,271.27\n"
    points = compared((None, text)).operating_points
    assert points["off"].clients == 256
    assert points["off"].latency_s == pytest.approx(0.26749)
    bare = "arm,tps,latency_ms\noff,879.99,267.49\non,853.61,271.27\n"
    assert compared((None, bare)).operating_points == {}
    assert compared((None, bare), clients=256).operating_points == points
    assert compared((None, bare), metric="latency", clients=256).operating_points == points


def test_the_order_of_files_is_read_from_their_times() -> None:
    def log(start: int) -> str:
        return "".join(f"0 {n} 500 0 {start + n} 0\n" for n in range(40))

    t = 1_700_000_000
    apart = [("a", log(t)), ("a", log(t + 100)), ("b", log(t + 200)), ("b", log(t + 300))]
    assert compared(*apart).order is Order.SEQUENTIAL
    turns = [("a", log(t)), ("b", log(t + 100)), ("b", log(t + 200)), ("a", log(t + 300))]
    assert compared(*turns).order is Order.ALTERNATING
    assert compared(("a", log(t)), ("b", log(t + 20))).order is Order.UNKNOWN
    assert compared(("a", log(t)), ("b", log(t + 100))).order is Order.SEQUENTIAL
    assert compared(*apart, order=Order.RANDOM).order is Order.RANDOM


def test_files_stand_in_the_order_of_their_times_or_in_none() -> None:
    def log(start: int, microseconds: int) -> str:
        return "".join(f"0 {n} {microseconds} 0 {start + n} 0\n" for n in range(40))

    t = 1_700_000_000
    shuffled = [("a", log(t + 300, 700)), ("a", log(t, 500)), ("b", log(t + 100, 600))]
    dated = compared(*shuffled)
    assert dated.no_order == ""
    assert values_of(dated)["a"] == pytest.approx([500, 700])
    bare = [("a", "tps\n10\n"), ("a", "tps\n2\n"), ("b", "tps\n3\n"), ("b", "tps\n4\n")]
    assert compared(*bare).no_order.startswith("nothing says in which order the files")
    assert compared(*bare, order=Order.UNKNOWN).no_order != ""
    for told in (Order.ALTERNATING, Order.SEQUENTIAL):
        assert compared(*bare, order=told).no_order == ""
    alone = compared(("a", "tps\n10\n11\n"), ("b", "tps\n2\n3\n"))
    assert alone.no_order == ""


def test_rows_with_names_are_in_the_order_of_measuring_only_where_the_user_says_so() -> None:
    named = "query,off,on\nq1,10,11\nq2,20,21\nq3,5,6\n"
    assert compared((None, named), unit="s").no_order.startswith("rows are named")
    assert compared((None, named), unit="s", order=Order.RANDOM).no_order != ""
    assert compared((None, named), unit="s", order=Order.ALTERNATING).no_order == ""
    listed = "query,arm,s\nq1,off,10\nq1,on,11\nq2,off,20\nq2,on,21\n"
    assert compared((None, listed)).no_order.startswith("rows are named")
    assert compared((None, listed.replace("query", "block").replace("q", ""))).no_order == ""
    counted = "rep,off,on\n1,10,11\n2,20,21\n3,5,6\n"
    assert compared((None, counted), unit="s").no_order == ""


@pytest.mark.parametrize("count", [100, 101])
def test_more_than_a_hundred_arms_are_refused_however_they_are_written(count: int) -> None:
    heads = [f"arm{number}x" for number in range(count)]
    rows = [",".join(f"{100 + (k * 37 + n * 11) % 17:.2f}" for n in range(count)) for k in range(8)]
    text = "\n".join([",".join(heads), *rows]) + "\n"
    if count > 100:
        with pytest.raises(UsageError, match="101 arms: more than 100"):
            compared((None, text), unit="ms")
    else:
        assert len(compared((None, text), unit="ms").arms) == count
