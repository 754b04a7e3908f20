"""Makes loaded, cleanly stopped clusters once, and finds them again: the templates of all arms.

A template stands in the cache as `templates/KEY/data` with `template.json` beside it. It is made
in the place of a run (so that a killed owner's server and files are cleaned away at the next
start), written to disk, and only then renamed to its key: what has the name is whole.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.engines.cache import Cache, open_cache, tree_bytes
from steelyard.engines.engine import Slot
from steelyard.engines.postgres.life.control import stopped_identifier
from steelyard.engines.registry import open_run
from steelyard.workloads.loading.filling import require_generators
from steelyard.workloads.loading.load import LoadReport, load
from steelyard.workloads.loading.pace import Progress
from steelyard.workloads.loading.room import require_room
from steelyard.workloads.reading.workload import Workload

if TYPE_CHECKING:
    from steelyard.engines.engine import LoadableEngine
    from steelyard.model.identity import Identity

FORMAT = 3
"""Raised when the loader makes other bytes of the same workload, or lays them out otherwise."""

DESCRIPTION = "template.json"

LOAD_SETTINGS: Mapping[str, str] = {
    # Nobody reads this cluster before it is whole and on disk: no log of the rows, no waiting.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_wal_size": "16GB",
    "checkpoint_timeout": "1d",
    "shared_buffers": "128MB",
    "maintenance_work_mem": "512MB",
    # Rows arrive in the order of their keys: workers made the keys no faster, on 28 % more CPU.
    "max_parallel_maintenance_workers": "0",
    # One log segment is enough to start from, and every clone copies what stands there: the log
    # of what SQL inserts is not kept for later use.
    "min_wal_size": "32MB",
    "wal_recycle": "off",
}


def template(
    engine: LoadableEngine,
    workload: Workload,
    scale: int,
    progress: Progress | None = None,
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
    told = progress or (lambda _: None)
    cache = open_cache()
    key = template_key(engine.identity, workload, scale, number)
    home = cache.templates / key
    with _sole_maker(cache, key, told):
        if not trusted(home):
            require_generators(workload)
            require_room(cache, workload, scale, copies)
            shutil.rmtree(home, ignore_errors=True)
            _make(engine, workload, scale, cache, home, told)
    return home / "data"


def template_key(identity: Identity, workload: Workload, scale: int, number: int = 0) -> str:
    """The name of a template: readable, with a hash of all that decides its bytes."""
    decisive = [
        FORMAT,
        identity.version_number,
        identity.builder,
        identity.configure,
        identity.cflags,
        workload.digest(),
        scale,
        *_edition(identity),
    ]
    digest = hashlib.sha256(json.dumps(decisive).encode()).hexdigest()[:12]
    version = re.sub(r"[^A-Za-z0-9.]", "_", identity.version)
    again = f"-load{number + 1}" if number else ""
    return f"{identity.kind}-{version}-{workload.loaded_name}-{scale}-{digest}{again}"


def _edition(identity: Identity) -> list[int]:
    """Of a version that is still being written, each build may have a catalogue of its own."""
    server = Path(identity.bindir) / "postgres"
    if re.fullmatch(r"[0-9.]+", identity.version) or not server.is_file():
        return []
    status = server.stat()
    return [status.st_size, status.st_mtime_ns]


def trusted(home: Path) -> bool:
    """Whether a whole template stands here: described, cleanly stopped, with checksums on."""
    described = description(home / "data")
    identifier = stopped_identifier(home / "data")
    known = (described.get("format"), described.get("system_identifier"))
    return identifier is not None and known == (FORMAT, identifier)


def description(template: Path) -> dict[str, Any]:
    """What is known of how the template was made; empty where nothing is."""
    try:
        found = json.loads((template.parent / DESCRIPTION).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


@contextmanager
def _sole_maker(cache: Cache, key: str, told: Progress) -> Iterator[None]:
    # The lock file stays: removed while another process waits for it, it would let two in.
    with (cache.templates / f"{key}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            told("wait: another process is loading the same data")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(
    engine: LoadableEngine, workload: Workload, scale: int, cache: Cache, home: Path, told: Progress
) -> None:
    started = time.monotonic()
    with open_run(cache, engine.account) as run:
        slot = Slot(0, run.directory / "slot0", run.sockets, 5432)
        told("make an empty cluster")
        cluster = engine.create(slot.path / "data", protection="checksums")
        cluster.start(slot, LOAD_SETTINGS)
        try:
            loaded = load(workload, cluster.address, scale, told)
        finally:
            told("stop the server")
            cluster.stop()
        made = run.directory / "template"
        made.mkdir(mode=0o711)
        (slot.path / "data").rename(made / "data")
        described = _described(engine.identity, workload, scale, loaded, made)
        described["seconds"] = round(time.monotonic() - started, 3)
        (made / DESCRIPTION).write_text(json.dumps(described, indent=2) + "\n")
        told("write to disk")
        _write_back(made)
        made.rename(home)


def _described(
    identity: Identity, workload: Workload, scale: int, loaded: LoadReport, made: Path
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": identity.version,
        "builder": identity.builder,
        "workload": workload.loaded_name,
        "options": workload.loading,
        "digest": workload.digest(),
        "scale": scale,
        "rows": loaded.rows,
        "tables": loaded.tables,
        "digests": loaded.digests,
        "database_bytes": loaded.bytes,
        "bytes": tree_bytes(made),
        "load_seconds": round(loaded.seconds, 3),
        "system_identifier": stopped_identifier(made / "data"),
        "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _write_back(made: Path) -> None:
    """The load ran with fsync off: what it wrote reaches the disk here, once."""
    from steelyard.engines.copying import write_back

    write_back(made)
