"""What a drive said of its own health (SMART), before and after the work."""

from __future__ import annotations

from steelyard.record.frozen import Frozen

TOO_HOT = "its temperature is beyond a limit"
"""The critical warning that is about heat; the others are about the drive's life."""
ONCE_AT_THRESHOLD = "an attribute was at its threshold at some time"
"""The warning that is about the past, be it of heat or of wear: it says nothing of now."""


class DriveHealth(Frozen):
    """What a drive said of itself; what it did not say is absent. No serial number is kept."""

    device: str = ""
    """Its name in /sys/class/block; empty where no device is to be seen beneath the directory."""
    source: str = ""
    """The programs that read it, or `sysfs`."""
    model: str = ""
    firmware: str = ""
    temperature_celsius: int | None = None
    read_bytes: int | None = None
    """By the host, over the drive's life."""
    written_bytes: int | None = None
    """By the host, over the drive's life."""
    step_bytes: int | None = None
    """The unit in which the drive counts both: 512,000 for NVMe."""
    spare_percent: int | None = None
    """Spare capacity that is left."""
    spare_threshold_percent: int | None = None
    """Below it the drive warns."""
    used_percent: int | None = None
    """Of its endurance, as its maker estimates it; may pass 100."""
    media_errors: int | None = None
    """Times that data could not be read back or were found damaged."""
    error_log_entries: int | None = None
    warnings: tuple[str, ...] = ()
    """Critical warnings in words; absent: it was not said whether there are any."""
    warning_temperature_min: int | None = None
    """Minutes above the temperature at which it warns."""
    critical_temperature_min: int | None = None
    """Minutes above its critical temperature."""
    light_throttling_count: int | None = None
    """Times that it slowed down for its heat (thermal management temperature 1)."""
    light_throttling_s: int | None = None
    heavy_throttling_count: int | None = None
    """Times that it slowed down whatever that cost (thermal management temperature 2)."""
    heavy_throttling_s: int | None = None
    power_on_h: int | None = None
    why_not: str = ""
    """Why it said nothing, or no more than this."""
