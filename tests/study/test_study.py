"""What the arms of a study say themselves is what may differ between them."""

from __future__ import annotations

import pytest

from steelyard.study.arm import Arm
from steelyard.study.budget import BUDGETS, Budget
from steelyard.study.read import read_study
from steelyard.study.study import Study


def _study(control: Arm, arm: Arm) -> Study:
    return Study(
        name="s", title="t", question="q", control=control, arms=(arm,), settings={"jit": "off"}
    )


def test_a_study_declares_what_its_arms_say_themselves() -> None:
    control = Arm(name="a", settings={"work_mem": "4MB", "fsync": "on"})
    arm = Arm(name="b", checksums=False, settings={"work_mem": "8MB", "fsync": "on", "jit": "on"})
    assert _study(control, arm).declared_differences(arm) == {
        "work_mem",
        "jit",
        "data_checksums",
    }


def test_arms_of_two_versions_declare_the_version() -> None:
    control, arm = Arm(name="a"), Arm(name="b", version="16")
    study = _study(control, arm)
    assert study.declared_differences(arm) == {"version"}
    assert study.declared_differences(control) == set()


def test_a_budget_is_lengthened_in_every_layout_and_never_below_the_least() -> None:
    budget = Budget(measuring="60s", turns="20m", cycles="10m", epochs=8)
    twice = budget.times(2)
    assert [getattr(twice, key) for key in BUDGETS] == [2 * getattr(budget, key) for key in BUDGETS]
    assert twice.epochs == 8
    assert budget.times(0.01, 20 * 10**9).cycles == 20 * 10**9


def test_an_arm_may_be_compared_with_another_arm_and_with_nothing_else() -> None:
    control, first = Arm(name="a"), Arm(name="b", role="first", checksums=False)
    for named in ("b", "first"):
        last = Arm(name="c", checksums=False, settings={"jit": "off"}, against=named)
        arms = {"control": control, "arms": (first, last)}
        study = Study(name="s", title="t", question="q", **arms)  # type: ignore[arg-type]
        assert study.base_of(last) == first
        assert study.base_of(first) is None
        assert study.declared_differences(last, first) == {"jit"}
    for named in ("a", "c", "d"):
        last = Arm(name="c", against=named)
        with pytest.raises(ValueError, match="which is no other arm"):
            Study(name="s", title="t", question="q", control=control, arms=(first, last))


def test_each_arm_of_a_compression_stores_its_values_by_its_own_method() -> None:
    """The data are made by a server without an arm's settings, whose default is lz4 from 19 on."""
    study = read_study("default-toast-compression", ["version=19"])
    for arm in study.every_arm:
        method = study.settings_of(arm)["default_toast_compression"]
        stored = [statement for statement in study.sql_of(arm) if "SET COMPRESSION" in statement]
        assert stored == [f"ALTER TABLE documents ALTER body SET COMPRESSION {method}"]
        assert study.sql_of(arm)[-2:] == study.sql_of(study.control)[-2:]
        assert arm.sql[1].startswith("UPDATE documents")
