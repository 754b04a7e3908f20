"""Steps of a parameter are told from what was measured by how they come again, and what they
explain."""

from __future__ import annotations

import numpy as np
import pytest

from foreign.judged_files import RANDOM, judged_text, only, percent, verdict
from steelyard.foreign.tables.steps import are_requested


def noise(n: int) -> float:
    return 1 + n % 5 / 2000


def sweep(arm: str, factor: float, counts: tuple[int, ...], unit: str = "") -> str:
    """Rows at 1, 4, 16, 64 …, where four times as much is twice as fast."""
    return "".join(
        f"{arm},{4**step},{1000 * 2**step * factor * noise(n * 7 + len(arm)):.2f}{unit}\n"
        for step, count in enumerate(counts)
        for n in range(count)
    )


@pytest.mark.parametrize("heading", ["gizmo", "stripes", "queue_depth", "threads"])
@pytest.mark.parametrize("unit", ["", " MB/s"])
def test_a_sweep_is_compared_step_by_step(heading: str, unit: str) -> None:
    head = f"arm,{heading},{'bandwidth' if unit else 'iops'}\n"
    unequal = head + sweep("off", 1, (6, 3, 2, 2), unit) + sweep("on", 1, (2, 2, 3, 6), unit)
    judgement = judged_text(unequal, **RANDOM)
    assert percent(judgement) == pytest.approx(0, abs=0.15)
    assert only(judgement).epochs == 4
    equal = head + sweep("off", 1, (3, 3, 3, 3), unit) + sweep("on", 1.05, (3, 3, 3, 3), unit)
    judgement = judged_text(equal, **RANDOM)
    assert percent(judgement) == pytest.approx(5, abs=0.2)
    assert verdict(judgement) == "faster"


def test_a_parameter_is_judged_where_it_is_asked_for() -> None:
    text = "arm,gizmo,iops\n" + sweep("off", 1, (3, 3, 3, 3)) + sweep("on", 1.05, (3, 3, 3, 3))
    judgement = judged_text(text, **RANDOM)
    assert judgement.reading is not None
    assert judgement.reading.others == ("gizmo",)
    asked = judged_text(text, metric="gizmo", higher_is_better=True, **RANDOM)
    assert asked.comparison.metric.column == "gizmo"


def covariate(heading: str, scale: int = 1) -> list[str]:
    """A text an arm of latencies, and what was measured beside them, which explains them: the
    second arm is a tenth slower by it."""
    draws = [np.random.default_rng(n).lognormal(0, 0.2, 600) for n in (3, 4)]
    return [
        f"{heading},latency_ms\n"
        + "".join(f"{scale * max(round(x - n % 2), 1)},{scale * x:.3f}\n" for n, x in enumerate(xs))
        for xs in (8 * draws[0], 8.8 * draws[1])
    ]


@pytest.mark.parametrize(("heading", "scale"), [("gizmo", 1), ("dblatency", 1), ("dblatency", 40)])
@pytest.mark.parametrize("files", [1, 2])
def test_what_rounding_leaves_of_a_measurement_is_no_step(
    heading: str, scale: int, files: int
) -> None:
    texts = covariate(heading, scale)
    if files == 1:
        head, *rows = texts[0].splitlines()
        both = [f"a,{row}" for row in rows] + [f"b,{r}" for r in texts[1].splitlines()[1:]]
        texts = ["\n".join([f"arm,{head}", *both]) + "\n"]
    judgement = judged_text(*texts, **RANDOM)
    assert percent(judgement) == pytest.approx(10, abs=2)
    assert not judgement.comparison.row_names
    assert judgement.reading is not None
    assert heading in judgement.reading.others


@pytest.mark.parametrize("steps", ["1234", "3456", "01", "12", "345"])
def test_neighbours_that_come_equally_often_are_steps(steps: str) -> None:
    def rows(arm: str, levels: str, factor: float) -> str:
        lines = enumerate(levels * 4)
        return "".join(
            f"{arm},{x},{900 * factor * 1.4 ** int(x) + n * 7 % 17 / 9:.3f}\n" for n, x in lines
        )

    judgement = judged_text(f"arm,gizmo,tps\n{rows('a', steps, 1)}{rows('b', steps, 1.05)}")
    assert only(judgement).details.paired
    assert percent(judgement) == pytest.approx(5, abs=0.3)
    fewer = judged_text(f"arm,gizmo,tps\n{rows('a', steps, 1)}{rows('b', steps[1:], 1)}", **RANDOM)
    assert percent(fewer) == pytest.approx(0, abs=0.3)
    note = f"rows of a that another arm lacks were left out: gizmo {steps[0]}"
    assert note in fewer.comparison.notes


def unequal(heading: str, levels: tuple[str, ...], files: int) -> list[str]:
    """Six rows at every level, of which the second arm lacks the first one."""
    rows = [
        (arm, x, f"{900 * 2.2**step * noise(n * 7 + step + arm):.2f}")
        for n in range(6)
        for step, x in enumerate(levels)
        for arm in (0, 1)
        if not (arm and step == 0)
    ]
    if files == 1:
        return [f"arm,{heading},tps\n" + "".join(f"{'ab'[a]},{x},{y}\n" for a, x, y in rows)]
    return [
        f"{heading},tps\n" + "".join(f"{x},{y}\n" for a, x, y in rows if a == arm) for arm in (0, 1)
    ]


OTHER_STEPS = [
    *(("load", ("8", "16", "32")), ("load", ("8 clients", "16 clients", "32 clients"))),
    *(("block size", ("4k", "8k", "64k")), ("record size", ("512", "4KB", "1MB"))),
    *(
        ("bytes", ("512", "4096", "65536")),
        ("bloat %", ("50", "20", "0")),
        ("cpu", ("2", "4", "8")),
    ),
    *(("bloat", ("0%", "20 %", "50 %")), ("inserts", ("1", "10", "100"))),
    *(
        ("alpha", ("0.5", "0.9", "1.2")),
        ("alpha", ("0.8", "0.9", "1.0")),
        ("gain", ("1", "2", "3")),
    ),
]


@pytest.mark.parametrize(("heading", "levels"), OTHER_STEPS)
@pytest.mark.parametrize("files", [1, 2])
def test_steps_under_words_of_other_things_are_compared_each_with_its_own(
    heading: str, levels: tuple[str, ...], files: int
) -> None:
    judgement = judged_text(*unequal(heading, levels, files), **RANDOM)
    assert percent(judgement) == pytest.approx(0, abs=0.2)
    assert (only(judgement).details.paired, only(judgement).epochs) == (True, 12)
    assert any(f"left out: {heading} " in note for note in judgement.comparison.notes)


@pytest.mark.parametrize("heading", ["cpu", "load", "pages", "overhead", "wait"])
def test_what_was_measured_beside_is_no_step(heading: str) -> None:
    head, *rows = covariate(heading)[0].splitlines()
    both = [f"a,{r}" for r in rows] + [f"b,{r}" for r in covariate(heading)[1].splitlines()[1:]]
    judgement = judged_text("\n".join([f"arm,{head}", *both]) + "\n", **RANDOM)
    assert percent(judgement) == pytest.approx(10, abs=2)
    assert not judgement.comparison.row_names


@pytest.mark.parametrize("heading", ["allocs", "pages", "gizmo", "queue"])
def test_what_follows_from_the_query_was_measured(heading: str) -> None:
    rows = "".join(
        f"{arm},Q{q},{4**q * (2 - k)},{9.5 * 3**q * (1 - k / 10) * noise(n * 7 + q + k):.4f}\n"
        for n in range(4)
        for q in range(5)
        for k, arm in enumerate(("off", "on"))
    )
    judgement = judged_text(f"arm,query,{heading},ms\n{rows}", **RANDOM)
    assert (only(judgement).details.paired, only(judgement).epochs) == (True, 20)
    assert percent(judgement) == pytest.approx(-10, abs=0.2)
    assert judgement.comparison.row_names[:2] == ("Q0", "Q0")


@pytest.mark.parametrize("heading", ["batch", "session", "epoch"])
@pytest.mark.parametrize("levels", [("1", "10", "100"), ("8", "16", "32"), ("4k", "8k", "1M")])
@pytest.mark.parametrize("files", [1, 2])
def test_sizes_of_a_load_are_no_blocks(heading: str, levels: tuple[str, ...], files: int) -> None:
    judgement = judged_text(*unequal(heading, levels, files), **RANDOM)
    assert percent(judgement) == pytest.approx(0, abs=0.2)
    assert (only(judgement).details.paired, only(judgement).epochs) == (True, 12)
    assert any(f"left out: {heading} {levels[0]}" in note for note in judgement.comparison.notes)


@pytest.mark.parametrize("sessions", ["1234", "12", "3456"])
def test_sessions_that_are_counted_are_blocks_however_far_apart(sessions: str) -> None:
    rows = "".join(
        f"{arm},{s},{900 * 1.2 ** int(s) * (1 + k / 20) * noise(n * 7 + k):.2f}\n"
        for s in sessions
        for n in range(9)
        for k, arm in enumerate(("off", "on"))
    )
    judgement = judged_text(f"arm,session,tps\n{rows}", **RANDOM)
    assert only(judgement).epochs == len(sessions)
    assert percent(judgement) == pytest.approx(5, abs=0.2)


def at_rates(heading: str, metric: str, levels: tuple[str, ...], files: int) -> list[str]:
    """Latencies that grow with a rate, a fifth longer in the second arm."""
    rows = [
        [
            f"{block},{level},{factor * float(level) * (1 + (37 * block + 11 * k) % 97 / 2e4):.3f}"
            for block in range(8)
            for level in levels
        ]
        for k, factor in enumerate((1, 1.2))
    ]
    if files == 2:
        return ["\n".join([f"block,{heading},{metric}", *arm]) + "\n" for arm in rows]
    named = (f"{arm},{row}" for arm, part in zip("ab", rows, strict=True) for row in part)
    return ["\n".join([f"arm,block,{heading},{metric}", *named]) + "\n"]


@pytest.mark.parametrize("heading", ["qps", "rate", "rps", "tps", "throughput"])
@pytest.mark.parametrize("metric", ["p99_ms", "latency_ms"])
@pytest.mark.parametrize(
    "levels", [("1000", "5000"), ("100.0", "250.0", "500.0"), ("10", "12", "20", "40")]
)
@pytest.mark.parametrize("files", [1, 2])
def test_a_rate_that_was_swept_is_no_measurement(
    heading: str, metric: str, levels: tuple[str, ...], files: int
) -> None:
    judgement = judged_text(*at_rates(heading, metric, levels, files), **RANDOM)
    assert judgement.comparison.metric.column == metric
    assert percent(judgement) == pytest.approx(20, abs=0.5)
    assert f"{heading} {levels[0]}" in judgement.comparison.row_names[0]


@pytest.mark.parametrize(
    ("off", "on", "expected"),
    [
        (["1000", "5000"], ["5000", "1000"], True),
        (["0.5", "1.0", "2.0"], ["0.5", "1.0", "2.0"], True),
        (["1000", "5000"], ["1000", "6000"], False),  # not the same in both arms
        (["1003", "5007"], ["1003", "5007"], False),  # not round
        (["1000", "1001"], ["1000", "1001"], False),  # what rounding leaves
        (["12000", "13000"], ["12000", "13000"], False),
        (["1000", "1000", "1000", "5000"], ["1000", "5000", "5000", "5000"], False),
        (["1000"], ["1000"], False),
    ],
)
def test_rates_that_were_asked_for_are_round_and_the_same_in_all_arms(
    off: list[str], on: list[str], expected: bool
) -> None:
    assert are_requested([off * 6, on * 6]) is expected


def test_a_measured_rate_beside_a_latency_is_judged() -> None:
    rows = "".join(
        f"{arm},{1000 * factor + n * 7 % 11}.5,{10 / factor + n * 37 % 11 / 50:.3f}\n"
        for n in range(12)
        for arm, factor in (("off", 1), ("on", 2))
    )
    assert judged_text(f"arm,qps,p99_ms\n{rows}", **RANDOM).comparison.metric.column == "qps"
