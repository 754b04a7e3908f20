"""A payment moves money between two accounts of two banks, however many banks there are."""

from __future__ import annotations

import re

import pytest

from steelyard._core import script_statements
from steelyard.workloads.reading.folder import find_workload

SCRIPTS = [("payment", "postgres"), ("payment-pipelined", "postgres"), ("payment", "mysql")]
_PAID = re.compile(r"transfer_funds\((\d+), (\d+), (\d+), (\d+),")
_DRAWN = re.compile(r"^\\set (payer|payee) random.*\n", re.MULTILINE)
"""In its place the accounts are given."""
_ANSWERS = {"card_balance": "1000000", "transfer": "1", "transfers": "0", "client_id": "0"}


@pytest.mark.parametrize("banks", [2, 3, 7, 9, 27, 50, 333, 999, 1000])
@pytest.mark.parametrize(("name", "kind"), SCRIPTS)
def test_nobody_pays_at_the_own_bank_or_to_itself(name: str, kind: str, banks: int) -> None:
    workload = find_workload("reserva", {"banks": banks}, kind)
    text, drawn = _DRAWN.subn("", workload.script(name).text())
    assert drawn == 2
    values = {key: str(value) for key, value in workload.variables(1).items()}
    for payee in (1, 2, 500, 999, 1000):
        for payer in {1, 2, 999, 1000, payee, (payee + banks - 1) % 1000 + 1}:
            given = {**values, **_ANSWERS, "payer": str(payer), "payee": str(payee)}
            sent = script_statements(name, text, given, dialect=kind)
            [paid] = [match for each in sent if (match := _PAID.search(each))]
            _, payer_paid, payee_paid, asking = map(int, paid.groups())
            assert payer_paid == payer
            assert 1 <= payee_paid <= 1000
            assert (payee_paid - payer) % banks, (payer, payee, payee_paid)
            assert asking == (payee_paid - 1) % banks + 1
