"""Names arms by what they are: `random_page_cost=1.1`, `18.4`, `db1:5432`, the folder of a build.

An arm that a study names keeps its name. One without a name, and one whose treatment was changed
from that of a built-in study, is named by what sets it apart from the other arms.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from steelyard.model.secrets.redaction import is_secret_setting
from steelyard.model.units import format_duration
from steelyard.study.answer import Answer
from steelyard.study.arm import Arm, shown_sql
from steelyard.study.change import Table, usual_role
from steelyard.study.reaching.pooler import PoolerChoice
from steelyard.study.reaching.replication import Replication
from steelyard.study.study import Study

GENERIC = Answer(subject="{arm}", against=True)
"""How an arm is spoken of whose treatment no study has words for."""
MOST_LETTERS = 48
MOST_SETTINGS = 2
"""Settings that a name holds; more are counted."""
_PLACES = ("bindir", "directory", "wal_directory")
Folders = Mapping[str, Mapping[str, str]]
"""Key of an arm that is a directory → directory → what it is called in a name."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.=:/@%~*\[\]+-]+")
_ADDRESS_WORDS = ("dbname", "user", "options")
"""Words of a connection string that tell arms apart which reach one server, in this order."""


def treatment(study: Study, arm: Arm) -> dict[str, str]:
    """What an arm is: settings by their names, and what else it may differ in, by its key."""
    attributes = {
        "address": arm.address,
        "bindir": arm.bindir,
        "version": arm.version,
        "checksums": "on" if arm.checksums else "off",
        "defaults": arm.defaults,
        "connect": arm.connect,
        "directory": arm.directory,
        "wal_directory": arm.wal_directory,
        "pooler": None if arm.pooler is None else _pooler_name(arm.pooler),
        "replication": None if arm.replication is None else _replication_name(arm.replication),
        "telemetry": "on" if arm.telemetry else "off",
        "profile": None if arm.profile is None else _profile_words(arm),
        "sql": shown_sql(arm.sql) or None,
        "weight": None if arm.weight.is_none else arm.weight.model_dump_json(),
    }
    settings = {f"settings.{name}": value for name, value in study.settings_of(arm).items()}
    return {**{key: value for key, value in attributes.items() if value is not None}, **settings}


def arm_key(study: Study, arm: Arm) -> str:
    """How an override names an arm: `"control"`, `"arm"`, of several `"arm.off"` or `"arm.arm2"`;
    the names that arms have by what they are hold letters that no key has."""
    if arm is study.control:
        return "control"
    return "arm" if len(study.arms) == 1 else f"arm.{arm.role or arm.name}"


def origin_of_version(study: Study, key: str) -> str:
    """What arms have their version from, where an override of this key says it in vain; empty: it
    counts, or is of something else."""
    table, _, name = key.rpartition(".")
    every = {"": study.every_arm, "control": (study.control,), "arm": study.arms}
    named = [arm for arm in study.arms if table in (f"arm.{arm.name}", f"arm.{arm.role}")]
    arms = every.get(table, named)
    if name != "version" or not arms:
        return ""
    if study.is_external:
        return "the server at its address"
    return "" if any(arm.bindir is None for arm in arms) else "the build in its bindir"


def settings_table(study: Study, arm: Arm, setting: str) -> str:
    """The key of the table that a setting of an arm is to be said in, so that it counts there."""
    return "settings" if setting not in arm.settings else f"{arm_key(study, arm)}.settings"


def what_differs(study: Study) -> dict[str, dict[str, str]]:
    """Arm → its treatment, without what all arms have alike."""
    every = {arm.name or arm.role: treatment(study, arm) for arm in study.every_arm}
    keys = dict.fromkeys(key for facts in every.values() for key in facts)
    apart = [key for key in keys if len({facts.get(key) for facts in every.values()}) > 1]
    return {
        name: {key: facts[key] for key in apart if key in facts} for name, facts in every.items()
    }


def with_names(study: Study, products: Mapping[str, str] | None = None) -> Study:
    """The study in which every arm that has a role and no name is named by what it is.

    `products`: role → the version that its build turned out to be: `"18.4"`; with these, arms
    that were named by what they are get their names anew.
    """
    again = products is not None
    bare = [
        arm.model_copy(update={"name": ""}) if arm.role and (again or not arm.name) else arm
        for arm in study.every_arm
    ]
    if all(arm.name for arm in bare):
        return study
    apart = what_differs(_with_arms(study, bare))
    for role, version in (products or {}).items():
        if "version" in apart.get(role, {}):
            apart[role]["version"] = version
    folders = {key: _folders(apart, key) for key in _PLACES}
    names = [arm.name or _name(study, apart[arm.role], folders) or arm.role for arm in bare]
    arms = [
        arm if arm.name else arm.model_copy(update={"name": _unlike(name, names, arm.role)})
        for arm, name in zip(bare, names, strict=True)
    ]
    return _with_arms(study, arms)


def _unlike(name: str, names: Sequence[str], role: str) -> str:
    """The name, where no other arm has it; else the role."""
    return name if names.count(name) == 1 else role


def named_anew(study: Study, usual: Study) -> Study:
    """A study with other names for arms that are named by what they are, as a record's, and whose
    treatment is not that of its file (`usual`) any more."""
    now, before = what_differs(study), what_differs(usual)
    arms = [
        arm.model_copy(update={"name": ""})
        if arm.role and now[arm.name] != before.get(arm.name, now[arm.name])
        else arm
        for arm in study.every_arm
    ]
    return with_names(_with_arms(study, arms))


def renamed(study: Study, usual: Study, stated: Collection[str] = ()) -> Study:
    """A built-in study with names for the arms whose treatment is not that of its file (`usual`)
    any more, and with no words for what they answer. Names that were `stated` stay."""
    usual_names = {arm.name for arm in usual.every_arm}
    names = {arm.name for arm in study.every_arm if not arm.role}
    weighted = any(not arm.weight.is_none for arm in study.every_arm)
    if study.factors is not None or weighted or not names <= usual_names:
        return study
    now, before = what_differs(study), what_differs(usual)
    other = {
        arm.name
        for arm in study.every_arm
        if not arm.role and now[arm.name] != before.get(arm.name)
    }
    if not other:
        return study
    arms = [
        arm.model_copy(update={"role": arm.name, "name": ""})
        if arm.name in other and arm.name not in stated
        else arm
        for arm in study.every_arm
    ]
    retained = {
        name: answer
        for name, answer in study.answer.items()
        if name not in other and study.control.name not in other
    }
    generic = {arm.role or arm.name: GENERIC for arm in arms[1:] if arm.role or arm.name in other}
    answer = {**generic, **retained}
    if study.control.name in other:
        answer = {arm.name: GENERIC for arm in study.arms}
    return with_names(_with_arms(study.model_copy(update={"answer": answer}), arms))


def with_roles(table: Table) -> Table:
    """A study's table in which an arm has a role where it has no name, and none where it has one
    of its own."""
    arms = table.get("arms")
    if isinstance(arms, list):
        roles = map(usual_role, range(1, len(arms) + 1))
        table = {**table, "arms": [*map(_with_role, arms, roles)]}
    return (
        {**table, "control": _with_role(table["control"], "control")}
        if "control" in table
        else table
    )


def _with_role(arm: object, role: str) -> object:
    """As a record has it, both stand."""
    if not isinstance(arm, dict) or arm.get("name"):
        return arm
    return {**arm, "role": arm.get("role") or role}


def names_of_arms(table: Table) -> set[str]:
    """Names and roles of the arms in a study's table."""
    listed = table.get("arm")
    own = with_roles({"arms": [listed] if isinstance(listed, dict) else listed}).get("arms")
    arms = [arm for arm in own if isinstance(arm, dict)] if isinstance(own, list) else []
    return {str(arm[key]) for arm in arms for key in ("name", "role") if key in arm}


def answering_arms(study: Study) -> Study:
    """The study without words for arms that were left out."""
    arms = {name for arm in study.arms for name in (arm.name, arm.role)}
    answer = {name: words for name, words in study.answer.items() if name in arms}
    return study.model_copy(update={"answer": answer})


def clean_name(text: str) -> str:
    """The words as an arm may be named; empty where no letter of them may stand in a name."""
    name = _NOT_IN_NAMES.sub("_", text).rstrip("_").lstrip("_=:@%~*]+-.")
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 2]}.."


def _with_arms(study: Study, every: Sequence[Arm]) -> Study:
    return study.model_copy(update={"control": every[0], "arms": tuple(every[1:])})


def _name(study: Study, apart: Mapping[str, str], folders: Folders) -> str:
    """By what an arm differs in; where it has nothing of that, as it is without."""
    if not apart:
        return "as-it-stands" if study.source is not None or study.is_external else "default"
    parts = list(_parts(apart, folders))
    return clean_name("+".join(parts))


def _parts(apart: Mapping[str, str], folders: Folders) -> Iterator[str]:
    if "address" in apart:
        yield _address_name(apart["address"])
    if "bindir" in apart:
        yield folders["bindir"][apart["bindir"]]
    elif "version" in apart:
        yield apart["version"]
    for key in ("checksums", "telemetry"):
        if key in apart:
            yield f"{key}={apart[key]}"
    for key in ("defaults", "connect", "pooler", "replication", "profile", "sql"):
        if key in apart:
            yield apart[key]
    if "directory" in apart:
        yield folders["directory"][apart["directory"]]
    if "wal_directory" in apart:
        yield f"wal-{folders['wal_directory'][apart['wal_directory']]}"
    settings = [
        _setting_words(key.removeprefix("settings."), value)
        for key, value in apart.items()
        if key.startswith("settings.")
    ]
    yield from settings[:MOST_SETTINGS]
    more = len(settings) - MOST_SETTINGS
    if more > 0:
        yield f"{more}-more"


def _setting_words(name: str, value: str) -> str:
    """`jit=off`; of a value that may be a secret the name alone."""
    return name if is_secret_setting(name, value) else f"{name}={value}"


def _folders(apart: Mapping[str, Mapping[str, str]], key: str) -> dict[str, str]:
    """Directory that arms have under a key → what it is called."""
    return unlike_parts([facts[key] for facts in apart.values() if key in facts])


def unlike_parts(places: Sequence[str]) -> dict[str, str]:
    """Directory → the part of its path that no other has: `master` of `./master/bin`."""
    parts = {
        directory: [p for p in PurePosixPath(directory).parts if p != "/"] for directory in places
    }
    folders = {}
    for directory, components in parts.items():
        others = [other for name, other in parts.items() if name != directory]
        unlike = [
            word
            for back, word in enumerate(reversed(components), 1)
            if all(len(other) < back or other[-back] != word for other in others)
        ]
        folders[directory] = unlike[0] if unlike else (components[-1] if components else directory)
    return folders


def _address_name(address: str) -> str:
    """`host:port`, and the database or the role where it stands alone."""
    try:
        if "://" in address:
            split = urlsplit(address)
            return split.netloc.rpartition("@")[2] or split.path.strip("/")
        keywords = dict(pair.partition("=")[::2] for pair in shlex.split(address))
    except ValueError:
        return address
    if "port" in keywords and not keywords.get("host"):  # the host is that of the study's address
        return f"port-{keywords['port']}"
    endpoint = ":".join(keywords[key] for key in ("host", "port") if keywords.get(key))
    alone = [keywords[key] for key in _ADDRESS_WORDS if keywords.get(key)]
    return endpoint or "/".join(alone) or keywords.get("service", "") or address


def _replication_name(replication: Replication) -> str:
    """`standbys=2+quorum=2+round-trip=1ms`."""
    parts = [f"standbys={replication.standbys}"]
    if replication.quorum != 1:
        parts.append(f"quorum={replication.quorum}")
    if replication.round_trip:
        length = format_duration(replication.round_trip).replace("µ", "u")
        parts.append(f"round-trip={length.replace(' ', '')}")
    if replication.reads == "standby":
        parts.append("reads=standby")
    return "+".join(parts)


def _pooler_name(pooler: PoolerChoice) -> str:
    """`pgbouncer`, `pgbouncer+connections=32`, with the program where one is named."""
    parts: list[str] = [pooler.name]
    if pooler.connections != PoolerChoice(name="pgbouncer").connections:
        parts.append(f"connections={pooler.connections}")
    return "+".join([*parts, *([pooler.program] if pooler.program else [])])


def _profile_words(arm: Arm) -> str:
    assert arm.profile is not None  # the caller asks where there is one
    without = [f"without-{group}" for group in arm.profile.without]
    return "-".join([f"profile-{arm.profile.name}", *without])
