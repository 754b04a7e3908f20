"""What an arm is to differ in is left to differ by what brings checkpoints nearer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from steelyard.engines.differences import SettingRules
from steelyard.engines.mysql.settings import SETTING_RULES
from steelyard.engines.postgres.sql.own_time import in_own_time
from steelyard.model.errors import StudyError
from steelyard.record.plan import TurnChoices
from steelyard.running.turns.apart import require_apart
from steelyard.study.read import read_study
from steelyard.study.study import Study

SERVER = {
    "checkpoint_timeout": "300 s",
    "checkpoint_completion_target": "0.9 ",
    "max_wal_size": "1024 MB",
    "min_wal_size": "80 MB",
    "wal_segment_size": "16777216 B",
    "log_checkpoints": "on",  # the pilot has set it
    "work_mem": "4096 kB",
}


class Notes:
    """What was said."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def setup_of(study: Study, rules: SettingRules) -> Any:
    layout, slots = SimpleNamespace(name="cycles"), SimpleNamespace(setting_rules=rules)
    return SimpleNamespace(study=study, layout=layout, slots=slots)


def apart(scale: float, *changes: str, **reported: tuple[str, str]) -> list[str]:
    """Two arms; `reported`: what their servers said, where it is not what is shipped."""
    study = read_study("settings", ["workload.name=tpcb-like", "layout=cycles", *changes])
    names = [arm.name for arm in study.every_arm]
    servers = {
        arm: {**SERVER, **{name: values[side] for name, values in reported.items()}}
        for side, arm in enumerate(names)
    }
    turns = TurnChoices.model_construct(
        time_scale=scale,
        settings={
            arm: {"log_checkpoints": "on", **in_own_time(server, scale, 2).settings}
            for arm, server in servers.items()
        },
    )
    notes: Any = Notes()
    require_apart(setup_of(study, SettingRules()), servers, turns, notes)
    said: list[str] = notes.notes
    return said


LIMITS = ("arm.settings.max_wal_size=1100MB", "control.settings.max_wal_size=1GB")
REPORTED = {"max_wal_size": ("1024 MB", "1100 MB")}
DAYS = ("arm.settings.checkpoint_timeout=1d", "control.settings.checkpoint_timeout=12h")


@pytest.mark.parametrize(
    ("scale", "changes", "reported", "alike"),
    [
        (5, LIMITS, REPORTED, "max_wal_size is 224MB in both"),  # whole segments
        (1, DAYS, {"checkpoint_timeout": ("43200 s", "86400 s")}, "checkpoint_timeout is 86400s"),
        (1, ("arm.settings.log_checkpoints=off",), {}, "log_checkpoints is on in both"),
    ],
)
def test_an_arm_that_the_plan_makes_the_control_is_refused(
    scale: float, changes: tuple[str, ...], reported: dict[str, tuple[str, str]], alike: str
) -> None:
    with pytest.raises(StudyError, match="would be equal in cycles") as refused:
        apart(scale, *changes, **reported)
    assert alike in refused.value.primary
    assert "layout=slices" in (refused.value.hint or "")
    assert ("larger budget" in (refused.value.hint or "")) == (scale > 1)


def test_what_an_option_file_spells_with_dashes_is_lost_too() -> None:
    study = read_study(
        "settings",
        ["engine=mysql", "layout=cycles", "workload.name=tpcb-like",
         "arm.settings.innodb-log-file-size=100M"],
    )  # fmt: skip
    control, arm = (each.name for each in study.every_arm)
    alike = {"innodb_log_file_size": "25165824"}
    turns = TurnChoices.model_construct(time_scale=4, settings={control: alike, arm: alike})
    reported = {control: {"innodb_log_file_size": "100663296"},
                arm: {"innodb_log_file_size": "104857600"}}  # fmt: skip
    notes: Any = Notes()
    setup = setup_of(study, SETTING_RULES)
    with pytest.raises(StudyError, match="innodb_log_file_size is 25165824 in both"):
        require_apart(setup, reported, turns, notes)


def test_what_is_lost_beside_another_difference_is_a_doubt() -> None:
    [doubt] = apart(5, *LIMITS, "arm.settings.work_mem=64MB", **REPORTED)
    assert doubt.startswith("doubt: max_wal_size is 224MB in ")


@pytest.mark.parametrize(
    ("scale", "changes", "reported"),
    [
        (1, LIMITS, REPORTED),
        (5, ("arm.settings.max_wal_size=4GB",), {"max_wal_size": ("1024 MB", "4096 MB")}),
        (5, ("arm.settings.checkpoint_timeout=10min",), {"checkpoint_timeout": ("300 s", "600 s")}),
        (5, ("arm.settings.wal_compression=pglz",), {}),
        # Written otherwise and the same: refused as equal elsewhere, and nothing is lost.
        (5, ("arm.settings.checkpoint_timeout=300s", "control.settings.checkpoint_timeout=5min"),
         {}),
    ],
)  # fmt: skip
def test_what_stays_apart_is_weighed(
    scale: float, changes: tuple[str, ...], reported: dict[str, tuple[str, str]]
) -> None:
    assert apart(scale, *changes, **reported) == []
