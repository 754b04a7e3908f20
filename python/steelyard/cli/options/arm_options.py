"""Turns options that say what arms are into overrides of a study: `--control` and `--arm` (a
configuration file, or a build), and those of `tune --ablate`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli.command_line import say
from steelyard.cli.loose_change import change_of_arm
from steelyard.cli.options.address_options import ADDRESS
from steelyard.cli.options.weigh_options import build_changes
from steelyard.model.errors import SteelyardError, UsageError
from steelyard.study.arm import Arm, ProfileChoice
from steelyard.study.change import Change, key_of, setting_name, short_key
from steelyard.study.naming import arm_key, clean_name, unlike_parts, what_differs, with_names
from steelyard.study.read import names_arm, read_study
from steelyard.study.study import Study

if TYPE_CHECKING:
    from steelyard.cli.options.tune_options import TuneOptions
    from steelyard.engines.intake import Neutralised

CONF = "conf="
ABLATION = "tuning-ablation"


def arm_changes(
    study: str | None, control: str | None, arm: str | None, account: str | None
) -> list[str]:
    """The keys of the study that both options stand for.

    UsageError: a build for a study that compares none; EngineError: a file that cannot be read.
    """
    changes, builds = list[str](), dict[str, Path | None]()
    files = {"control": _conf_file(control), "arm": _conf_file(arm)}
    names = _names_of_files({name: file for name, file in files.items() if file is not None})
    for name, option in (("control", control), ("arm", arm)):
        if option is not None and option.startswith(ADDRESS):
            builds[name] = None  # said by address_changes
        elif (file := files[name]) is not None:
            changes += _of_file(name, file)
            if study is not None and not names_arm(study, name) and names.get(name):
                changes.append(Change(f"{name}.name", names[name]))
            builds[name] = None
        else:
            builds[name] = None if option is None else _directory(name, option)
    options = [option for option in (control, arm) if option is not None]
    if options and not any(builds.values()):
        return changes
    return changes + build_changes(study, builds["control"], builds["arm"], account)


def _directory(name: str, option: str) -> Path:
    """UsageError: it is a file, whose settings were surely meant, or a change of the study."""
    path = Path(option)
    if not path.expanduser().is_file():
        change = None if path.expanduser().is_dir() else change_of_arm(name, option)
        if change is not None:
            raise UsageError(
                f'"{option}" is a change of the study, and --{name} names a file, an address or a '
                "directory of programs",
                hint=f"Write it as --set {shlex.quote(change)}",
            )
        return path
    raise UsageError(
        f'"{option}" is a file, and --{name} without {CONF} names a directory of programs',
        hint=f"To weigh the settings of it: --{name} {shlex.quote(CONF + option)}",
    )


def _names_of_files(files: Mapping[str, Path]) -> dict[str, str]:
    """`control` or `arm` → what it is called by its file: `prod.conf`, and where both files are
    called alike, as `postgresql.conf` is everywhere, with the folder that sets them apart:
    `old/postgresql.conf`. None where these are one, too."""
    names = {name: clean_name(file.name) for name, file in files.items()}
    if len({*names.values()}) < len(names):
        folders = unlike_parts([str(file.absolute().parent) for file in files.values()])
        names = {
            name: clean_name(f"{folders[str(file.absolute().parent)]}/{file.name}")
            for name, file in files.items()
        }
    return names if len({*names.values()}) == len(names) else {}


def _of_file(name: str, file: Path) -> list[str]:
    """Every setting of a file that is no matter of its place; what is left out is said."""
    from steelyard.engines.postgres.intake.configuration import printable, read_file

    configuration = read_file(file)
    _say_left_out(file, configuration.neutralised)
    for key, value in configuration.settings.items():
        if any("\udc80" <= letter <= "\udcff" for letter in key + value):
            raise UsageError(
                f'cannot weigh the settings of "{file}": "{printable(key)}" is no UTF-8',
                hint="Write the file as UTF-8: a study holds nothing else.",
            )
    return [
        Change(f"{name}.settings.{key}", value) for key, value in configuration.settings.items()
    ]


def _say_left_out(file: Path, gone: Sequence[Neutralised]) -> None:
    for setting in gone:
        say(f"left out of {file.name}: {setting.what} ({setting.why})")


def with_known_settings(
    study: Study,
    control: str | None,
    arm: str | None,
    account: str | None,
    changes: Sequence[str] = (),
) -> Study:
    """The study without settings of files that the builds of its arms refuse, which are said. What
    `changes` say as they were typed is no file's: an arm refuses it. Above data of a server, what a
    file does not mention is said, too. UsageError: a file has what is mistyped, or what is left
    makes the arms equal."""
    settings = {study_arm.name: study_arm.settings for study_arm in study.every_arm}
    known = [*_known_of_files(study, control, arm, account, changes)]
    if not known:
        return study
    for each in known:
        _say_left_out(each.file, each.left_out)
        _say_unmentioned(each)
        settings[each.arm] = each.settings
    first, *rest = (
        study_arm.model_copy(update={"settings": settings[study_arm.name]})
        for study_arm in study.every_arm
    )
    study = study.model_copy(update={"control": first, "arms": tuple(rest)})
    require_unlike(study, control, arm)
    return study


@dataclass(frozen=True)
class _KnownOfFile:
    """What the build of an arm takes of the settings of its file."""

    file: Path
    arm: str
    """Its name."""
    place: str
    """The table of its settings: `control.settings`, `arm.settings`."""
    settings: dict[str, str]
    """With those that are no file's."""
    left_out: Sequence[Neutralised]
    unmentioned: Sequence[str] = ()
    """Settings of the data's server that the arm has, since nothing says them otherwise."""


def _say_unmentioned(known: _KnownOfFile) -> None:
    """A line that was deleted from a copy of the server's file has no effect."""
    if known.unmentioned:
        names = ", ".join(known.unmentioned)
        say(
            f"{known.file.name} does not mention what the data's server has, and the arm has it "
            f"from there: {names}. For another value, PostgreSQL's default too: "
            f"--set {known.place}.{known.unmentioned[0]}=VALUE"
        )


def _unmentioned(study: Study, arm: Arm, gone: Sequence[Neutralised]) -> list[str]:
    """Settings of the data's server that neither the study nor an arm's file says; what was left
    out of that is said already."""
    source = study.source
    if source is None or source.kind is None:
        return []
    from steelyard.engines.adapters import adapter
    from steelyard.workloads.loading.imported_data import settings_place

    offered = adapter(study.engine).read_server_settings(settings_place(source)).settings
    stated = {name.lower() for name in (*study.settings, *arm.settings)}
    stated |= {setting.what for setting in gone}
    return [name for name in offered if name not in stated]


def _known_of_files(
    study: Study,
    control: str | None,
    arm: str | None,
    account: str | None,
    changes: Sequence[str],
) -> Iterator[_KnownOfFile]:
    """Of every arm that has a file; none at an address, whose server is another build."""
    files = {"control": _conf_file(control), "arm": _conf_file(arm)}
    if study.is_external or not any(files.values()):
        return
    from steelyard.engines.adapters import adapter
    from steelyard.engines.builds.same_builder import BuildRequest
    from steelyard.engines.intake import AcceptsSettings, NamedFile, ServerSettings

    every = study.every_arm
    requests = [BuildRequest(study_arm.version, study_arm.bindir) for study_arm in every]
    contrib = study.contrib or study.statement_counters
    engines = adapter(study.engine).find_arms(requests, account, contrib=contrib)
    typed = [key_of(each) for each in changes if not isinstance(each, Change)]
    for study_arm, engine in zip(every, engines, strict=True):
        place = "control" if study_arm is study.control else "arm"
        file = files[place]
        if file is not None and isinstance(engine, AcceptsSettings):
            names = {setting_name(short_key(key)) for key in typed if key.startswith(f"{place}.")}
            own = {name: v for name, v in study_arm.settings.items() if name in names}
            of_file = {name: v for name, v in study_arm.settings.items() if name not in names}
            named = NamedFile(file, frozenset(of_file))
            accepted = engine.known(ServerSettings(of_file, named=named))
            yield _KnownOfFile(
                file=file,
                arm=study_arm.name,
                place=f"{place}.settings",
                settings={**accepted.settings, **own},
                left_out=accepted.neutralised,
                unmentioned=_unmentioned(study, study_arm, accepted.neutralised),
            )


Point = Callable[[Sequence[str]], Sequence[str]]
"""Changes of a study → its overrides at one of several points."""


def with_known_changes(
    study: str,
    changes: Sequence[str],
    points: Iterable[Point],
    control: str | None,
    arm: str | None,
    account: str | None,
) -> list[str]:
    """The changes of several weighings without settings of files that a build of one of them
    refuses: they are left out of all, so that every one has the same arms, and are said. A point
    that is wrong, or has no build, says so when it is weighed."""
    known = [*changes]
    printed = set[tuple[Path, str]]()
    for overrides_at in points:
        overrides = overrides_at(known)
        try:
            point = read_study(study, overrides)
            every = [*_known_of_files(point, control, arm, account, overrides)]
        except SteelyardError:
            continue
        for each in every:
            if (each.file, each.place) not in printed:
                _say_unmentioned(each)
            printed.add((each.file, each.place))
            new = [gone for gone in each.left_out if (each.file, gone.what) not in printed]
            printed |= {(each.file, gone.what) for gone in new}
            _say_left_out(each.file, new)
            known = [*_narrowed(known, each)]
    return known


def _narrowed(changes: Iterable[str], known: _KnownOfFile) -> Iterator[str]:
    """The changes with what a build takes of a file in place of all that it says."""
    for change in changes:
        table, _, name = key_of(change).partition(".settings.")
        if not isinstance(change, Change) or f"{table}.settings" != known.place or not name:
            yield change
        elif (value := known.settings.get(setting_name(name))) is not None:
            yield change if value == change.value else Change(change.key, value)


def with_products(study: Study, account: str | None) -> Study:
    """The study whose arms that are named by their versions are named by those of their builds:
    18.4 in place of 18. EngineError: a build is not there."""
    by_version = [
        arm for arm in study.every_arm if arm.role and "version" in what_differs(study)[arm.name]
    ]
    if not by_version or any(arm.bindir for arm in study.every_arm) or study.is_external:
        return study
    from steelyard.engines.adapters import adapter
    from steelyard.engines.builds.same_builder import BuildRequest

    requests = [BuildRequest(arm.version) for arm in study.every_arm]
    contrib = study.contrib or study.statement_counters
    engines = adapter(study.engine).find_arms(requests, account, contrib=contrib)
    products = {
        arm.role: engine.identity.version
        for arm, engine in zip(study.every_arm, engines, strict=True)
        if arm in by_version
    }
    versions = {arm.role: arm.version for arm in by_version}
    if len({*products.values()}) < len({*versions.values()}):  # one version by two builders
        return study
    return with_names(study, products)


def require_unlike(study: Study, control: str | None = None, arm: str | None = None) -> None:
    """UsageError: arms that no one named are equal, so that there is nothing to weigh; and whatever
    their names where a file (`--control`, `--arm`) says what one of them is."""
    by_file = bool(_conf_file(control) or _conf_file(arm))
    bare = _bare(study, study.control)
    equal = [each for each in study.arms if (each.role or by_file) and _bare(study, each) == bare]
    if equal:
        raise UsageError(
            f"arm and control are equal: study {study.name} has nothing to weigh",
            detail=_OF_FILES
            if by_file
            else _EQUAL.get(study.name, "Same build, same settings, same data."),
            hint=f"Say what differs: {_differing(study)}. Equal arms are a question of their own: "
            "steelyard weigh aa",
        )


_OF_FILES = "Nothing is left of the file, or both have the same settings."
_EQUAL = {
    "builds": "Both are one directory.",
    "addresses": "Both are one address.",
}


def _differing(study: Study) -> str:
    """What to type."""
    if study.name == "builds":
        return "--control ./master/bin --arm ./patched/bin"
    if study.name == "addresses":
        return "--arm address=DSN of another server"
    if study.name == "versions":
        return "--set control.version=16 --set arm.version=18"
    return "--set arm.settings.NAME=VALUE"


def _bare(study: Study, arm: Arm) -> Arm:
    """An arm without its name, with all settings that it runs with, its directory and its address
    in one form."""
    from steelyard.engines.postgres.libpq.connection_words import connection_words
    from steelyard.engines.sqlserver.uri import is_sqlserver

    directory = None if arm.bindir is None else str(Path(arm.bindir).resolve())
    address = arm.address
    if address is not None and not is_sqlserver(address):
        address = json.dumps(connection_words(address), sort_keys=True)
    own = sorted(study.settings_of(arm).items())
    settings = {name.lower(): value.strip() for name, value in own}
    bare = {"name": "", "role": "", "against": None, "bindir": directory, "address": address}
    return arm.model_copy(update={**bare, "settings": settings})


def _conf_file(option: str | None) -> Path | None:
    """The file of `conf=FILE`; None: the option is not given, or says another thing."""
    names_file = option is not None and option.startswith(CONF)
    return (
        Path(option.removeprefix(CONF)).expanduser() if option is not None and names_file else None
    )


def ablation_changes(options: TuneOptions, overrides: Sequence[str]) -> list[str]:
    """Overrides for the options of `tune --ablate`, and after them those given, which lie above.

    UsageError: the study takes no profile apart.
    """
    name = options.study or ABLATION
    study = read_study(name, overrides)
    if all(arm.profile is None for arm in study.every_arm):
        raise UsageError(
            f'cannot ablate with study "{name}": none of its arms has a profile',
            hint='Give its arms one: profile = { name = "ours", without = ["log"] }.',
        )
    changes: list[str] = [] if options.memory is None else [Change("memory", options.memory)]
    changes += _of_ablation(options, "control", study.control)
    for arm in study.arms:
        changes += _of_ablation(options, arm_key(study, arm), arm)
    return [*changes, *overrides]


def _of_ablation(options: TuneOptions, key: str, arm: Arm) -> Iterator[str]:
    if arm.profile is not None and (options.profile or options.work):
        yield Change(f"{key}.profile", _profile_choice(options, arm.profile))
    if options.version is not None:
        yield Change(f"{key}.version", options.version)
    if options.bindir is not None:
        yield Change(f"{key}.bindir", str(options.bindir.resolve()))


def _profile_choice(options: TuneOptions, choice: ProfileChoice) -> dict[str, object]:
    """The arm's profile with what was named in place of its own."""
    work = options.work or choice.work
    worked = {} if work is None else {"work": work}
    return {"name": options.profile or choice.name, **worked, "without": list(choice.without)}
