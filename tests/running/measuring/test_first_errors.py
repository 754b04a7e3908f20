"""What can never work is refused after the pilot; what failed by chance is not."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.model.errors import WeighingError
from steelyard.record.slice import SliceLine
from steelyard.running.measuring.driving import require_answers, require_work

MISSING = "function pay(integer) does not exist"


def _line(arm: str, done: int, wrong_rows: int = 0, **errors: int) -> SliceLine:
    messages = {"42883": MISSING, "40001": "could not serialize access"}
    seen = {state.removeprefix("s"): count for state, count in errors.items()}
    said = {state: messages.get(state, "") for state in seen}
    return SliceLine(
        epoch=-2, kind="pilot", block=0, position=0, clients=1, busy_ns=1, latency_sum_ns=1,
        arm=arm, transactions=done, errors=seen, error_messages=said, wrong_rows=wrong_rows,
    )  # fmt: skip


def test_a_missing_routine_is_refused_even_where_other_transactions_succeed() -> None:
    with pytest.raises(WeighingError) as caught:
        require_work([_line("on", 90), _line("off", 50, s42883=7), _line("off", 50, s42883=3)])
    assert caught.value.primary == f'the workload cannot work on arm "off": {MISSING}'
    assert "10 times" in str(caught.value.detail)


def test_failures_by_chance_are_let_pass_where_work_is_done() -> None:
    require_work([_line("on", 90, s40001=5), _line("off", 90)])


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([_line("on", 0, s40001=5)], 'SQLSTATE 40001: 5 times on arm "on" (could not serialize'),
        ([_line("on", 0)], "No error was reported"),
        ([], "No error was reported"),
    ],
)
def test_no_work_at_all_is_refused_with_what_was_said(lines: list[Any], told: str) -> None:
    with pytest.raises(WeighingError, match="no transaction succeeded") as caught:
        require_work(lines)
    assert told in str(caught.value.detail)


def test_work_that_is_used_up_on_every_arm_is_refused_and_on_one_arm_is_an_outcome() -> None:
    right, wrong = _line("off", 90), _line("off", 90, wrong_rows=7)
    require_answers([_line("on", 90), wrong, right])
    with pytest.raises(WeighingError, match="14 transactions of the pilot") as caught:
        require_answers([_line("on", 90, wrong_rows=7), wrong, right])
    assert "fewer blocks" in str(caught.value.hint)
