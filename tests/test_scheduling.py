"""Tests of the units that workers are given."""

from __future__ import annotations

from pathlib import Path

from scheduling import TOGETHER, unit_of

TESTS = Path(__file__).parent


def test_rules_are_one_unit_and_other_files_one_each() -> None:
    rules = {unit_of(f"tests/tidy/test_{name}.py::test_a[b::c]") for name in ("sizes", "names")}
    assert len(rules) == 1
    for other in ("tests/tidy/test_start_up.py", "tests/model/test_units.py"):
        assert unit_of(f"{other}::test_a[b::c]") == other


def test_what_belongs_together_is_there() -> None:
    paths = (f"tests/{path.relative_to(TESTS)}" for path in TESTS.rglob("test_*.py"))
    assert sum(TOGETHER.match(path) is not None for path in paths) > 10
