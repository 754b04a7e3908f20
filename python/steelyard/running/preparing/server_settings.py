"""Lays the settings of the server that external data belonged to beneath those of the study.

Beneath them lie the built-in study's own, which count where the server's say nothing. What cannot
be as it was there is listed: left out, or replaced.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from steelyard.engines.cache import require_room
from steelyard.engines.capabilities.memory import HUGE_PAGE_BYTES, NeedsMemory, shared_memory_bytes
from steelyard.engines.engine import Engine
from steelyard.engines.intake import AcceptsSettings, Neutralised, Overridden, ServerSettings
from steelyard.evaluation.threats.inspection import SettingsMissing
from steelyard.model.errors import ServerError, StudyError
from steelyard.model.units import whole_number
from steelyard.record.environment import NeutralisedFact, ReplacedFact, SourceFacts
from steelyard.running.laboratory import Laboratory
from steelyard.running.stopwatch import Progress
from steelyard.study.study import Study
from steelyard.wording.threats.threat import threat_of

OWN_CONNECTIONS = 10
"""Ours at most: to place, to watch what backends wait for, to checkpoint and count."""
DEFAULT_CONNECTIONS = 100
_CONNECTIONS = "max_connections"
_SHOWN = re.compile(
    r"[-+]?[0-9]+(\.[0-9]+)?\s*(B|kB|MB|GB|TB|us|ms|s|min|h|d)?|on|off|true|false|yes|no", re.I
)
_MB = 1 << 20


@dataclass(frozen=True)
class LaidSettings:
    """What the configuration file of every arm holds, and what of it is otherwise than there."""

    file: Mapping[str, str] = field(repr=False)
    neutralised: tuple[Neutralised, ...]
    replaced: tuple[ReplacedFact, ...]
    missing: str

    def in_effect(self, study: Study) -> Study:
        """The study as its servers will be set: the file beneath its own settings."""
        stated = {name.lower() for name in study.settings}
        below = {name: value for name, value in self.file.items() if name not in stated}
        return study.model_copy(update={"settings": {**below, **study.settings}})

    def start_settings(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Of settings that are in effect those that a start has to give: the file has the rest."""
        return {name: value for name, value in settings.items() if self.file.get(name) != value}

    def extend_facts(self, source: SourceFacts | None) -> SourceFacts | None:
        """The facts about the data with those about its settings."""
        if source is None:
            return None
        gone = tuple(
            NeutralisedFact(what=setting.what, why=setting.why) for setting in self.neutralised
        )
        return source.model_copy(
            update={
                "neutralised": (*gone, *source.neutralised),
                "replaced": self.replaced,
                "settings_missing": self.missing,
            }
        )


def lay_settings(
    study: Study,
    offered: ServerSettings | None,
    engines: Mapping[str, Engine],
    laboratory: Laboratory,
    progress: Progress,
    *,
    at_once: int,
) -> LaidSettings | None:
    """The settings of the data's server, as far as every build and this machine take them; None:
    the data is Steelyard's own.

    `at_once`: servers that run at a time. StudyError: their memory is not there.
    """
    source = study.source
    if offered is None or source is None:
        return None
    stated = list(_set_by_study(study, offered.settings))
    of_study = _stated_of_all(study)
    offered = replace(offered, settings=_without(offered.settings, of_study))
    beneath = _without(source.beneath, of_study)
    _require_memory(study, offered, engines, laboratory, at_once)
    theirs, missing = offered.settings, _missing(offered, of_study)
    for engine in {build.identity.bindir: build for build in engines.values()}.values():
        if isinstance(engine, AcceptsSettings):
            slot = laboratory.engines.slot(0)
            offered = engine.accepted(offered, slot, progress.stage)
    _note_refused(theirs, offered, progress)
    offered = _without_huge_pages(offered, study, engines, laboratory, at_once)
    file = {**beneath, **offered.settings}
    connections = {} if _CONNECTIONS in of_study else _connections(study, file)
    laid = LaidSettings(
        file={**file, **connections},
        neutralised=offered.neutralised,
        replaced=(
            *_defaults_replaced(beneath, theirs, offered, stated),
            *_raised(offered.settings, connections),
            *stated,
        ),
        missing=missing,
    )
    if laid.missing:  # before hours of copying
        progress.threat(threat_of(SettingsMissing(laid.missing)))
    return laid


def _missing(offered: ServerSettings, of_study: Container[str]) -> str:
    """Why settings are not the server's, or not those of the file that was named: what the study
    says of every arm is neither's, and no doubt."""
    reasons, by_place = [offered.missing], dict[str, list[Overridden]]()
    for each in offered.overridden:
        if each.name not in of_study:
            by_place.setdefault(each.by, []).append(each)
    for place, settings in by_place.items():
        names = ", ".join(each.name for each in settings)
        options = " ".join(f"--set {_option(each)}" for each in settings)
        reasons.append(
            f"{place} says otherwise than --config, and counts more, as at a server's start: "
            f"{names}; to weigh what the file says, type {options}"
        )
    return "; ".join(filter(None, reasons))


def _option(setting: Overridden) -> str:
    plain = setting.value if shown_value(setting.name, setting.value) != "not shown" else "VALUE"
    return shlex.quote(f"settings.{setting.name}={plain}")


def _stated_of_all(study: Study) -> set[str]:
    """The settings that no server will have from its file: the study says them of every arm."""
    of_arms = set.intersection(*({*arm.settings} for arm in study.every_arm))
    return {name.lower() for name in {*study.settings, *of_arms}}


def _without(settings: Mapping[str, str], names: Container[str]) -> dict[str, str]:
    return {name: value for name, value in settings.items() if name not in names}


def _connections(study: Study, file: Mapping[str, str]) -> dict[str, str]:
    """max_connections that hold the clients, where those of the file do not."""
    needed = study.workload.clients + OWN_CONNECTIONS
    stated = whole_number(file.get(_CONNECTIONS, str(DEFAULT_CONNECTIONS)).strip())
    few = stated is not None and stated < needed
    return {_CONNECTIONS: str(needed)} if few else {}


def _note_refused(theirs: Mapping[str, str], accepted: ServerSettings, progress: Progress) -> None:
    """Say by name what is weighed without the server's value, for one that no one need look up."""
    reasons: dict[str, list[str]] = {}
    for gone in accepted.neutralised:
        if gone.what in theirs and gone.what not in accepted.settings:
            reasons.setdefault(gone.why, []).append(gone.what)
    for why, names in reasons.items():
        progress.note(f"left out of the server's settings: {', '.join(names)} ({why})")


def _defaults_replaced(
    beneath: Mapping[str, str],
    theirs: Mapping[str, str],
    offered: ServerSettings,
    stated: Sequence[ReplacedFact],
) -> Iterator[ReplacedFact]:
    """What the built-in study sets that the server left at its default, or whose value there was
    refused here; `theirs`: the settings with those that were refused."""
    names = {*offered.settings, *(fact.name for fact in stated)}
    gone = {setting.what for setting in offered.neutralised}
    for name, value in beneath.items():
        if name in names:
            continue
        if name in theirs:
            was, why = shown_value(name, theirs[name]), "the server's value was left out"
            yield ReplacedFact(name=name, theirs=was, used=value, why=why)
        elif not offered.missing and name not in gone:
            why = "the study sets it where the server's files do not"
            yield ReplacedFact(name=name, theirs="default", used=value, why=why)


def _raised(settings: Mapping[str, str], raised: Mapping[str, str]) -> Iterator[ReplacedFact]:
    for name, value in raised.items():
        theirs = shown_value(name, settings.get(name, "default"))
        why = "the clients, and those who watch them, need as many"
        yield ReplacedFact(name=name, theirs=theirs, used=value, why=why)


def _set_by_study(study: Study, settings: Mapping[str, str]) -> Iterator[ReplacedFact]:
    """What the study says itself, of all arms or of one."""
    places = [("the study", study.settings)]
    places += [(f'arm "{arm.name}"', arm.settings) for arm in study.every_arm]
    for origin, stated in places:
        for name, value in stated.items():
            theirs = settings.get(name.lower())
            if theirs is not None and theirs != value:
                yield ReplacedFact(
                    name=name.lower(),
                    theirs=shown_value(name, theirs),
                    used=shown_value(name, value),
                    why=f"{origin} says so",
                )


def shown_value(name: str, value: str) -> str:
    """A number or a switch of the server itself; anything else may be a secret."""
    plain = "." not in name and (_SHOWN.fullmatch(value.strip()) or value == "default")
    return value.strip() if plain else "not shown"


def _without_huge_pages(
    offered: ServerSettings,
    study: Study,
    engines: Mapping[str, Engine],
    laboratory: Laboratory,
    at_once: int,
) -> ServerSettings:
    """Left out where the free ones do not hold the shared memory of every server at once."""
    if offered.settings.get("huge_pages", "").lower() not in ("on", "true", "yes", "1"):
        return offered
    pool = _largest_pool(study.model_copy(update={"settings": dict(offered.settings)}), engines)
    free = laboratory.host.huge_pages_free() * HUGE_PAGE_BYTES
    if free >= at_once * shared_memory_bytes(pool):
        return offered
    settings = {name: value for name, value in offered.settings.items() if name != "huge_pages"}
    gone = Neutralised("huge_pages", "this machine has too few free ones for all arms")
    return replace(offered, settings=settings, neutralised=(*offered.neutralised, gone))


def _largest_pool(study: Study, engines: Mapping[str, Engine]) -> int:
    pools = [
        engine.memory_need(study.settings_of(arm)).pool_bytes
        for arm in study.every_arm
        if isinstance(engine := engines[arm.name], NeedsMemory)
    ]
    return max(pools, default=0)


def _require_memory(
    study: Study,
    offered: ServerSettings,
    engines: Mapping[str, Engine],
    laboratory: Laboratory,
    at_once: int,
) -> None:
    """StudyError where shared buffers of servers that run at once are more than is free."""
    if "shared_buffers" not in offered.settings:
        return
    try:
        below = {"shared_buffers": offered.settings["shared_buffers"]}
        pool = _largest_pool(study.model_copy(update={"settings": below}), engines)
    except ServerError:
        return  # no size: it is left out by name
    free = laboratory.host.sample().memory_available_bytes
    servers = "a server" if at_once == 1 else f"{at_once} servers at once"
    fits = int(free * 0.8) // at_once // _MB
    require_room(
        f"this machine cannot hold the shared_buffers of {servers}",
        pool * at_once,
        free,
        detail="shared_buffers is what the data's server has: "
        f"{shown_value('shared_buffers', offered.settings['shared_buffers'])}.",
        hint=f"Weigh with less, which the record says: --set settings.shared_buffers={fits}MB"
        + (", or one arm at a time: --set layout=turns" if at_once > 1 else ""),
        error=StudyError,
    )
