"""Makes a profile: rules or a published table, fitted to what a server accepts and has room for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from steelyard.model.allowed import Allowed
from steelyard.model.errors import UsageError
from steelyard.model.profiles import ProfileName
from steelyard.model.units import format_bytes
from steelyard.tuning.profile import published
from steelyard.tuning.profile.advice import Advice, LeftAlone, MemoryNeed, Profile
from steelyard.tuning.profile.basis import Basis
from steelyard.tuning.profile.rules import (
    HASH_TIMES,
    SESSION_BYTES,
    advised,
    left_alone,
    work_processes,
)
from steelyard.tuning.profile.value import counted, size_bytes, written

LEAST_MEMORY = 256 << 20


def make_profile(name: ProfileName, basis: Basis, allowed: Mapping[str, Allowed]) -> Profile:
    """A profile that this build accepts, and whose memory is there.

    UsageError: the memory does not hold it.
    """
    wanted, untouched = _wanted(name, basis, allowed)
    fitting, dropped = _fitted(wanted, allowed)
    settings = {one.name: one.value for one in fitting}
    need = memory_need(settings, basis, allowed)
    if basis.memory_bytes < LEAST_MEMORY or need.total_bytes > basis.memory_bytes:
        raise UsageError(
            f'cannot make profile "{name}" for {format_bytes(basis.memory_bytes)} of memory and '
            f"{basis.clients} clients: it could take {format_bytes(need.total_bytes)}",
            detail=f"{format_bytes(need.shared_bytes)} are shared, {basis.clients} clients may "
            f"take {format_bytes(need.sessions_bytes)}, upkeep "
            f"{format_bytes(need.upkeep_bytes)}.",
            hint="Give it more --memory, or fewer --clients: a pooler in between makes few of many."
            if name == "ours"
            else "The table was made for 378 GB; `--profile theirs` scales it.",
        )
    known = {one.name: allowed[one.name] for one in fitting}
    return Profile(
        name=name,
        basis=basis,
        advice=fitting,
        left_alone=(*untouched, *dropped),
        need=need,
        restart=frozenset(n for n, one in known.items() if one.needs_restart),
        defaults={n: written(one) for n, one in known.items()},
    )


def memory_need(
    settings: Mapping[str, str], basis: Basis, allowed: Mapping[str, Allowed]
) -> MemoryNeed:
    """What a server may take at most with some settings, the others at the build's defaults.

    Sessions: each its own 10 MB, and work_mem for one operation and a half that hashes, of long
    queries in each parallel worker too.
    """

    def size(name: str) -> float:
        known = allowed.get(name)
        if known is None:
            return 0.0
        return size_bytes(settings.get(name) or known.default or "0", known.unit) or 0.0

    own = size("autovacuum_work_mem")
    maintenance = size("maintenance_work_mem")
    known = allowed.get("autovacuum_max_workers")
    workers = settings.get("autovacuum_max_workers") or (known and known.default) or "0"
    each = own if own > 0 else maintenance
    return MemoryNeed(
        shared_bytes=round(size("shared_buffers") + max(0.0, size("wal_buffers"))),
        sessions_bytes=round(
            work_processes(basis, settings) * size("work_mem") * work_times(settings)
            + basis.clients * SESSION_BYTES
        ),
        upkeep_bytes=round(maintenance + each * (counted(workers, "") or 0)),
    )


def work_times(settings: Mapping[str, str]) -> float:
    """How many times work_mem a session may take: half an operation more than one that hashes."""
    own = counted(settings.get("hash_mem_multiplier", ""), "")
    return HASH_TIMES if own is None else 1.5 * max(1.0, own)


def _wanted(
    name: ProfileName, basis: Basis, allowed: Mapping[str, Allowed]
) -> tuple[Iterable[Advice], tuple[LeftAlone, ...]]:
    if name == "theirs":
        return published.scaled(basis), ()
    if name == "theirs-literal":
        return published.as_printed(), ()
    return advised(basis, allowed), tuple(left_alone(basis))


def _fitted(
    wanted: Iterable[Advice], allowed: Mapping[str, Allowed]
) -> tuple[tuple[Advice, ...], tuple[LeftAlone, ...]]:
    """Within the bounds of the build; what it does not have, or assumes anyway, is left alone."""
    kept: list[Advice] = []
    dropped: list[LeftAlone] = []
    for one in wanted:
        known = allowed.get(one.name)
        if known is None:
            dropped.append(LeftAlone(one.name, "this version has no such setting"))
        elif known.values and one.value not in known.values:
            dropped.append(LeftAlone(one.name, f"this build does not know {one.value}"))
        elif _is_default(one, known):
            dropped.append(LeftAlone(one.name, f"{one.value} is what this build assumes"))
        else:
            kept.append(_bounded(one, known))
    return tuple(kept), tuple(dropped)


def _is_default(one: Advice, known: Allowed) -> bool:
    if known.default is None:
        return False
    value, default = counted(one.value, known.unit), counted(known.default, known.unit)
    return one.value == known.default if value is None else value == default


def _bounded(one: Advice, known: Allowed) -> Advice:
    value = counted(one.value, known.unit)
    if value is None or known.low is None or known.high is None:
        return one
    inside = min(max(value, known.low), known.high)
    if inside == value:
        return one
    reason = f"{one.reason}; {one.value} is outside what this build accepts"
    return replace(one, value=f"{inside:.15g}", reason=reason)
