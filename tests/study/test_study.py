"""What the arms of a study say themselves is what may differ between them."""

from __future__ import annotations

from steelyard.study.arm import Arm
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
