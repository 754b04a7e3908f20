"""Works out the profiles that the arms of a study ask for, as settings of those arms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.model.errors import UsageError
from steelyard.model.readings import WorkKind
from steelyard.study.arm import Arm, ProfileChoice
from steelyard.study.study import Study
from steelyard.tuning.profile.advice import TuningProfile
from steelyard.tuning.profile.proposing import (
    Accepting,
    ProfileRequest,
    propose,
    read_allowed_settings,
)

Say = Callable[[str], None]
ConcurrentServers = Callable[[Study], int]
"""Study → how many of its servers stand at once."""
DataBytes = Callable[[Study], int | None]
"""Study → about how large the data of an arm are; None: not known."""


def with_profiles(
    study: Study,
    directory: Path,
    cache: Path,
    account: str | None,
    say: Say,
    concurrent_servers: ConcurrentServers,
    data_bytes: DataBytes,
) -> Study:
    """The study with every profile in place of its name; itself where no arm has one. What the
    study sets for every arm, and what an arm sets itself, lie above a profile.

    `directory`: where data directories stand, whose free room and probe count, but for arms with
    places of their own. An arm that a profile leaves as the control is dropped, and `say` is
    called; a cell of a factorial stays.
    `concurrent_servers` counts those of a study without profiles: whether arms run at once may
    depend on the settings that profiles come to. `data_bytes`: what memory cannot hold of the data
    makes random pages dearer. UsageError: a profile does not fit.
    """
    if all(arm.profile is None for arm in study.every_arm):
        return study
    builds: dict[BuildRequest, Accepting] = {}
    size = data_bytes(study)

    def resolved(servers: int) -> tuple[Study, list[str]]:
        sentences: list[str] = []
        profiles = _Profiles(
            study, directory, cache, account, servers, size, builds, sentences.append
        )
        return profiles.resolved(), sentences

    tuned, sentences = resolved(len(study.every_arm))
    if concurrent_servers(tuned) == 1:  # an arm that runs alone has all of the memory
        tuned, sentences = resolved(1)
    for sentence in sentences:
        say(sentence)
    return tuned


@dataclass(frozen=True)
class _Profiles:
    """The profiles of a study, for so many servers that stand at once."""

    study: Study
    place: Path
    cache: Path
    account: str | None
    servers: int
    data_bytes: int | None
    accepted: dict[BuildRequest, Accepting]
    """What each build accepts, kept from one number of servers to the next."""
    say: Say

    def resolved(self) -> Study:
        """The study with settings in place of profiles."""
        study = self.study
        control = self._of(study.control)
        arms = []
        for arm, tuned in ((arm, self._of(arm)) for arm in study.arms):
            alike = tuned.settings == control.settings and study.factors is None  # cells stay
            if arm.profile is not None and arm.profile.without and alike:
                self.say(f"arm {arm.name} is left out: the profile sets nothing of that group here")
            else:
                arms.append(tuned)
        if not arms:
            raise UsageError(
                "nothing is left to weigh: the profile sets nothing that an arm would set back",
                hint="`steelyard tune` shows what it sets on this machine, and why.",
            )
        return study.model_copy(update={"control": control, "arms": tuple(arms)})

    def _of(self, arm: Arm) -> Arm:
        if arm.profile is None:
            return arm
        request = BuildRequest(arm.version, arm.bindir)
        if request not in self.accepted:
            self.accepted[request] = read_allowed_settings(self.study.engine, request, self.account)
        wish = _wish(self.study, arm.profile, self.servers, self.data_bytes)
        place, log = places_of(arm, self.place)
        wish = replace(wish, log_directory=log)
        profile = propose(wish, self.accepted[request], place, self.cache)
        proposed = profile.for_arm(*arm.profile.without)
        stated = {name.lower() for name in self.study.settings} - {*arm.settings}
        chosen = {name: value for name, value in proposed.items() if name not in stated}
        beneath = [name for name in proposed if name in stated]
        self.say(_sentence(arm, profile, chosen, beneath))
        return arm.model_copy(update={"settings": {**chosen, **arm.settings}, "profile": None})


def work_of(study: Study) -> WorkKind:
    """The kind of work of a completed study: long queries where clients go through streams."""
    return "olap" if study.workload.streams else "oltp"


def places_of(arm: Arm, otherwise: Path) -> tuple[Path, Path | None]:
    """Where an arm's data stand, and its log; None: with the data."""
    data = otherwise if arm.directory is None else Path(arm.directory)
    return data, None if arm.wal_directory is None else Path(arm.wal_directory)


def _wish(
    study: Study, choice: ProfileChoice, servers: int, data_bytes: int | None
) -> ProfileRequest:
    return ProfileRequest(
        name=choice.name,
        kind=choice.work or work_of(study),
        clients=study.workload.clients,
        cap_bytes=study.memory,
        servers=servers,
        data_bytes=data_bytes,
    )


def _sentence(
    arm: Arm, profile: TuningProfile, chosen: Mapping[str, str], beneath: Sequence[str]
) -> str:
    """`beneath`: settings of the profile that the study sets itself."""
    listed = ", ".join(f"{name} {value}" for name, value in chosen.items())
    own = f"; the study's own settings count for {', '.join(beneath)}" if beneath else ""
    return f"profile of {arm.name} ({profile.basis.memory_from}): {listed or 'nothing'}{own}"
