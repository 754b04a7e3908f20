"""Every statement of a log is counted once: the shares of all outcomes add up to the log."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.workloads.capturing.entries import read_entries
from steelyard.workloads.capturing.ledger import CaptureLedger, StatementOutcome
from steelyard.workloads.capturing.mix import Mix, mix_of
from steelyard.workloads.capturing.statements import statements
from steelyard.workloads.capturing.transactions import transactions
from steelyard.workloads.capturing.writing import choose_kinds
from workloads.capturing.drawn_log import WRITTEN, cut_last, draw_log, write_log


def captured(paths: list[Path], database: str | None = None) -> Mix:
    ledger = CaptureLedger()
    return mix_of(transactions(statements(read_entries(paths), ledger, database)), ledger=ledger)


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(sorted(WRITTEN)),
    files=st.integers(1, 3),
    is_cut=st.booleans(),
)
def test_of_a_drawn_log_every_statement_has_its_true_outcome(
    seed: int, kind: str, files: int, is_cut: bool
) -> None:
    drawn = draw_log(seed)
    if is_cut:
        cut_last(drawn)
    with tempfile.TemporaryDirectory() as folder:
        paths = write_log(drawn, Path(folder), kind, files, is_cut=is_cut)
        mix = captured(paths)
    chosen, ledger = choose_kinds(mix, writes=False, most=999)
    assert +ledger.statements == +drawn.statements
    for outcome, ms in drawn.ms.items():
        assert ledger.seconds[outcome] == pytest.approx(ms / 1000), outcome
    ledger.require_balance()
    assert mix.statements == drawn.statements.total() == ledger.total
    of_kinds = sum(kind.count * len(kind.shapes) for kind in chosen)
    assert of_kinds == drawn.statements[StatementOutcome.CAPTURED]


def test_a_statement_without_outcome_is_noticed() -> None:
    ledger = CaptureLedger(read=2)
    ledger.enter(StatementOutcome.CAPTURED)
    with pytest.raises(RuntimeError, match="1 outcomes for 2 statements"):
        ledger.require_balance()
    ledger.enter(StatementOutcome.FAILED)
    ledger.require_balance()
