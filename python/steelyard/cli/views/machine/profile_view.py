"""Formats a profile for a terminal: each setting with its reason, its source, and where sources
disagree."""

from __future__ import annotations

from steelyard.cli.views.text_layout import wrapped
from steelyard.model.units import format_bytes
from steelyard.tuning.profile.advice import GROUPS, Advice, TuningProfile

_NAME, _VALUE = 34, 20
_TEXT = "    "


def profile_lines(profile: TuningProfile, build: str, width: int) -> list[str]:
    """What it is made from, the settings by groups, what is left alone, and the memory it takes."""
    basis = profile.basis
    lines = wrapped(
        f"profile {profile.name} for {build}: {format_bytes(basis.memory_bytes)} "
        f"({basis.memory_from}), {basis.processors} processors, {basis.clients} clients "
        f"({basis.clients_from}), {basis.kind}{_probed(profile)}",
        width,
        "",
    )
    for group, meaning in GROUPS.items():
        of_group = [advice for advice in profile.advice if advice.group == group]
        if of_group:
            lines += ["", f"{group}: {meaning}"]
        for advice in of_group:
            lines += _setting(advice, profile, width)
    if profile.left_alone:
        lines += ["", "left alone"]
        for left in profile.left_alone:
            lines += wrapped(f"- {left.name}: {left.why}", width, "  ")
    need = profile.need
    lines.append("")
    lines += wrapped(
        f"memory at most: {format_bytes(need.shared_bytes)} shared, "
        f"{format_bytes(need.sessions_bytes)} for sessions, {format_bytes(need.upkeep_bytes)} for "
        f"upkeep: {format_bytes(need.total_bytes)} of {format_bytes(basis.memory_bytes)}; the rest "
        "is the page cache",
        width,
        "",
    )
    if profile.restart:
        lines.append("* takes effect at the next start")
    lines += wrapped(
        "advice, not a measurement: `steelyard weigh tuning` weighs it against the defaults here",
        width,
        "",
    )
    return lines


def _probed(profile: TuningProfile) -> str:
    storage = profile.basis.storage
    if storage is None or storage.why_not:
        return ""
    return f", {storage.device} as probed {storage.taken[:10]}"


def _setting(advice: Advice, profile: TuningProfile, width: int) -> list[str]:
    mark = " *" if advice.name in profile.restart else ""
    was = profile.defaults.get(advice.name, "")
    head = f"  {advice.name}".ljust(_NAME) + f"{was:>10} → {advice.value}".ljust(_VALUE) + mark
    lines = [head.rstrip(), *wrapped(f"{advice.reason}. Source: {advice.source}", width, _TEXT)]
    if advice.others:
        lines += wrapped(f"others: {'; '.join(advice.others)}", width, _TEXT)
    return lines
