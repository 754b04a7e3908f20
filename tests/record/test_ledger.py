"""A ledger keeps what it was told, machine by machine, through crashes and new beginnings."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from steelyard.model.errors import RecordError
from steelyard.record.environment import MachineFacts
from steelyard.record.epoch import LedgerBalance
from steelyard.record.ledger import Ledger, LedgerLine, LedgerMachine

HERE = LedgerMachine(hostname="a", architecture="x86_64", processor="p", processors=2)
THERE = HERE.model_copy(update={"hostname": "b"})


def add(
    ledger: Ledger,
    machine: LedgerMachine,
    weighing: str,
    first: int,
    d: list[float | None],
    **facts: Any,
) -> None:
    """One line of a weighing."""
    ledger.add(
        LedgerLine(
            type="weighing", machine=machine, weighing=weighing, first_epoch=first, d=tuple(d),
            s0=0.01, study="aa", **facts,
        )
    )  # fmt: skip


CLOSED = LedgerBalance(
    e_value=123.0, weighings=1, largest_e_value=123.0, off_balance=True, ledgers=1,
    skipped_lines=0, path="ledger.jsonl",
)  # fmt: skip


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "records" / "ledger.jsonl")


def test_a_ledger_that_was_never_told_is_empty_and_leaves_no_file(ledger: Ledger) -> None:
    page = ledger.page(HERE)
    assert (page.readings, page.begun, page.skipped) == ((), 1, 0)
    assert not ledger.path.parent.exists()


def test_what_was_told_comes_back_in_order(ledger: Ledger) -> None:
    add(ledger, HERE, "w1", 0, [0.01, None, -0.02])
    add(ledger, HERE, "w2", 0, [0.03])
    first, second = ledger.page(HERE).readings
    assert (first.weighing, first.first, first.end, first.s0) == ("w1", 0, 3, 0.01)
    assert first.d[0] == 0.01
    assert math.isnan(first.d[1])
    assert second.d == (0.03,)


def test_a_line_can_be_read_by_a_person(ledger: Ledger) -> None:
    add(ledger, HERE, "w1", 0, [0.01], e_value=1.5)
    line = json.loads(ledger.path.read_text())
    assert line["machine"] == HERE.model_dump()
    assert (line["study"], line["e_value"], line["d"]) == ("aa", 1.5, [0.01])
    assert line["at"].endswith("Z")


def test_every_machine_has_a_page_of_its_own(ledger: Ledger) -> None:
    add(ledger, HERE, "w1", 0, [0.01])
    add(ledger, THERE, "w2", 0, [0.02])
    assert [told.weighing for told in ledger.page(HERE).readings] == ["w1"]
    assert [told.weighing for told in ledger.page(THERE).readings] == ["w2"]


def test_a_restart_or_another_kernel_is_the_same_machine(ledger: Ledger) -> None:
    machine = MachineFacts(hostname="a", kernel="6.1", boot_id="x", processors=2)
    add(ledger, LedgerMachine.of(machine), "w1", 0, [0.01])
    started_anew = machine.model_copy(update={"kernel": "6.9", "boot_id": "y"})
    assert len(ledger.page(LedgerMachine.of(started_anew)).readings) == 1


def test_epochs_told_twice_count_once_and_later_ones_are_added(ledger: Ledger) -> None:
    add(ledger, HERE, "w1", 0, [0.01, 0.02])
    add(ledger, HERE, "w1", 0, [0.01, 0.02])
    assert ledger.page(HERE).known == {"w1": 2}
    add(ledger, HERE, "w1", 2, [0.03])
    assert [told.d for told in ledger.page(HERE).readings] == [(0.01, 0.02), (0.03,)]
    assert ledger.page(HERE).known == {"w1": 3}


def test_a_new_ledger_keeps_the_old_lines_and_counts_them_no_more(ledger: Ledger) -> None:
    add(ledger, HERE, "w1", 0, [0.01])
    add(ledger, THERE, "w2", 0, [0.02])
    ledger.begin_anew(HERE, CLOSED)
    page = ledger.page(HERE)
    assert (page.readings, page.begun) == ((), 2)
    assert page.known == {"w1": 1}, "what was told to the old one is not told to the new one"
    assert len(ledger.page(THERE).readings) == 1
    assert len(ledger.path.read_text().splitlines()) == 3


@pytest.mark.parametrize(
    "torn",
    [
        '{"type": "weighing", "at": "2026-',
        "[1, 2]",
        '{"type": "weighing", "machine": {}, "weighing": "w", "first_epoch": 0, "d": 3, "s0": 1}',
        '{"type": "weighing", "machine": {}, "weighing": "w", "first_epoch": 0, "d": [], "s0": 0}',
        "\x00\x00\x00",
    ],
)
def test_a_line_torn_by_a_crash_is_skipped_counted_and_kept_apart(
    ledger: Ledger, torn: str
) -> None:
    add(ledger, HERE, "w1", 0, [0.01])
    with ledger.path.open("a") as stream:
        stream.write(torn)  # no newline: the process died
    add(ledger, HERE, "w2", 0, [0.02])
    page = ledger.page(HERE)
    assert [told.weighing for told in page.readings] == ["w1", "w2"]
    assert page.skipped == 1
    assert torn in ledger.path.read_text()


def test_a_ledger_that_cannot_be_read_is_an_error_and_not_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="could not read the ledger"):
        Ledger(tmp_path).page(HERE)
