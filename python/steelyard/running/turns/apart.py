"""Refuses a weighing whose plan sets alike in all arms what an arm is to differ in.

Checkpoints are brought nearer by settings that come in whole seconds and whole segments of log,
have limits, and must be seen: what an arm says of them may be what the plan says of every other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from steelyard.engines.engine import Settings
from steelyard.model.errors import StudyError
from steelyard.record.plan import TurnChoices
from steelyard.running.preparing.setup import Setup
from steelyard.running.stopwatch import Progress


def require_apart(
    setup: Setup, reported: Mapping[str, Settings], turns: TurnChoices, progress: Progress
) -> None:
    """StudyError where nothing is left that sets an arm apart; what else is lost is a doubt.
    `reported`: arm → settings as its server reported them in the pilot."""
    study, name_of = setup.study, setup.slots.setting_rules.name_of
    control = study.control.name
    for arm in study.arms:
        declared = {name_of(name) for name in study.declared_differences(arm)}
        lost = [*_lost(control, arm.name, declared, reported, turns)]
        if not lost:
            continue
        values = " and ".join(f"{name} is {turns.settings[arm.name][name]}" for name in lost)
        alike = f"{values} in {arm.name} and {control} alike"
        if {*lost} != declared:
            progress.note(f"doubt: {alike}, by what brings checkpoints nearer and shows them")
            continue
        raise StudyError(
            f"{arm.name} and {control} would be equal in {setup.layout.name}: {values} in both",
            detail="The plan sets it: checkpoints are to be seen in the log, and they are "
            f"{turns.time_scale:g} times as near, in whole seconds and whole segments of log.",
            hint=_hint(turns),
        )


def _hint(turns: TurnChoices) -> str:
    slices = "weigh with --set layout=slices."
    if turns.time_scale == 1:
        return slices.capitalize()
    return f"A larger budget makes the time scale smaller; or {slices}"


def _lost(
    control: str,
    arm: str,
    declared: Collection[str],
    reported: Mapping[str, Settings],
    turns: TurnChoices,
) -> Iterator[str]:
    """Names of what the study says differs between an arm and the control, and the plan's settings
    have alike. Written otherwise, a setting may be alike before too: then the server said so. What
    the pilot had set already, it could not tell."""
    ours, theirs = turns.settings.get(control, {}), turns.settings.get(arm, {})
    for name in sorted(declared):
        if name not in ours or ours[name] != theirs.get(name):
            continue
        values = {reported[side].get(name) for side in (control, arm)}
        if len(values) > 1 or values == {ours[name]}:
            yield name
