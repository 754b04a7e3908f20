"""Makes a profile: rules or a published table, fitted to what a server accepts and has room for."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping
from dataclasses import replace

from steelyard.model.errors import UsageError
from steelyard.model.readings import ProfileName
from steelyard.model.settings.allowed import Allowed
from steelyard.model.settings.value import number_in, size_bytes, with_unit
from steelyard.model.units import format_bytes
from steelyard.tuning.profile import shares
from steelyard.tuning.profile.advice import Advice, LeftAlone, ProfileMemoryNeed, TuningProfile
from steelyard.tuning.profile.basis import Basis
from steelyard.tuning.profile.rules import advised, left_alone
from steelyard.tuning.profile.shares import HASH_TIMES, SESSION_BYTES, work_processes


def make_profile(name: ProfileName, basis: Basis, allowed: Mapping[str, Allowed]) -> TuningProfile:
    """A profile that this build accepts, whose memory is there, and that undercuts no default
    without a reason.

    UsageError: the memory does not hold it.
    """
    made = _made(name, basis, allowed)
    if made.need.total_bytes > basis.memory_bytes:
        raise _too_large(made, allowed)
    return made


def most_clients(basis: Basis, allowed: Mapping[str, Allowed]) -> int:
    """The most clients, up to those of the basis, for which memory holds profile `ours`; 0: it
    holds none."""

    def fits(clients: int) -> bool:
        made = _made("ours", replace(basis, clients=clients), allowed)
        return made.need.total_bytes <= basis.memory_bytes

    return bisect.bisect_left(range(1, basis.clients + 1), True, key=lambda n: not fits(n))


def _made(name: ProfileName, basis: Basis, allowed: Mapping[str, Allowed]) -> TuningProfile:
    wanted, untouched = _wanted(name, basis, allowed)
    fitting, dropped = _fitted(wanted, allowed)
    known = {one.name: allowed[one.name] for one in fitting}
    return TuningProfile(
        name=name,
        basis=basis,
        advice=fitting,
        left_alone=(*untouched, *dropped),
        need=memory_need({one.name: one.value for one in fitting}, basis, allowed),
        restart=frozenset(n for n, one in known.items() if one.needs_restart),
        defaults={n: with_unit(one.default or "", one.unit) for n, one in known.items()},
    )


def _too_large(made: TuningProfile, allowed: Mapping[str, Allowed]) -> UsageError:
    basis, need = made.basis, made.need
    if made.name != "ours":
        hint = "The table was made for 378 GB; `--profile theirs` scales it."
    elif most := most_clients(basis, allowed):
        hint = (
            f"Give it more --memory, or -c {most}: so many fit at work at once. A pooler in "
            "between makes few of many."
        )
    else:
        hint = "Give it more --memory: it does not hold what PostgreSQL's defaults may take."
    return UsageError(
        f'cannot make profile "{made.name}" for {format_bytes(basis.memory_bytes)} of memory and '
        f"{basis.clients} clients: it could take {format_bytes(need.total_bytes)}",
        detail=f"{format_bytes(need.shared_bytes)} are shared, {basis.clients} clients may "
        f"take {format_bytes(need.sessions_bytes)}, upkeep {format_bytes(need.upkeep_bytes)}; "
        "no setting is put below PostgreSQL's default to save memory.",
        hint=hint,
    )


def memory_need(
    settings: Mapping[str, str], basis: Basis, allowed: Mapping[str, Allowed]
) -> ProfileMemoryNeed:
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
    return ProfileMemoryNeed(
        shared_bytes=round(size("shared_buffers") + max(0.0, size("wal_buffers"))),
        sessions_bytes=round(
            work_processes(basis, settings) * size("work_mem") * work_times(settings)
            + basis.clients * SESSION_BYTES
        ),
        upkeep_bytes=round(maintenance + each * (number_in(workers, "") or 0)),
    )


def work_times(settings: Mapping[str, str]) -> float:
    """How many times work_mem a session may take: half an operation more than one that hashes."""
    own = number_in(settings.get("hash_mem_multiplier", ""), "")
    return HASH_TIMES if own is None else 1.5 * max(1.0, own)


def _wanted(
    name: ProfileName, basis: Basis, allowed: Mapping[str, Allowed]
) -> tuple[Iterable[Advice], tuple[LeftAlone, ...]]:
    if name == "theirs":
        return shares.scaled(basis), ()
    if name == "theirs-literal":
        return shares.as_printed(), ()
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
            why = f": {one.default_why}" if one.default_why else ""
            dropped.append(LeftAlone(one.name, f"{one.value} is what this build assumes{why}"))
        elif _is_less(one, known) and not one.default_why:
            why = f"{one.value} would be less than the default, and nothing measured says so"
            dropped.append(LeftAlone(one.name, why))
        else:
            kept.append(_bounded(_with_default_why(one, known), known))
    return tuple(kept), tuple(dropped)


def _is_default(one: Advice, known: Allowed) -> bool:
    if known.default is None:
        return False
    value, default = number_in(one.value, known.unit), number_in(known.default, known.unit)
    return one.value == known.default if value is None else value == default


def _is_less(one: Advice, known: Allowed) -> bool:
    """Whether it is below a default that is a number; -1 stands for something else."""
    value, default = number_in(one.value, known.unit), number_in(known.default or "", known.unit)
    return value is not None and default is not None and 0 <= value < default


def _with_default_why(one: Advice, known: Allowed) -> Advice:
    """Its reason says why it is less than the default, where it is."""
    if not _is_less(one, known) or one.default_why in one.reason:
        return one
    return replace(one, reason=f"{one.reason}; less than the default: {one.default_why}")


def _bounded(one: Advice, known: Allowed) -> Advice:
    value = number_in(one.value, known.unit)
    if value is None or known.low is None or known.high is None:
        return one
    inside = min(max(value, known.low), known.high)
    if inside == value:
        return one
    reason = f"{one.reason}; {one.value} is outside what this build accepts"
    return replace(one, value=f"{inside:.15g}", reason=reason)
