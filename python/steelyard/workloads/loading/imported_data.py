"""Makes templates of external data, once, and finds them again; reads its server's settings."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shlex
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from steelyard.engines.adapters import adapter
from steelyard.engines.cache import (
    SETTINGS_PREFIX,
    free_bytes,
    known_cache,
    open_cache,
    require_room,
    tree_bytes,
)
from steelyard.engines.intake import (
    DataPlace,
    ImportedCluster,
    Intake,
    Neutralised,
    Overridden,
    ServerSettings,
    SettingsPlace,
    TakesIn,
)
from steelyard.engines.loading import StoresValues, TemplateEngine
from steelyard.engines.own_backup import backup_token, is_marked, remove_backup
from steelyard.model.errors import EngineError, UsageError
from steelyard.model.identity import Identity
from steelyard.study.study import Source, Study
from steelyard.workloads.loading.disk_space import Report
from steelyard.workloads.loading.template import (
    FORMAT,
    TemplateDescription,
    describe,
    description,
    making,
    own_key,
    sole_maker,
    trusted,
)

INTAKE = 6
"""Raised when a copy is made otherwise."""
_DUMP_GROWS = 8
"""Times that a compressed dump may be as large when it is restored, keys included."""


def resolve_source(study: Study, *, version_named: bool = False) -> Study:
    """A study that states what was found at its source: which files, and, where its arms are all of
    one version that is not named, the one that the data belong to.

    UsageError or EngineError: what is there cannot be taken in.
    """
    source = study.source
    if source is None or source.digest is not None:
        return study
    place = adapter(study.engine).inspect_source(Path(source.place))
    _require_outside_rooms(place.path)
    resolved = source.model_copy(
        update={
            "place": str(place.path),
            "kind": place.kind,
            "digest": place.digest,
            "backup": source.backup or backup_token(place.path),
        }
    )
    settings = adapter(study.engine).read_server_settings(settings_place(resolved))
    resolved = resolved.model_copy(update={"settings_digest": settings.digest})
    changes: dict[str, object] = {"source": resolved}
    one_build = len({(arm.version, arm.bindir) for arm in study.every_arm}) == 1
    if place.major is not None and one_build and not version_named and not study.control.bindir:
        control, *arms = (
            arm.model_copy(update={"version": place.major}) for arm in study.every_arm
        )
        changes |= {"control": control, "arms": tuple(arms)}
    return study.model_copy(update=changes)


def settings_place(source: Source) -> SettingsPlace:
    """Where the settings of a source's server are."""
    kind = source.kind or "data directory"
    config = None if source.config is None else Path(source.config)
    return SettingsPlace(Path(source.place), kind, config, source.reported)


def server_settings(kind: str, source: Source) -> ServerSettings:
    """The settings of a source's server, as they are now. EngineError: they are not what they were
    when the study was made, or cannot be read.

    `kind`: the engine's, of the study.
    """
    settings = _kept_settings(source) or adapter(kind).read_server_settings(settings_place(source))
    if source.settings_digest not in (None, settings.digest):
        raise EngineError(
            f'could not take in "{source.place}": the settings of its server are others',
            detail="They are not what they were when the study was made.",
            hint="Begin a new weighing with --from: it weighs them as they are now.",
        )
    settings = replace(settings, missing=source.partial) if source.partial else settings
    _keep_settings(settings)
    return settings


def _kept_file(digest: str) -> Path:
    return open_cache().templates / f"{SETTINGS_PREFIX}{digest[:12]}.json"


def _keep_settings(settings: ServerSettings) -> None:
    """Keep them beside the copy, for a weighing that is resumed when the original is gone."""
    file = _kept_file(settings.digest)
    draft = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(draft, flags, 0o600), "w", encoding="utf-8") as opened:
        json.dump(asdict(replace(settings, named=None)), opened)
    draft.rename(file)


def _kept_settings(source: Source) -> ServerSettings | None:
    """Those of a study whose original is gone; None: it is there, or they were not kept."""
    places = [Path(path) for path in (source.place, source.config) if path is not None]
    if source.settings_digest is None or all(path.exists() for path in places):
        return None
    try:
        document = json.loads(_kept_file(source.settings_digest).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    gone = tuple(Neutralised(**row) for row in document["neutralised"])
    overridden = tuple(Overridden(**row) for row in document.get("overridden", []))
    return ServerSettings(document["settings"], gone, document["missing"], overridden=overridden)


def import_template(
    engine: TemplateEngine, kind: str, source: Source, report: Report, *, copies: int, number: int
) -> Path:
    """The data directory of a copy of `source`, stopped, with checksums on; made where missing.

    `kind`: the engine's, of the study. `number` tells separate loads of a dump apart; of files
    there is but one. EngineError: the source is not what it was, or there is no room.
    """
    cache = open_cache()
    is_dump = source.kind == "dump"
    edition = engine.catalogue_edition() if is_dump and isinstance(engine, StoresValues) else ()
    key = import_key(engine.identity, source, number if is_dump else 0, edition)
    key = own_key(key, engine.account)
    home = cache.templates / key
    with sole_maker(cache, key, report):
        if not trusted(engine, home, report):
            place = _unchanged(adapter(kind).inspect_source(Path(source.place)), source)
            _require_space(place, copies)
            shutil.rmtree(home, ignore_errors=True)
            started = time.monotonic()
            with making(engine, cache, home, report) as (slot, move):
                if not isinstance(engine, TakesIn):
                    raise UsageError(f'engine "{engine.identity.kind}" takes in no data')
                intake = Intake(place, source.database, settings_place(source))
                cluster = engine.take_in(intake, slot, report)
                data = move()
                seconds = time.monotonic() - started
                describe(data, _described(engine, place, source, cluster, data, seconds))
    return home / "data"


def without_backup(study: Study) -> Study:
    """A study whose weighing leaves the base backup of its data, which others take too."""
    source = study.source
    if source is None or source.backup is None:
        return study
    return study.model_copy(update={"source": source.model_copy(update={"backup": None})})


def drop_backup(source: Source) -> None:
    """Remove the base backup that was taken for this weighing alone, of which every arm has its
    data by now; a place that a user named stays, wherever it is."""
    remove_backup(Path(source.place), source.backup)


def import_key(identity: Identity, source: Source, number: int, edition: Sequence[int] = ()) -> str:
    """The name of a template: readable, with a hash of all that decides its bytes.

    `edition` tells builds of one version apart, and ways to store values.
    """
    decisive = [
        FORMAT,
        INTAKE,
        identity.version_number,
        identity.builder,
        identity.configure,
        source.digest,
        source.database,
        *edition,
    ]
    digest = hashlib.sha256(json.dumps(decisive).encode()).hexdigest()[:12]
    version = re.sub(r"[^A-Za-z0-9.]", "_", identity.version)
    name = re.sub(r"[^A-Za-z0-9.]", "_", Path(source.place).name)[:40]
    again = f"-load{number + 1}" if number else ""
    return f"{identity.kind}-{version}-from-{name}-{digest}{again}"


def _require_outside_rooms(path: Path) -> None:
    """UsageError for a user's place in a room of the cache, all of which `engines clear` removes;
    templates and backups of ours are taken in like any other."""
    room = known_cache().room_of(path)
    if room is None or is_marked(path) or description(path) is not None:
        return
    raise UsageError(
        f'will not take in "{path}": it is in "{room}", where what is not in use is removed',
        hint=f"Move it out of the cache, and name its new place: mv {shlex.quote(str(path))} DIR",
    )


def _unchanged(place: DataPlace, source: Source) -> DataPlace:
    if source.digest is not None and place.digest != source.digest:
        raise EngineError(
            f'could not take in "{place.path}": it is not what it was when the study was made',
            detail="Names, sizes or times of its files are others.",
            hint="Begin a new weighing with --from, on the data as they are now.",
        )
    return place


def _require_space(place: DataPlace, copies: int) -> None:
    each = place.bytes * (_DUMP_GROWS if place.kind == "dump" else 1)
    needed = each * (1 + copies)
    root = open_cache().root
    require_room(
        f'could not take in "{place.path}"',
        needed,
        free_bytes(root),
        detail=f'Needed under "{root}" for the data and {copies} copies of it.',
    )


def _described(
    engine: TemplateEngine,
    place: DataPlace,
    source: Source,
    cluster: ImportedCluster,
    directory: Path,
    seconds: float,
) -> TemplateDescription:
    return TemplateDescription(
        format=FORMAT,
        version=engine.identity.version,
        builder=engine.identity.builder,
        workload=f"from {place.path.name}",
        options={},
        digest=place.digest,
        scale=1,
        rows=0,
        tables={},
        digests={},
        database_bytes=cluster.database_bytes,
        bytes=tree_bytes(directory),
        load_seconds=round(seconds, 3),
        system_identifier=engine.stopped_identifier(directory / "data"),
        made=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        seconds=round(seconds, 3),
        source={
            "kind": place.kind,
            "name": place.path.name,
            "major": place.major,
            "database": cluster.database,
            "database_bytes": cluster.database_bytes,
            "neutralised": [asdict(setting) for setting in cluster.neutralised],
            "doubts": list(cluster.doubts),
        },
    )
