"""What an inspection tells of statements fits on a screen."""

from __future__ import annotations

import pytest

from steelyard.evaluation.threats.inspection import own_threats, shown_statements
from steelyard.record.environment import ArmInspection, Inspection


def test_few_statements_are_shown_whole() -> None:
    assert shown_statements(["q: SELECT 1;", "q: SELECT 2;"], {}) == "q: SELECT 1;; q: SELECT 2;"


def test_of_many_long_statements_the_first_are_shown_and_the_rest_counted() -> None:
    shown = shown_statements([f"delivery: SELECT {n} " + "x " * 400 for n in range(10)], {})
    assert shown.startswith("delivery: SELECT 0 x")
    assert shown.endswith("…; and 7 more")
    assert len(shown) < 600


def test_what_flipped_is_named_and_those_statements_come_first() -> None:
    flips = {"q: SELECT 2;": ("Index Scan on t by t_pkey → Seq Scan on t", "a → b", "c → d")}
    assert shown_statements(["q: SELECT 1;", "q: SELECT 2;"], flips) == (
        "q: SELECT 2; flipped: Index Scan on t by t_pkey → Seq Scan on t, a → b and 1 more; "
        "q: SELECT 1;"
    )


@pytest.mark.parametrize(("meant", "threats"), [(False, ["plans differ"]), (True, [])])
def test_plans_that_differ_are_a_doubt_unless_they_are_what_is_weighed(
    meant: bool, threats: list[str]
) -> None:
    inspection = Inspection(
        compared=0,
        statements=1,
        writes=False,
        arms={"off": ArmInspection(plans_meant=meant)},
        plans={"on": {"q: SELECT 1;": "Seq Scan on t"}, "off": {"q: SELECT 1;": "Result"}},
    )
    assert [threat.name for threat in own_threats(inspection, "on", "off")] == threats
