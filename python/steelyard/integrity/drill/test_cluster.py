"""Makes the ground that is drilled on: a cluster with many copies of one table, all content known.

A fault goes into one copy, so that one start of the server meets as many faults as there are
copies. Of every file the drill keeps what it was before the last writes, for stale and torn pages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from steelyard._core import read_control
from steelyard.engines.engine import Settings, Slot
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.control import CONTROL_FILE
from steelyard.engines.postgres.postgres import Postgres
from steelyard.integrity.drill.questions import Answers, ask_all, statements
from steelyard.model.errors import UsageError

MARKER = "steelyard.drill"
"""Stands in every data directory that a drill made: faults are planted nowhere else."""
PLACES = ("heap", "index", "TOAST", "FSM", "VM")
QUIET = {
    "autovacuum": "off",
    "fsync": "off",
    "restart_after_crash": "on",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "checkpoint_timeout": "1h",
    "max_wal_size": "4GB",
    "shared_buffers": "32MB",
    "log_min_messages": "warning",
}
_ROWS, _LONG_ROWS = 400, 12
_TABLE = """
CREATE TABLE drill_{n} (id int, tag int, filler text, long text) WITH (fillfactor = 100)
ALTER TABLE drill_{n} ALTER long SET STORAGE EXTERNAL
INSERT INTO drill_{n} SELECT i, i, repeat(md5((i + {n})::text), 4),
 CASE WHEN i <= {long} THEN repeat(md5((i * 7 + {n})::text), 150) END
 FROM generate_series(1, {rows}) i
CREATE INDEX drill_{n}_id ON drill_{n} (id)
VACUUM (ANALYZE) drill_{n}
"""
_PATHS = """
SELECT c.relname, pg_relation_filepath(c.oid), pg_relation_filepath(c.reltoastrelid)
FROM pg_class c WHERE c.relname LIKE 'drill_%'
"""


@dataclass(frozen=True)
class Ground:
    """A stopped cluster that is never damaged itself, a clone of it, and what is known of both."""

    engine: Postgres
    template: Cluster
    clone: Cluster
    slot: Slot
    copies: int  # that are damaged; one more, of this number, never is
    files: dict[tuple[int, str], str]  # (copy, place) → path relative to the data directory
    before: dict[str, bytes]  # path → the file as it was before the last writes
    truth: dict[int, Answers]
    start: int  # where a base backup of it begins at the earliest

    @property
    def sound(self) -> tuple[int, Answers]:
        """The copy that is never damaged, and its true answers."""
        return self.copies, self.truth[self.copies]

    def now(self, path: str) -> bytes:
        """A file as it should be."""
        return (self.template.directory / path).read_bytes()

    def restore(self) -> None:
        """Make the clone sound again."""
        if self.clone.running:
            self.clone.crash()
        self.clone.stop()
        self.clone.restore(self.template.directory)

    def make_ready(self, arm: str) -> None:
        """Make the clone sound, and its own checksums as the arm has them: "off", or on."""
        require_ours(self.clone.directory)
        self.restore()
        if arm == "off":
            self.clone.protect("none")

    @contextmanager
    def alive(self, settings: Settings | None = None) -> Iterator[Cluster]:
        """The clone while it runs; ended without a checkpoint, which would write over faults."""
        self.clone.start(self.slot, {**QUIET, **(settings or {})})
        try:
            yield self.clone
        finally:
            if self.clone.running:
                self.clone.crash()


def make_ground(engine: Postgres, slot: Slot, copies: int) -> Ground:
    """A new cluster with content in two states, the earlier of them remembered."""
    template = engine.create(slot.path / "ground", protection="checksums")
    (template.directory / MARKER).write_text("A drill made this directory and may damage it.\n")
    template.start(slot, QUIET)
    for number in range(copies + 1):
        text = _TABLE.format(n=number, rows=_ROWS, long=_LONG_ROWS).replace("\n ", " ")
        statements(template.address, text.strip().splitlines())
    files = _files(template)
    template.stop()
    before = {path: (template.directory / path).read_bytes() for path in files.values()}
    template.start(slot, QUIET)
    changes = [
        f"UPDATE drill_{n} SET tag = tag + 1, long = reverse(long) WHERE mod(id, 3) = 0"
        for n in range(copies + 1)
    ]
    statements(template.address, changes)
    template.stop()
    start = read_control(template.directory / CONTROL_FILE)["redo"]
    clone = template.clone(slot.path / "drilled")
    ground = Ground(engine, template, clone, slot, copies, files, before, {}, start)
    with ground.alive() as alive:
        truth = ask_all(alive.address, range(copies + 1))
    ground.restore()
    return Ground(engine, template, clone, slot, copies, files, before, truth, start)


def rows_of(number: int) -> list[tuple[str, ...]]:
    """What a copy holds, as COPY writes it."""
    rows: list[tuple[str, ...]] = []
    for i in range(1, _ROWS + 1):
        changed = i % 3 == 0
        filler = hashlib.md5(str(i + number).encode()).hexdigest() * 4
        long = hashlib.md5(str(i * 7 + number).encode()).hexdigest() * 150
        long = "\\N" if i > _LONG_ROWS else long[::-1] if changed else long
        rows.append((str(i), str(i + changed), filler, long))
    return rows


def _files(cluster: Cluster) -> dict[tuple[int, str], str]:
    found: dict[tuple[int, str], str] = {}
    for name, path, toast in statements(cluster.address, [_PATHS]):
        number = int(name.split("_")[1])
        if name.endswith("_id"):
            found[number, "index"] = path
            continue
        found |= {(number, "heap"): path, (number, "TOAST"): toast}
        found |= {(number, "FSM"): f"{path}_fsm", (number, "VM"): f"{path}_vm"}
    return found


def require_ours(directory: Path) -> None:
    """UsageError unless a drill made this data directory."""
    if not (directory / MARKER).is_file():
        raise UsageError(
            f'cannot damage "{directory}": it was not made by a drill',
            hint="A drill makes its own clusters; there is no way to point it at another.",
        )
