"""Works out the profiles that the arms of a study ask for, as settings of those arms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from steelyard.engines.adapters import Wanted
from steelyard.model.errors import UsageError
from steelyard.study.arm import Arm, ProfileChoice
from steelyard.study.study import Study
from steelyard.tuning.profile.advice import Profile
from steelyard.tuning.profile.asking import Accepting, ask_build
from steelyard.tuning.profile.proposing import Wish, propose

Say = Callable[[str], None]


def with_profiles(study: Study, place: Path, cache: Path, account: str | None, say: Say) -> Study:
    """The study with every profile in place of its name; itself where no arm has one.

    `place`: where data directories stand, whose free room and probe count. An arm that a profile
    leaves as the control is dropped, and `say` is called; a cell of a factorial stays. UsageError:
    a profile does not fit.
    """
    if all(arm.profile is None for arm in study.every_arm):
        return study
    asked: dict[Wanted, Accepting] = {}

    def resolved(arm: Arm) -> Arm:
        if arm.profile is None:
            return arm
        wanted = Wanted(arm.version, arm.bindir)
        if wanted not in asked:
            asked[wanted] = ask_build(study.engine, wanted, account)
        profile = propose(_wish(study, arm.profile), asked[wanted], place, cache)
        chosen = profile.without(*arm.profile.without)
        say(_said(arm, profile, chosen))
        return arm.model_copy(update={"settings": {**chosen, **arm.settings}, "profile": None})

    control = resolved(study.control)
    arms = []
    for arm, made in ((arm, resolved(arm)) for arm in study.arms):
        alike = made.settings == control.settings and study.factors is None  # cells stay
        if arm.profile is not None and arm.profile.without and alike:
            say(f"arm {arm.name} is left out: the profile sets nothing of that group here")
        else:
            arms.append(made)
    if not arms:
        raise UsageError(
            "nothing is left to weigh: the profile sets nothing that an arm would set back",
            hint="`steelyard tune` shows what it sets on this machine, and why.",
        )
    return study.model_copy(update={"control": control, "arms": tuple(arms)})


def _wish(study: Study, choice: ProfileChoice) -> Wish:
    return Wish(
        name=choice.name,
        kind=choice.work or ("olap" if study.workload.streams else "oltp"),
        clients=study.workload.clients,
        cap_bytes=study.memory,
        servers=1 if study.layout == "turns" else len(study.every_arm),
    )


def _said(arm: Arm, profile: Profile, chosen: Mapping[str, str]) -> str:
    listed = ", ".join(f"{name} {value}" for name, value in chosen.items())
    return f"profile of {arm.name} ({profile.basis.memory_from}): {listed or 'nothing'}"
