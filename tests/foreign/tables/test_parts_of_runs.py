"""Requests, iterations and threads of one run are parts of it, whatever tells them apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from foreign.judged_files import RANDOM, doubts, judged_text, percent, verdict
from steelyard.foreign.judgement.judgement import Judgement
from steelyard.foreign.series import Grain


def grains(judgement: Judgement) -> set[Grain]:
    return {arm.grain for arm in judgement.comparison.arms}


def counts(judgement: Judgement) -> list[int]:
    return [len(arm.values) for arm in judgement.comparison.arms]


STARTS: list[tuple[str, Callable[[float], str]]] = [
    ("start_time", lambda s: f"{1.7e9 + s:.3f}"),
    ("start_time", lambda s: f"{1.7e12 + 1e3 * s:.0f}"),
    ("start_ms", lambda s: f"{1e3 * s:.1f}"),
    ("start", lambda s: f"{s:.4f}"),
    ("started_at", lambda s: f"2026-11-21T14:{int(s) // 60:02d}:{s % 60:06.3f}"),
]


def started(heading: str, form: Callable[[float], str], step: float, files: int) -> list[str]:
    rng = np.random.default_rng(1)
    rows = [
        [
            f"{form(start + at)},{latency:.3f}"
            for at, latency in zip(
                np.cumsum(rng.exponential(step, 60)), rng.lognormal(level, 0.3, 60), strict=True
            )
        ]
        for start, level in ((0, 2.3), (600, 2.2))
    ]
    if files == 2:
        return ["\n".join([f"{heading},latency_ms", *arm]) + "\n" for arm in rows]
    named = [f"{arm},{row}" for arm, part in zip("ab", rows, strict=True) for row in part]
    return ["\n".join([f"arm,{heading},latency_ms", *named]) + "\n"]


@pytest.mark.parametrize(("heading", "form"), STARTS)
@pytest.mark.parametrize("files", [1, 2])
def test_requests_that_say_when_they_started_are_parts_of_a_run(
    heading: str, form: Callable[[float], str], files: int
) -> None:
    judgement = judged_text(*started(heading, form, 0.02, files), **RANDOM)
    assert grains(judgement) == {Grain.SLICE}
    assert verdict(judgement) == "inconclusive"
    apart = judged_text(*started(heading, form, 5, files), **RANDOM)
    assert grains(apart) == {Grain.REPETITION}


@pytest.mark.parametrize("heading", ["order", "seq", "started", "position"])
def test_starts_that_are_only_counted_date_no_requests(heading: str) -> None:
    texts = [
        f"{heading},latency_ms\n" + "".join(f"{n},{level + n * 7 % 5}.5\n" for n in range(1, 31))
        for level in (10, 20)
    ]
    assert grains(judged_text(*texts, **RANDOM)) == {Grain.REPETITION}


def nested(outer: str, inner: str, files: int, runs: int = 5, iterations: int = 20) -> list[str]:
    """Iterations that scatter little in each run, and runs that scatter."""
    rows = [
        [
            f"{run},{n},{level * (1 + run * 3 % 5 / 100) + (n * 37 % 101 + run * 1.7) / 1000:.5f}"
            for run in range(1, runs + 1)
            for n in range(iterations)
        ]
        for level in (100, 104)
    ]
    if files == 2:
        return ["\n".join([f"{outer},{inner},ms", *arm]) + "\n" for arm in rows]
    named = [f"{arm},{row}" for arm, part in zip("ab", rows, strict=True) for row in part]
    return ["\n".join([f"arm,{outer},{inner},ms", *named]) + "\n"]


@pytest.mark.parametrize(
    ("outer", "inner"),
    [("run", "iteration"), ("fork", "iteration"), ("trial", "rep"), ("run_id", "iter")],
)
@pytest.mark.parametrize("files", [1, 2])
def test_iterations_of_a_run_count_as_one(outer: str, inner: str, files: int) -> None:
    judgement = judged_text(*nested(outer, inner, files), **RANDOM)
    assert counts(judgement) == [5, 5]
    assert percent(judgement) == pytest.approx(4, abs=0.2)
    assert any("taken together" in note for note in judgement.comparison.notes)


@pytest.mark.parametrize(("outer", "inner"), [("run", "row"), ("step", "rep"), ("iteration", "no")])
def test_counters_of_other_things_number_no_runs(outer: str, inner: str) -> None:
    judgement = judged_text(*nested(outer, inner, 2), **RANDOM)
    assert not any("taken together" in note for note in judgement.comparison.notes)


def test_one_run_of_many_iterations_and_iterations_of_queries_stay_as_they_are() -> None:
    judgement = judged_text(*nested("run", "iteration", 2, runs=1), **RANDOM)
    assert counts(judgement) == [20, 20]
    rows = "".join(
        f"{arm},{run},{n},Q{query},{query * 100 + run + n / 10 + k}\n"
        for k, arm in enumerate("ab")
        for run in range(1, 6)
        for query in range(1, 4)
        for n in range(4)
    )
    mixed = judged_text(f"arm,run,iteration,query,ms\n{rows}", **RANDOM)
    assert not any("taken together" in note for note in mixed.comparison.notes)


def side_by_side(heading: str, off: list[str], on: list[str], files: int) -> list[str]:
    arms = [
        [f"{name},{level + n * 37 % 101 / 10:.1f}" for n, name in enumerate(names)]
        for level, names in ((1000, off), (1100, on))
    ]
    if files == 2:
        return ["\n".join([f"{heading},tps", *arm]) + "\n" for arm in arms]
    named = [f"{arm},{row}" for arm, part in zip("ab", arms, strict=True) for row in part]
    return ["\n".join([f"arm,{heading},tps", *named]) + "\n"]


WORKERS = [
    ("thread_id", [str(n) for n in range(16)]),
    ("worker_id", [f"w{n}" for n in range(16)]),
    ("client_id", [str(n + 1) for n in range(16)]),
    ("tid", [str(4000 + 7 * n) for n in range(16)]),
    ("thread", [str(n) for n in range(16)]),
    ("worker", [f"worker-{n}" for n in range(16)]),
    ("connection_id", [str(n) for n in range(16)]),
]


@pytest.mark.parametrize(("heading", "names"), WORKERS)
@pytest.mark.parametrize("files", [1, 2])
def test_threads_of_one_run_are_no_repetitions(heading: str, names: list[str], files: int) -> None:
    judgement = judged_text(*side_by_side(heading, names, names, files), **RANDOM)
    assert grains(judgement) == {Grain.SLICE}
    assert "one run per arm" in doubts(judgement)
    assert verdict(judgement) == "inconclusive"


@pytest.mark.parametrize(
    ("heading", "off", "on"),
    [
        ("thread_id", ["1", "2"] * 8, ["1", "2"] * 8),
        ("worker_id", ["7"] * 16, ["8"] * 16),
        ("threads", [str(n) for n in range(1, 17)], [str(n) for n in range(1, 17)]),
        ("client", [str(2**n) for n in range(8)], [str(2**n) for n in range(8)]),
        ("connection_id", [str(90 + n) for n in range(16)], [str(190 + n) for n in range(16)]),
        ("pid", [str(4000 + n) for n in range(16)], [str(4100 + n) for n in range(16)]),
        ("test_id", [str(n) for n in range(16)], [str(n) for n in range(16)]),
    ],
)
def test_names_of_other_things_leave_rows_repetitions(
    heading: str, off: list[str], on: list[str]
) -> None:
    judgement = judged_text(*side_by_side(heading, off, on, 1), **RANDOM)
    assert grains(judgement) == {Grain.REPETITION}


def test_a_worker_a_run_is_a_repetition() -> None:
    rows = "".join(
        f"{arm},{n},w{n},{level + n * 7 % 5}.5\n"
        for n in range(10)
        for arm, level in (("a", 1000), ("b", 1100))
    )
    judgement = judged_text(f"arm,run,worker_id,tps\n{rows}", **RANDOM)
    assert grains(judgement) == {Grain.REPETITION}


@pytest.mark.parametrize("interleaved", [False, True])
def test_a_nameless_column_that_counts_all_rows_is_an_index_and_no_clock(interleaved: bool) -> None:
    rows = [("off", 1000 + k * 7 % 5) for k in range(8)] + [("on", 1030 + k) for k in range(8)]
    rows = [rows[n // 2 + 8 * (n % 2)] for n in range(16)] if interleaved else rows
    lines = [f"{number},{arm},{value}" for number, (arm, value) in enumerate(rows)]
    text = "\n".join([",arm,tps", *lines]) + "\n"
    assert verdict(judged_text(text, **RANDOM)) == "faster"
    called = judged_text(text.replace(",arm", "id,arm", 1), **RANDOM)
    assert percent(judged_text(text, **RANDOM)) == percent(called)


def test_a_nameless_column_that_begins_anew_in_each_arm_is_no_index() -> None:
    lines = [f"{k},{arm},{1000 + k * 7 % 5 + n}" for n, arm in enumerate(("off", "on"))
             for k in range(8)]  # fmt: skip
    text = "\n".join([",arm,tps", *lines]) + "\n"
    assert verdict(judged_text(text, **RANDOM)) == "inconclusive", "seconds of two runs, perhaps"
