"""Works out each setting of a profile: its value, why, after whom, and where sources disagree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from steelyard.model.readings import WorkKind
from steelyard.model.setting_value import GB, MB, Allowed, size_text
from steelyard.model.units import format_bytes, format_digits
from steelyard.tuning.profile.advice import Advice, LeftAlone
from steelyard.tuning.profile.basis import Basis
from steelyard.tuning.profile.shares import SESSIONS_SHARE, Shares, work_processes

FIRST_OF_19 = 190000
DOCS = "PostgreSQL documentation"
PGTUNE, TIMESCALE = "pgtune 7caef27", "timescaledb-tune c7a642b"
RESERVED = {"superuser_reserved_connections": 3, "reserved_connections": 0}
"""Connections that ordinary sessions do not get, by default."""
_LOG_BYTES: Mapping[WorkKind, int] = {"oltp": 8 * GB, "mixed": 8 * GB, "olap": 16 * GB}
_LEAST_LOG = 1 * GB


def _worker_settings(basis: Basis) -> dict[str, str]:
    return {advice.name: advice.value for advice in _workers(basis)}


def _with_workers(basis: Basis) -> str:
    more = work_processes(basis, _worker_settings(basis)) - basis.clients
    return f", as have {more} parallel workers" if more else ""


def advised(basis: Basis, allowed: Mapping[str, Allowed]) -> Iterator[Advice]:
    """Every setting, in the order in which a person reads them."""
    yield from _memory(basis, Shares.of(basis, allowed, _worker_settings(basis)))
    yield from _log(basis, allowed)
    yield from _planner(basis)
    yield from _storage(basis, allowed)
    yield from _workers(basis)
    yield _connections(basis, allowed)


def _memory(basis: Basis, shares: Shares) -> Iterator[Advice]:
    yield Advice(
        "memory",
        "shared_buffers",
        size_text(shares.shared),
        f"a quarter of {size_text(basis.memory_bytes)}, {basis.memory_from}; the rest holds "
        "sessions and the page cache, through which every read goes",
        f"{DOCS}, 19.4.1",
        (
            "Aurora gives 50 to 75 %, and has no page cache to share with",
            "no source has measured the quarter: weigh it (study shared-buffers)",
        ),
        default_why="a quarter of memory is less",
    )
    yield _work(basis, shares)
    yield from _upkeep(shares)


def _work(basis: Basis, shares: Shares) -> Advice:
    share = f"{SESSIONS_SHARE[basis.kind] * 100:.0f} % of memory for {basis.clients} clients"
    formula = max(0, shares.work_share)
    return Advice(
        "memory",
        "work_mem",
        size_text(shares.work),
        f"{share}, each with 10 MB of its own and one operation and a half of work_mem × "
        f"hash_mem_multiplier{_with_workers(basis)}",
        f"{DOCS}, 19.4.1; formula ours",
        (
            f"{PGTUNE}: what shared_buffers leave ÷ (3 × (connections + worker processes)), 4 MB "
            "at the least",
            f"{TIMESCALE}: 400 MB × GB of memory ÷ connections ÷ half of the processors",
            "pgconfig: 25 to 50 % of memory ÷ connections; published values differ 50 times",
        ),
        default_why=f"{share} leave {size_text(formula) if formula else 'nothing'} for it, and "
        "spilling to disk earlier would save little beside the 10 MB of a session: fewer sessions "
        "do, by a pooler",
    )


def _upkeep(shares: Shares) -> Iterator[Advice]:
    yield Advice(
        "memory",
        "maintenance_work_mem",
        size_text(shares.maintenance),
        "a sixteenth of memory, below 2 GB: one CREATE INDEX or VACUUM at a time",
        f"{PGTUNE}, below 8 GB",
        ("pgconfig: a twentieth", f"{TIMESCALE}: an eighth, below 2 GB"),
        default_why="a sixteenth of memory is no more",
    )
    separate = shares.autovacuum != shares.maintenance
    yield Advice(
        "memory",
        "autovacuum_work_mem",
        size_text(shares.autovacuum) if separate else "-1",
        "three workers share what one command by hand may take, or they would take it three times",
        f"{DOCS}, 19.4.1",
        (f"{PGTUNE}: up to 2 GB each",),
        default_why="as maintenance_work_mem, which is small",
    )


def _log(basis: Basis, allowed: Mapping[str, Allowed]) -> Iterator[Advice]:
    log_bytes, free = _LOG_BYTES[basis.kind], basis.free_disk_bytes
    room, default_why = "ten times as much must be free: no disk was looked at (DIR, --disk)", ""
    if free is not None:
        room = f"at most a tenth of {format_bytes(free)}, {basis.disk_from}"
        default_why = room
    log = log_bytes if free is None else max(_LEAST_LOG, min(log_bytes, free // 10 // GB * GB))
    yield Advice(
        "log",
        "max_wal_size",
        size_text(log),
        "checkpoints come by time then, not by log: after each the first change of every page logs "
        f"the whole page; {room}",
        f"{DOCS}, 28.5; docs/results/by-distance.md",
        (
            f"{PGTUNE}: 4 GB for the web and mixed, 8 GB for oltp, 16 GB for warehouses",
            f"{TIMESCALE}: 60 % of the log's disk, 1 GB where that is not named",
            "EDB: as large as disk and time for recovery allow",
        ),
        default_why=default_why,
    )
    yield Advice(
        "log",
        "min_wal_size",
        size_text(max(80 * MB, log // 4)),
        "a quarter of it is kept for reuse, so that segments need not be made anew",
        PGTUNE,
    )
    yield Advice(
        "log",
        "checkpoint_timeout",
        "15min",
        "a third of the full-page images of 5 min; a crash takes up to three times as long to "
        "recover from",
        "the NVMe study (Kingston 2026); docs/results/by-distance.md",
        (f"{PGTUNE} and {TIMESCALE} leave 5 min",),
    )
    # The method is named: "on" is pglz until 18, and the best that the build has from 19 on.
    if "lz4" in _values(allowed, "wal_compression"):
        yield Advice(
            "log",
            "wal_compression",
            "lz4",
            "images are most of the log right after a checkpoint, and lz4 is cheap",
            f"{PGTUNE}, from 15 on",
            ("weigh it: pglz cost 13 % of tproc-c in docs/results/by-distance.md",),
        )


def _planner(basis: Basis) -> Iterator[Advice]:
    yield Advice(
        "planner",
        "effective_cache_size",
        size_text(basis.memory_bytes * 3 // 4),
        "buffer pool and page cache together: three quarters of memory. Takes none of it",
        f"{DOCS}, 19.7.2",
        default_why="the default of 4 GB is more than three quarters of memory",
    )
    ratio = basis.storage.random_page_cost if basis.storage is not None else None
    if ratio is not None:
        assert basis.storage is not None
        cost = max(1.1, 1 + (ratio - 1) * basis.uncached)
        yield Advice(
            "planner",
            "random_page_cost",
            format_digits(cost, 2).replace(" ", ""),
            f"the probe of {basis.storage.probed_at[:10]} read a random page in {ratio:.1f} times "
            f"a sequential one's time, and {basis.uncached * 100:.0f} % of them are not cached",
            f"measured; {DOCS}, 19.7.2",
            (
                f"{PGTUNE} and others: 1.1 on any SSD (4 for warehouses)",
                "Vondra (2026) measured about 30 on a local SSD",
            ),
            default_why="measured by the probe",
        )
    if basis.kind != "olap":
        yield Advice(
            "planner",
            "jit",
            "off",
            "compiling costs more than short queries take, where estimates are too high",
            PGTUNE,
            ("its default is on until 18, and warehouses keep it",),
            default_why="so it is from 19 on" if basis.version_number >= FIRST_OF_19 else "",
        )


def _storage(basis: Basis, allowed: Mapping[str, Allowed]) -> Iterator[Advice]:
    depth = basis.storage.useful_depth if basis.storage is not None else None
    most = "give all that the device has"
    if basis.storage is not None and basis.storage.most_by_processors:
        most = "give all that the probe's processors could ask for; the device may have more"
    for name in ("effective_io_concurrency", "maintenance_io_concurrency"):
        setting = allowed.get(name)
        if depth is None or setting is None or round(depth) <= int(setting.default or 0):
            continue
        yield Advice(
            "storage",
            name,
            str(min(1000, round(depth))),
            f"by Little's law {depth:.0f} random reads under way {most}",
            "measured by the probe",
            (f"{PGTUNE}: 200 for any SSD, 1000 for NVMe", f"{TIMESCALE}: 256"),
        )
    if "lz4" in _values(allowed, "default_toast_compression"):
        yield Advice(
            "storage",
            "default_toast_compression",
            "lz4",
            "large values are compressed and read faster than by pglz; it is of new values alone",
            "the default of 19; study default-toast-compression",
            ("pglz, the default until 18, packs a little tighter",),
            default_why="so it is from 19 on, in builds with lz4",
        )
    yield from _io_workers(basis)


def _io_workers(basis: Basis) -> Iterator[Advice]:
    """18 has a fixed number of them; from 19 on the pool grows and shrinks between two."""
    if basis.version_number < 180000 or basis.processors <= 12:
        return
    grows = basis.version_number >= FIRST_OF_19
    yield Advice(
        "storage",
        "io_max_workers" if grows else "io_workers",
        str(min(32, basis.processors // 4)),
        "a quarter of the processors read on behalf of all sessions"
        + (", when there is so much to read" if grows else ""),
        "Vondra (2025); pgtune 7caef27",
        ("its default is 8, and io_min_workers 2 of them stay",)
        if grows
        else ("its default is 3",),
    )


def _workers(basis: Basis) -> Iterator[Advice]:
    if basis.processors > 8:
        for name in ("max_worker_processes", "max_parallel_workers"):
            yield Advice(
                "workers",
                name,
                str(basis.processors),
                "one a processor",
                PGTUNE,
                (f"{TIMESCALE}: processors + 19",),
            )
    if basis.kind == "olap" and basis.processors >= 6:
        yield Advice(
            "workers",
            "max_parallel_workers_per_gather",
            str(basis.processors // 2),
            "long queries of few clients: half of the processors for one",
            PGTUNE,
            ("oltp: at most 4",),
        )
    if basis.processors >= 6:
        yield Advice(
            "workers",
            "max_parallel_maintenance_workers",
            str(min(4, basis.processors // 2)),
            "half of the processors build an index, four at most",
            PGTUNE,
        )


def _connections(basis: Basis, allowed: Mapping[str, Allowed]) -> Advice:
    """max_connections where as many clients need more; at its default else."""
    usual, reserved = connections(allowed)
    return Advice(
        "workers",
        "max_connections",
        str(max(usual, basis.clients + reserved)),
        f"{basis.clients} clients at once, and {reserved} that are kept for superusers; memory was "
        "counted for no more",
        f"{DOCS}, 19.3.1",
        (
            f"{PGTUNE}: 200 for the web, 300 for oltp, 100 mixed, 40 for warehouses",
            f"{TIMESCALE}: 25 to 100 by memory",
        ),
        default_why=f"{usual - reserved} of them are for ordinary sessions, and memory was counted "
        f"for {basis.clients} at work at once: a pooler holds back the others",
    )


def connections(allowed: Mapping[str, Allowed]) -> tuple[int, int]:
    """What a build assumes for max_connections, and how many of them it keeps for superusers."""

    def default(name: str, otherwise: int) -> int:
        setting = allowed.get(name)
        return int(setting.default) if setting is not None and setting.default else otherwise

    return default("max_connections", 100), sum(default(*each) for each in RESERVED.items())


def left_alone(basis: Basis) -> Iterator[LeftAlone]:
    """What is often advised, and why it is not set here."""
    yield LeftAlone(
        "fsync, full_page_writes, synchronous_commit", "durability is not traded for speed"
    )
    yield LeftAlone("checkpoint_completion_target", "0.9 is the default since 14")
    yield LeftAlone("huge_pages", "try is the default; whether pages are free is the host's matter")
    yield LeftAlone("wal_buffers", "a 32nd of shared_buffers up to 16 MB is the default")
    yield LeftAlone("io_method", "worker is the default since 18; io_uring wants weighing")
    if basis.version_number >= FIRST_OF_19:
        yield from _left_alone_from_19(basis)
    if basis.storage is None:
        yield LeftAlone(
            "random_page_cost, effective_io_concurrency",
            "no probe of the device is kept: `steelyard probe` measures what they stand for",
        )
    elif basis.storage.why_not:
        yield LeftAlone(
            "random_page_cost, effective_io_concurrency",
            basis.storage.why_not,
        )


def _left_alone_from_19(basis: Basis) -> Iterator[LeftAlone]:
    yield LeftAlone(
        "timing_clock_source",
        "auto is the default, and takes the processor's counter where it is reliable: EXPLAIN "
        "ANALYZE, auto_explain and track_io_timing cost less then (study timing-clock)",
    )
    yield LeftAlone(
        "autovacuum_max_parallel_workers", "0 is the default, and no source has measured another"
    )
    if basis.kind == "olap":
        yield LeftAlone(
            "jit",
            "off is the default from 19 on; long queries may gain by it: weigh it (study jit)",
        )


def _values(allowed: Mapping[str, Allowed], name: str) -> tuple[str, ...]:
    return allowed[name].values if name in allowed else ()
