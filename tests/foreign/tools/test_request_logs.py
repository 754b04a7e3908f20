"""More requests of a fast kind are no gain: each kind counts alike, and so does its absence."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreign.judged_files import doubts, judged_text, verdict
from foreign.reading import only, sheet_of
from steelyard.foreign.comparison import Options, compare, total_of
from steelyard.foreign.formats import read_sheet
from steelyard.foreign.judgement.judge_numbers import judge_numbers
from steelyard.foreign.judgement.judgement import Judgement
from steelyard.foreign.metric import LATENCY, THROUGHPUT
from steelyard.foreign.series import Grain, Order
from steelyard.foreign.source import SourceText, source_of
from steelyard.foreign.tools.request_logs import sheet_of_requests

MS = {"report": 400.0, "lookup": 20.0}


def log(kinds: Sequence[str], ms: dict[str, float], *, tool: str = "JMeter", seed: int = 0) -> str:
    """A log of requests of these kinds, one after the other."""
    draw, clock = random.Random(seed), 1.7e12 + seed * 1e8
    lines = []
    for kind in kinds:
        latency = ms[kind] * draw.uniform(0.9, 1.1)
        lines.append(
            LINES[tool].format(
                clock=clock,
                s=clock / 1e3,
                us=latency * 1e3,
                ms=latency,
                ns=latency * 1e6,
                nanos=int(clock * 1e6),
                kind=kind,
            )
        )
        clock += latency
    return HEADS[tool] + "".join(lines)


HEADS = {
    "JMeter": "timeStamp,elapsed,label,success\n",
    "k6": "metric_name,timestamp,metric_value,error,method,name,scenario,status\n",
    "BenchBase": "Transaction Type Index,Transaction Name,Start Time (microseconds),"
    "Latency (microseconds)\n",
    "vegeta": "",
    "pgbench": "",
}
LINES = {
    "JMeter": "{clock:.0f},{ms:.3f},{kind},true\n",
    "k6": "http_req_duration,{s:.3f},{ms:.3f},,GET,http://h/{kind},main,200\n",
    "BenchBase": "1,{kind},{s:.6f},{us:.0f}\n",
    "vegeta": "{nanos},200,{ns:.0f},0,12,,,atk,1,GET,http://h/{kind}\n",
    "pgbench": "0 1 {us:.0f} {kind} {s:.0f} 5\n",
}


def kinds(reports: int, lookups: int, *, tool: str = "JMeter", seed: int = 0) -> list[str]:
    names = (
        ["0"] * reports + ["1"] * lookups
        if tool == "pgbench"
        else (["report"] * reports + ["lookup"] * lookups)
    )
    random.Random(seed).shuffle(names)
    return names


def ms_of(tool: str, scale: float = 1.0) -> dict[str, float]:
    return {
        name: scale * value
        for name, value in zip(("0", "1") if tool == "pgbench" else MS, MS.values(), strict=True)
    }


def judged_logs(control: Sequence[str], arm: Sequence[str], metric: str | None = None) -> Judgement:
    sheets = [
        (name, read_sheet(source_of(text.encode(), f"{name}{n}"), alone=False))
        for name, texts in (("a", control), ("b", arm))
        for n, text in enumerate(texts)
    ]
    return judge_numbers(compare(sheets, Options(order=Order.RANDOM, metric=metric)))


@pytest.mark.parametrize("tool", HEADS)
@pytest.mark.parametrize(
    "shares", [((100, 100), (50, 150)), ((10, 10), (5, 15)), ((300, 40), (40, 300))]
)
def test_a_mix_of_more_fast_requests_is_no_gain(
    tool: str, shares: tuple[tuple[int, int], tuple[int, int]]
) -> None:
    totals = [
        total_of(only(sheet_of(log(kinds(*some, tool=tool), ms_of(tool), tool=tool))))
        for some in shares
    ]
    assert totals[1] / totals[0] == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("tool", HEADS)
def test_files_of_arms_with_other_mixes_say_nothing_false(tool: str) -> None:
    def files(reports: int, scale: float, first: int) -> list[str]:
        return [
            log(
                kinds(reports, 200 - reports, tool=tool, seed=k),
                ms_of(tool, scale),
                tool=tool,
                seed=first + k,
            )
            for k in range(10)
        ]

    mixed = judged_logs(files(100, 1, 0), files(50, 1, 50))
    assert verdict(mixed) in ("equivalent", "inconclusive")
    assert verdict(judged_logs(files(100, 1, 0), files(50, 1.2, 50))) == "slower"
    assert any("counts alike" in note for note in mixed.comparison.notes)


def test_a_kind_that_one_arm_lacks_is_another_load() -> None:
    alone = [log(["report"] * 60, MS, seed=k) for k in range(8)]
    other = [log(["lookup"] * 60, MS, seed=20 + k) for k in range(8)]
    both = [log(kinds(30, 30, seed=k), MS, seed=40 + k) for k in range(8)]
    for arm in (other, both):
        judgement = judged_logs(alone, arm)
        assert "conditions differ" in doubts(judgement)
        assert verdict(judgement) == "invalid"
    assert "conditions differ" not in doubts(
        judged_logs(both, [log(kinds(20, 40, seed=k), MS, seed=60 + k) for k in range(8)])
    )


def test_a_kind_that_is_there_by_chance_is_no_difference() -> None:
    usual = kinds(300, 300)
    rare = {**MS, "login": 900.0}

    def files(first: int) -> list[str]:
        return [
            log([*usual, *["login"] * (5 + 3 * (k % 4))], rare, seed=first + k) for k in range(8)
        ]

    judgement = judged_logs(files(0), [log(usual, MS, seed=90 + k) for k in range(8)])
    assert "conditions differ" not in doubts(judgement)
    assert "conditions differ" not in doubts(judged_logs(files(0), files(40)))


def test_the_same_requests_of_another_host_are_of_the_same_kinds() -> None:
    text = [log(kinds(50, 50, seed=k), MS, tool="k6", seed=k) for k in range(6)]
    other = [log(kinds(50, 50, seed=k), MS, tool="k6", seed=30 + k) for k in range(6)]
    moved = [some.replace("http://h/", "https://other:8443/") for some in other]
    assert "conditions differ" not in doubts(judged_logs(text, moved))


def test_the_mean_of_all_is_judged_where_it_is_named() -> None:
    def files(reports: int, scale: float, first: int) -> list[str]:
        return [
            log(
                kinds(reports, 200 - reports, seed=k),
                {n: v * scale for n, v in MS.items()},
                seed=first + k,
            )
            for k in range(10)
        ]

    control = files(100, 1, 0)
    pooled = judged_logs(control, files(50, 1, 50), metric="elapsed of all")
    assert verdict(pooled) == "faster"
    columns = [metric.column for metric, _ in sheet_of(control[0]).metrics]
    assert columns[:2] == ["elapsed", "elapsed of all"]


def test_latency_is_judged_before_throughput_also_where_it_has_a_heading() -> None:
    text = log(kinds(100, 100), MS)
    judgement = judged_text(text, log(kinds(100, 100, seed=1), MS, seed=1))
    assert judgement.comparison.metric.name == LATENCY
    assert THROUGHPUT in {metric.name for metric, _ in sheet_of(text).metrics}


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(1, 1e3)), min_size=10, max_size=60),
    st.permutations(range(3)),
)
def test_names_of_kinds_and_their_order_do_not_matter(
    rows: list[tuple[str, float]], names: list[int]
) -> None:
    def total(labels: Sequence[str]) -> float:
        latencies = np.array([latency for _, latency in rows])
        moments = np.arange(len(rows), dtype=np.float64)
        sheet = sheet_of_requests(
            SourceText("f", ""),
            "a log",
            latencies,
            moments,
            unit="ms",
            rate="requests/s",
            noun="requests",
            labels=labels,
        )
        return total_of(only(sheet))

    labels = [kind for kind, _ in rows]
    renamed = [str(names["abc".index(kind)]) for kind in labels]
    assert total(renamed) == pytest.approx(total(labels))
    counts = {kind: labels.count(kind) for kind in labels}
    if min(counts.values()) >= 5:
        means = [np.mean([ms for kind, ms in rows if kind == name]) for name in counts]
        assert total(labels) == pytest.approx(np.mean(means))


THREADS = "timeStamp,elapsed,label,success,allThreads\n"


def threaded(threads: Sequence[int], seed: int = 0) -> str:
    draw = random.Random(seed)
    return THREADS + "".join(
        f"{1.7e12 + seed * 1e8 + 50 * n:.0f},{draw.uniform(40, 44):.3f},a,true,{count}\n"
        for n, count in enumerate(threads)
    )


@pytest.mark.parametrize(
    ("there", "here", "kind"),
    [
        ([8] * 50, [64] * 50, "invalid"),
        ([1, 2, 4, *[8] * 47], [1, 3, *[8] * 48], ""),
        ([1, 2, 4, *[8] * 47], [1, 3, *[64] * 48], "invalid"),
        (list(range(1, 51)), list(range(2, 52)), "named"),
    ],
)
def test_threads_of_jmeter_are_a_condition(there: list[int], here: list[int], kind: str) -> None:
    judgement = judged_logs(
        [threaded(there, k) for k in range(8)], [threaded(here, 20 + k) for k in range(8)]
    )
    assert ("conditions differ" in doubts(judgement)) is bool(kind)
    assert (verdict(judgement) == "invalid") is (kind == "invalid")


HEAD = "metric_name,timestamp,metric_value,error,error_code,expected_response,name,status\n"


@pytest.mark.parametrize(
    ("cells", "failed"),
    [
        (",,true,a,200", 0),
        (",,true,a,404", 0),
        (",1404,true,a,404", 0),
        (",1500,false,a,500", 1),
        (",1500,,a,500", 1),
        (",,,a,500", 1),
        ("dial: refused,1212,false,a,0", 1),
        ("dial: refused,,,a,0", 1),
        (",,,a,302", 0),
    ],
)
def test_requests_of_k6_fail_by_what_was_expected_or_their_status(cells: str, failed: int) -> None:
    line = "http_req_duration,{},{:.3f},{}\n"
    rows = [line.format(1700820000 + n, 40 + n / 7, ",,true,a,200") for n in range(12)]
    text = HEAD + "".join(rows) + line.format(1700820020, 41.5, cells)
    outcome = sheet_of(text).outcomes[""]
    assert (outcome.tried, outcome.troubled) == (13, failed)


def ghz(level: float, seed: int, failed: int = 3, separator: str = ",") -> str:
    draw = random.Random(seed)
    rows = [(f"{level * draw.uniform(0.9, 1.1):.3f}", "OK", "") for _ in range(200)]
    rows += [("0.21", "Unavailable", '"rpc error: code = Unavailable"')] * failed
    lines = [separator.join(row) + "\n" for row in rows]
    return separator.join(("duration (ms)", "status", "error")) + "\n" + "".join(lines)


@pytest.mark.parametrize("separator", [",", ";"])
def test_requests_of_ghz_are_slices_in_the_order_of_the_log(separator: str) -> None:
    sheet = sheet_of(ghz(8, 1, separator=separator))
    assert only(sheet).grain is Grain.SLICE
    assert only(sheet).timestamps is None
    assert {metric.name for metric, _ in sheet.metrics} == {LATENCY}
    assert total_of(only(sheet)) == pytest.approx(8, rel=0.02)
    assert (sheet.outcomes[""].tried, sheet.outcomes[""].troubled) == (203, 3)
    assert verdict(judged_text(ghz(8, 1), ghz(9, 2))) == "inconclusive"
    runs = judged_logs([ghz(8, k) for k in range(8)], [ghz(9, 20 + k) for k in range(8)])
    assert verdict(runs) == "slower"


def test_durations_without_a_status_are_no_log_of_requests() -> None:
    sheet = sheet_of("duration (ms),error\n9.5,0\n9.75,0\n9.25,0\n")
    assert only(sheet).grain is Grain.REPETITION


def test_a_log_of_jmeter_is_read_alike_whatever_its_delimiter() -> None:
    head = "timeStamp,elapsed,label,success,Latency\n"
    rows = "".join(
        f"{1.7e12 + 50 * n:.0f},{40 + n % 7},Home,true,{18 + n % 5}\n" for n in range(60)
    )
    expected = sheet_of(head + rows)
    for delimiter in (";", "\t", "|"):
        sheet = sheet_of((head + rows).replace(",", delimiter))
        assert (sheet.form, sheet.metrics[0][0]) == (expected.form, expected.metrics[0][0])
        assert only(sheet).values.tolist() == only(expected).values.tolist()
