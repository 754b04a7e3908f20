"""What is noted of the arms before they are weighed."""

from __future__ import annotations

from steelyard.running.preparing.inspection import bare_settings
from steelyard.study.read import read_study


def test_a_setting_without_its_unit_is_said_with_what_the_server_takes_it_for() -> None:
    settings = ("shared_buffers=128", "work_mem=64MB", "jit=off", "temp_buffers=0")
    study = read_study(
        "settings", [*(f"settings.{one}" for one in settings), "arm.settings.checkpoint_timeout=90"]
    )
    reported = {
        "shared_buffers": "128 8kB", "work_mem": "65536 kB", "jit": "off", "temp_buffers": "0 8kB",
        "max_connections": "300",
    }  # fmt: skip
    control, arm = (one.name for one in study.every_arm)
    every = {control: reported, arm: {**reported, "checkpoint_timeout": "90 s"}}
    assert list(bare_settings(study, every)) == [
        "shared_buffers = 128 has no unit: the server takes 128 × 8kB",
        "checkpoint_timeout = 90 has no unit: the server takes 90 s",
    ]
