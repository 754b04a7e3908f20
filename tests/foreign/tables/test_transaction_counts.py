"""What became of each arm's transactions, where a table has a column an arm."""

from __future__ import annotations

import random

import pytest

from foreign.reading import sheet_of

CAUSES = {"errors", "failed", "retries"}
HEADS = [
    (["off_tps", "off_errors", "on_tps", "on_errors"], ("off_tps", "on_tps"), 0),
    (["tps_off", "failed_off", "tps_on", "failed_on"], ("tps_off", "tps_on"), 0),
    (["off_tps", "on_tps", "off_failed", "off_retries", "on_failed"], ("off_tps", "on_tps"), 0),
    (
        [
            *("run", "off_tps", "off_transactions", "off_failed"),
            *("on_tps", "on_transactions", "on_failed"),
        ],
        ("off_tps", "on_tps"),
        12 * 30_000,
    ),
    (
        ["off_tps", "off_latency_ms", "off_errors", "on_tps", "on_latency_ms", "on_errors"],
        ("off", "on"),
        0,
    ),
]


def cell(heading: str, row: int) -> str:
    on = "on" in heading.split("_")
    if heading == "run":
        return str(row + 1)
    if "transactions" in heading:
        return "30000"
    if CAUSES & {*heading.split("_")}:
        return str(200 + row if on else row % 2)
    return f"{1000 + random.Random(f'{heading} {row}').random():.3f}"


def table(headings: list[str]) -> str:
    rows = [",".join(cell(heading, row) for heading in headings) for row in range(12)]
    return "\n".join([",".join(headings), *rows]) + "\n"


@pytest.mark.parametrize(("headings", "arms", "tried"), HEADS, ids=lambda value: str(value)[:40])
def test_failures_are_of_the_arm_that_their_heading_names(
    headings: list[str], arms: tuple[str, str], tried: int
) -> None:
    control, arm = (sheet_of(table(headings)).outcomes[name] for name in arms)
    counted = sum("off" in name and bool(CAUSES & {*name.split("_")}) for name in headings)
    assert (control.troubled, arm.troubled) == (6 * counted, 12 * 200 + sum(range(12)))
    assert (control.tried, arm.tried) == (tried, tried)


@pytest.mark.parametrize(
    ("headings", "share"),
    [
        (["off_tps", "on_tps", "off_error_rate", "on_error_rate"], '"error rate"'),
        (["off_tps", "off_failed_pct", "on_tps", "on_failed_pct"], '"failed pct"'),
    ],
)
def test_shares_of_two_arms_are_under_one_heading(headings: list[str], share: str) -> None:
    outcomes = sheet_of(table(headings)).outcomes
    assert {arm: [*outcome.shares] for arm, outcome in outcomes.items()} == {
        "off_tps": [share],
        "on_tps": [share],
    }


@pytest.mark.parametrize(
    "headings",
    [
        ["off_tps", "on_tps"],
        ["off_tps", "on_tps", "errors"],
        ["off tps", "off failed", "off new tps", "off new failed"],
    ],
)
def test_failures_of_no_arm_are_counted_for_none(headings: list[str]) -> None:
    assert sheet_of(table(headings)).outcomes == {}
