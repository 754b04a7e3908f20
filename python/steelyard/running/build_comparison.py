"""Compares the builds of the arms: who shares whose data, how often it is loaded, which defaults
are set alike.

Builds of one layout share one load and its clones: their arms differ in no byte. Where each build
needs data of its own, the luck of a load (which rows ANALYZE saw, where files lie) would be part of
what is compared: it is then loaded several times, and epochs take the loads in turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.engines.default_alignment import Alignment, compare_defaults
from steelyard.engines.engine import Choosy, Engine, Kin, Nature
from steelyard.model.errors import EngineError, UsageError
from steelyard.running.laboratory import Laboratory
from steelyard.running.progress import Progress
from steelyard.study.design import FEWEST_LOADS
from steelyard.study.study import Arm, Study


@dataclass(frozen=True)
class Kinship:
    """What the builds of the arms have in common, and what is done about the rest."""

    loaders: Mapping[str, str]  # arm → the arm whose build loads its data
    loads: int  # separate loads of each loader's data
    defaults: str  # "aligned" or "as-shipped"
    alignment: Alignment = field(default_factory=Alignment)
    knows: Mapping[str, frozenset[str]] = field(default_factory=dict)  # arm → names of settings

    @property
    def shared(self) -> bool:
        """Whether all arms stand on clones of the same data."""
        return len(set(self.loaders.values())) == 1

    def settings_of(self, study: Study, arm: Arm) -> dict[str, str]:
        """What an arm is started with: defaults set alike, then what the study says."""
        known = self.knows.get(arm.name, frozenset())
        alike = {name: v for name, v in self.alignment.settings.items() if name in known}
        return {**alike, **study.settings_of(arm)}

    def declared(self, arm: str) -> set[str]:
        """Settings that may differ because the arm's build has another default."""
        changed = {name for name, _, _ in self.alignment.changed.get(arm, ())}
        return changed - {*self.alignment.settings}


def compare_builds(
    study: Study, engines: Mapping[str, Engine], laboratory: Laboratory, progress: Progress
) -> Kinship:
    """How the builds of the arms are akin; nothing is asked of them where there is only one."""
    control = study.control.name
    builds = {arm: engine.identity.bindir for arm, engine in engines.items()}
    if len(set(builds.values())) == 1:
        same = dict.fromkeys(engines, control)
        return Kinship(same, study.workload.loads or 1, study.defaults)
    progress.stage("compare the builds")
    for arm, engine in engines.items():
        if engine.identity.assertions or "-O0" in engine.identity.cflags.split():
            why = "checks assertions" if engine.identity.assertions else "is not optimised"
            progress.note(f"the build of {arm} {why}: its speed is nobody's")
    natures = _natures(engines, laboratory)
    loaders: dict[str, str] = {}
    for arm in engines:
        older = [a for a in loaders if natures[a].layout == natures[arm].layout]
        loaders[arm] = loaders[older[0]] if older else arm
    fixed = set.intersection(*({n.lower() for n in study.settings_of(a)} for a in study.every_arm))
    others = {arm: natures[arm].defaults for arm in engines if builds[arm] != builds[control]}
    known = {name for nature in natures.values() for name in nature.defaults}
    alignment = compare_defaults(
        natures[control].defaults, others, {name for name in known if name.lower() in fixed}
    )
    left = {*alignment.settings} if study.defaults == "as-shipped" else set()
    kinship = Kinship(
        loaders=loaders,
        loads=study.workload.loads or (1 if len(set(loaders.values())) == 1 else FEWEST_LOADS),
        defaults=study.defaults,
        alignment=_acceptable(alignment.without(left), engines, natures),
        knows={arm: frozenset(natures[arm].defaults) for arm in engines},
    )
    _tell(kinship, progress)
    return kinship


def _natures(engines: Mapping[str, Engine], laboratory: Laboratory) -> dict[str, Nature]:
    """Arm → the nature of its build; each build is looked at once."""
    seen: dict[str, Nature] = {}
    found: dict[str, Nature] = {}
    for arm, engine in engines.items():
        where = engine.identity.bindir
        if where not in seen:
            if not isinstance(engine, Kin):
                raise EngineError(f'cannot compare builds of engine "{engine.identity.kind}"')
            seen[where] = engine.nature(laboratory.slot(0))
        found[arm] = seen[where]
    return found


def _acceptable(
    alignment: Alignment, engines: Mapping[str, Engine], natures: Mapping[str, Nature]
) -> Alignment:
    """Without values that an arm's build refuses: what was possible may be so no more."""
    refused: set[str] = set()
    for arm, engine in engines.items():
        mine = {n: v for n, v in alignment.settings.items() if n in natures[arm].defaults}
        if not isinstance(engine, Choosy) or not _refuses(engine, mine):
            continue
        refused |= {name for name, value in mine.items() if _refuses(engine, {name: value})}
    return alignment.without(refused)


def _refuses(engine: Choosy, settings: Mapping[str, str]) -> bool:
    try:
        engine.refuse(settings)
    except (EngineError, UsageError):
        return True
    return False


def _tell(kinship: Kinship, progress: Progress) -> None:
    alignment = kinship.alignment
    if alignment.settings:
        words = ", ".join(f"{name} = {value}" for name, value in alignment.settings.items())
        progress.note(f"defaults that differ between the builds are set alike: {words}")
    for arm in alignment.changed:
        left = sorted(kinship.declared(arm))
        if left:
            progress.note(f"defaults of {arm} that differ and stay so: {', '.join(left)}")
    if not kinship.shared:
        progress.note(f"the builds need data of their own: each load is made {kinship.loads} times")
