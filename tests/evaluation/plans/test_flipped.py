"""A flip is told beside the time of its statement."""

from __future__ import annotations

from evaluation.made import MakeEpoch
from steelyard.evaluation.plans.flips import Timed, flipped
from steelyard.record.environment import Inspection
from steelyard.record.verdict import Query, Statement

INDEX = "Index Scan using t_pkey on t\n  Index Cond: (id = $1)"
SEQ = "Seq Scan on t\n  Filter: (id = $1)"
SELECT, UPDATE = "mix: SELECT n FROM t WHERE id = $1", "mix: UPDATE t SET n = n + $1 WHERE id = $2"


def inspection_of(control: dict[str, str], arm: dict[str, str]) -> Inspection:
    return Inspection(
        compared=1, statements=len(control), writes=False, arms={},
        plans={"on": control, "off": arm},
    )  # fmt: skip


def statement(name: str, arm: str = "off") -> Statement:
    return Statement(
        statement=name, arm=arm, control="on", estimate_percent=50.0, low_percent=40.0,
        high_percent=60.0, confidence=0.95, control_us=100.0, arm_us=150.0,
    )  # fmt: skip


def test_a_flip_stands_beside_the_time_of_its_statement() -> None:
    found = inspection_of({SELECT: INDEX, UPDATE: INDEX}, {SELECT: SEQ, UPDATE: INDEX})
    rows = [statement("mix:3 SELECT n FROM t WHERE id = :id;"), statement("mix:2 BEGIN;")]
    [one] = flipped(found, "on", "off", Timed([], rows, []))
    assert one.statement == SELECT
    assert one.flips == ("Index Scan on t by t_pkey → Seq Scan on t",)
    assert one.time is not None
    assert (one.time.of, one.time.control_us, one.time.arm_us) == ("statement", 100.0, 150.0)
    assert (one.time.low_percent, one.time.high_percent) == (40.0, 60.0)


def test_the_time_of_a_query_that_is_a_slice_of_its_own_is_its_statements() -> None:
    query = Query(
        query="mix", excluded=False, arm="off", control="on", estimate_percent=50.0,
        low_percent=40.0, high_percent=60.0, confidence=0.95, control_ms=1.0, arm_ms=1.5,
        control_unfinished=0, arm_unfinished=0,
    )  # fmt: skip
    [one] = flipped(
        inspection_of({SELECT: INDEX}, {SELECT: SEQ}), "on", "off", Timed([], [], [query])
    )
    assert one.time is not None
    assert (one.time.of, one.time.control_us, one.time.arm_us) == ("script", 1000.0, 1500.0)
    both = inspection_of({SELECT: INDEX, UPDATE: INDEX}, {SELECT: SEQ, UPDATE: INDEX})
    [untimed] = flipped(both, "on", "off", Timed([], [], [query]))
    assert untimed.time is None
    assert "time" not in untimed.to_json()


def test_a_transaction_of_one_statement_has_its_time(make_epoch: MakeEpoch) -> None:
    epochs = [make_epoch(n, transactions={"off": 800 - n}).totals for n in range(10)]
    [one] = flipped(
        inspection_of({SELECT: INDEX}, {SELECT: SEQ}), "on", "off", Timed(epochs, [], [])
    )
    assert one.time is not None
    assert one.time.of == "transaction"
    assert one.time.arm_us > one.time.control_us > 0


def test_arms_that_plan_alike_have_no_flip() -> None:
    timed = Timed([], [], [])
    assert flipped(inspection_of({SELECT: INDEX}, {SELECT: INDEX}), "on", "off", timed) == []
    assert (
        flipped(
            inspection_of({SELECT: INDEX}, {SELECT: INDEX.replace("$1", "1")}), "on", "off", timed
        )
        == []
    )
    assert flipped(inspection_of({SELECT: INDEX}, {}), "on", "off", timed) == []
