"""Makes loaded, cleanly stopped clusters once, and finds them again: the templates of all arms, and
those in which an arm's own SQL was executed.

A template is in the cache as `templates/KEY/data` with `template.json` beside it. It is made in the
place of a run (so that a killed owner's server and files are cleaned away at the next start),
written to disk, and only then renamed to its key: what has the name is whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard.engines.account import Account, choose_account
from steelyard.engines.cache import Cache, free_bytes, open_cache, require_room, tree_bytes
from steelyard.engines.capabilities.life import Clonable
from steelyard.engines.copying import write_back
from steelyard.engines.engine import Slot
from steelyard.engines.file_lock import locked
from steelyard.engines.loading import TemplateEngine, database_of, serving
from steelyard.engines.registry import open_run
from steelyard.model.errors import EngineError, ServerError
from steelyard.model.files.bounded_json import read_json
from steelyard.model.files.own_directory import write_whole
from steelyard.model.identity import Identity
from steelyard.workloads.loading.disk_space import Report, require_space
from steelyard.workloads.loading.load import LoadReport, load
from steelyard.workloads.loading.tables import require_generators
from steelyard.workloads.reading.option import OptionValue
from steelyard.workloads.reading.workload import Workload

FORMAT = 3
"""Raised when the loader makes other bytes of the same workload, or lays them out otherwise."""

DESCRIPTION = "template.json"


@dataclass(frozen=True)
class TemplateDescription:
    """How a template was made, as `template.json` keeps it."""

    format: int
    version: str
    builder: str
    workload: str
    options: dict[str, OptionValue]
    digest: str
    scale: int
    rows: int
    tables: dict[str, int]
    """Rows by table."""
    digests: dict[str, str]
    """Of the bytes that were sent, by table."""
    database_bytes: int
    bytes: int
    """On the disk, of the whole cluster."""
    load_seconds: float
    system_identifier: int | None
    made: str
    seconds: float
    """With making the cluster and stopping the server."""
    source: dict[str, Any] | None = None
    """What is known of data that were taken in; None: the workload loaded them."""
    sql: list[str] = field(default_factory=list)
    """What was executed in it for one arm alone."""
    files: str | None = None
    """SHA-256 of the names and sizes of its files; None: a template from before this was kept."""


def template(
    engine: TemplateEngine,
    workload: Workload,
    scale: int,
    report: Report | None = None,
    *,
    copies: int = 2,
    number: int = 0,
) -> Path:
    """The data directory of a loaded, stopped cluster with checksums on; made where missing.

    `number` tells separate loads of the same rows apart. One process makes a template while others
    wait. EngineError: not enough room on the disk for it and `copies` clones; ServerError: the
    server's words.
    """
    workload.check_scale(scale)
    reported = report or (lambda _: None)
    cache = open_cache()
    key = template_key(engine.identity, workload, scale, number, engine.catalogue_edition())
    key = own_key(key, engine.account)
    home = cache.templates / key
    with sole_maker(cache, key, reported):
        if not trusted(engine, home, reported):
            require_generators(workload)
            require_space(cache, workload, scale, copies)
            shutil.rmtree(home, ignore_errors=True)
            _make(engine, workload, scale, cache, home, reported)
    return home / "data"


def template_key(
    identity: Identity,
    workload: Workload,
    scale: int,
    number: int = 0,
    edition: Sequence[int] = (),
) -> str:
    """The name of a template: readable, with a hash of all that decides its bytes.

    `edition` tells builds of one version apart whose data directories may differ.
    """
    decisive = [
        FORMAT,
        identity.version_number,
        identity.builder,
        identity.configure,
        identity.cflags,
        workload.digest(),
        scale,
        *edition,
    ]
    digest = hashlib.sha256(json.dumps(decisive).encode()).hexdigest()[:12]
    version = re.sub(r"[^A-Za-z0-9.]", "_", identity.version)
    again = f"-load{number + 1}" if number else ""
    return f"{identity.kind}-{version}-{workload.loaded_name}-{scale}-{digest}{again}"


def own_key(key: str, account: Account) -> str:
    """The name of the template of an account that was chosen: only it can read what is its own."""
    return key if account == choose_account() else f"{key}-as-{account.name}"


def trusted(engine: TemplateEngine, home: Path, report: Report = lambda _: None) -> bool:
    """Whether a whole template is here: described, cleanly stopped, with checksums on, every file
    as long as when it was made. Where that is not so, `report` has it."""
    described = description(home / "data")
    identifier = engine.stopped_identifier(home / "data")
    if described is None or identifier is None:
        return False
    if (described.format, described.system_identifier) != (FORMAT, identifier):
        return False
    if described.files not in (None, _names_and_sizes(home / "data")):
        report(
            f'note: the loaded data in "{home}" were damaged: names or sizes of files are not what '
            "they were. They are made anew; `steelyard engines clear --templates` removes all"
        )
        return False
    return True


def _names_and_sizes(data: Path) -> str:
    """A digest of the names and sizes of all files below a stopped cluster."""
    digest = hashlib.sha256()
    for directory, below, names in os.walk(data):
        below.sort()
        for name in sorted(names):
            path = os.path.join(directory, name)
            line = f"{os.path.relpath(path, data)}\0{os.lstat(path).st_size}\n"
            digest.update(line.encode(errors="surrogateescape"))
    return digest.hexdigest()


def description(template: Path) -> TemplateDescription | None:
    """What is known of how the template was made; None where nothing is."""
    try:
        return TemplateDescription(**read_json(template.parent / DESCRIPTION))
    except (OSError, ValueError, TypeError):  # a TypeError: other keys, or no object
        return None


@contextmanager
def sole_maker(cache: Cache, key: str, report: Report) -> Iterator[None]:
    # The lock file stays: removed while another process waits for it, it would let two in.
    with locked(
        cache.templates / f"{key}.lock",
        lambda: report("wait: another process is loading the same data"),
    ):
        if (cache.templates / key).is_symlink():
            (cache.templates / key).unlink()
        yield


def _make(
    engine: TemplateEngine,
    workload: Workload,
    scale: int,
    cache: Cache,
    home: Path,
    report: Report,
) -> None:
    started = time.monotonic()
    with making(engine, cache, home, report) as (slot, move):
        report("make an empty cluster")
        cluster = engine.create(slot.path / "data", protection=engine.protections[0])
        with serving(cluster, slot, engine.load_settings, report):
            loaded = load(workload, database_of(cluster), scale, report)
        data = move()
        seconds = time.monotonic() - started
        describe(data, _described(engine, workload, scale, loaded, data, seconds))


Made = Callable[[], Path]
"""Moves the stopped cluster out of its slot, to where it is described; the directory it is in."""


@contextmanager
def making(
    engine: TemplateEngine, cache: Cache, home: Path, report: Report
) -> Iterator[tuple[Slot, Made]]:
    """A slot whose `data` becomes a template when the block ends: written to disk, then renamed to
    its place. The block calls the second once its cluster is stopped, and describes it."""
    with open_run(cache, engine.account) as run:
        slot = Slot(0, run.directory / "slot0", run.sockets, 5432)
        path = run.directory / "template"

        def moved() -> Path:
            path.mkdir(mode=0o711)
            (slot.path / "data").rename(path / "data")
            return path

        try:
            yield slot, moved
        except ServerError as failure:
            if str(run.directory) in (failure.hint or ""):  # it is removed now, with its logs
                failure.hint = None
            raise
        report("write to disk")
        write_back(path)  # the load ran without fsync: what it wrote reaches the disk here, once
        path.rename(home)


def describe(directory: Path, described: TemplateDescription) -> None:
    """Write beside a cluster how it was made, and by which it is seen to be whole."""
    whole = replace(described, files=_names_and_sizes(directory / "data"))
    write_whole(directory / DESCRIPTION, json.dumps(asdict(whole), indent=2) + "\n")


def _described(
    engine: TemplateEngine,
    workload: Workload,
    scale: int,
    loaded: LoadReport,
    directory: Path,
    seconds: float,
) -> TemplateDescription:
    return TemplateDescription(
        format=FORMAT,
        version=engine.identity.version,
        builder=engine.identity.builder,
        workload=workload.loaded_name,
        options=workload.loading,
        digest=workload.digest(),
        scale=scale,
        rows=loaded.rows,
        tables=loaded.tables,
        digests=loaded.digests,
        database_bytes=loaded.bytes,
        bytes=tree_bytes(directory),
        load_seconds=round(loaded.seconds, 3),
        system_identifier=engine.stopped_identifier(directory / "data"),
        made=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        seconds=round(seconds, 3),
    )


def template_after_sql(
    engine: TemplateEngine,
    template: Path,
    statements: Sequence[str],
    arm: str,
    report: Report,
    *,
    copies: int,
) -> Path:
    """The data directory of a copy of a template in which these statements were executed, each a
    transaction of its own; made where missing.

    ServerError quotes the statement that the server refused; EngineError: no room for it and
    `copies` clones.
    """
    cache = open_cache()
    key = key_after_sql(template, statements, engine.catalogue_edition())
    home = cache.templates / key
    with sole_maker(cache, key, report):
        if not trusted(engine, home, report):
            _require_space(template, copies)
            shutil.rmtree(home, ignore_errors=True)
            started = time.monotonic()
            with making(engine, cache, home, report) as (slot, move):
                report(f'copy the data for arm "{arm}"')
                original = engine.open(template)
                if not isinstance(original, Clonable):
                    raise EngineError(f"engine cannot clone its databases: {engine.identity.kind}")
                copy = original.clone(slot.path / "data")
                report(f'execute the sql of arm "{arm}"')
                with (
                    serving(copy, slot, engine.load_settings, report),
                    database_of(copy).checker() as checker,
                ):
                    checker.execute(statements, f'sql of arm "{arm}"')
                data, seconds = move(), time.monotonic() - started
                facts = description(template)
                assert facts is not None  # what is trusted is described
                described = replace(
                    facts,
                    bytes=tree_bytes(data),
                    system_identifier=engine.stopped_identifier(data / "data"),
                    made=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                    seconds=round(facts.seconds + seconds, 3),
                    sql=list(statements),
                )
                describe(data, described)
    return home / "data"


def key_after_sql(template: Path, statements: Sequence[str], edition: Sequence[int] = ()) -> str:
    """The name of an altered template: that of the loaded one, with a hash of the statements and of
    how their server stores values and gathers statistics."""
    decisive = json.dumps([*statements, *edition])
    digest = hashlib.sha256(decisive.encode()).hexdigest()[:12]
    return f"{template.parent.name}-sql-{digest}"


def _require_space(template: Path, copies: int) -> None:
    """Rewriting a table holds it twice for a moment."""
    each, root = tree_bytes(template), open_cache().root
    require_room(
        "could not copy the data for an arm",
        each * (2 + copies),
        free_bytes(root),
        detail=f'Needed under "{root}" for its own copy and {copies} clones.',
        hint="Free some room, or choose a smaller scale.",
    )
