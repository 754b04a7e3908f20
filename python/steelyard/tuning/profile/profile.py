"""Makes a profile: rules or a published table, fitted to what a server accepts and has room for."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping
from dataclasses import replace

from steelyard.model.errors import UsageError
from steelyard.model.readings import ProfileName
from steelyard.model.setting_value import Allowed, number_in, size_bytes, with_unit
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
    profile = _profile_of(name, basis, allowed)
    if profile.need.total_bytes > basis.memory_bytes:
        raise _too_large(profile, allowed)
    return profile


def most_clients(basis: Basis, allowed: Mapping[str, Allowed]) -> int:
    """The most clients, up to those of the basis, for which memory holds profile `ours`; 0: it
    holds none."""

    def fits(clients: int) -> bool:
        profile = _profile_of("ours", replace(basis, clients=clients), allowed)
        return profile.need.total_bytes <= basis.memory_bytes

    return bisect.bisect_left(range(1, basis.clients + 1), True, key=lambda n: not fits(n))


def _profile_of(name: ProfileName, basis: Basis, allowed: Mapping[str, Allowed]) -> TuningProfile:
    proposed, untouched = _proposal(name, basis, allowed)
    fitting, dropped = _fitted(proposed, allowed)
    settings = {advice.name: allowed[advice.name] for advice in fitting}
    return TuningProfile(
        name=name,
        basis=basis,
        advice=fitting,
        left_alone=(*untouched, *dropped),
        need=memory_need({advice.name: advice.value for advice in fitting}, basis, allowed),
        restart=frozenset(n for n, setting in settings.items() if setting.needs_restart),
        defaults={
            n: with_unit(setting.default or "", setting.unit) for n, setting in settings.items()
        },
    )


def _too_large(profile: TuningProfile, allowed: Mapping[str, Allowed]) -> UsageError:
    basis, need = profile.basis, profile.need
    if profile.name != "ours":
        hint = "The table was made for 378 GB; `--profile theirs` scales it."
    elif most := most_clients(basis, allowed):
        hint = (
            f"Give it more --memory, or -c {most}: so many fit at work at once. A pooler in "
            "between makes few of many."
        )
    else:
        hint = "Give it more --memory: it does not hold what PostgreSQL's defaults may take."
    return UsageError(
        f'cannot make profile "{profile.name}" for {format_bytes(basis.memory_bytes)} of memory '
        f"and {basis.clients} clients: it could take {format_bytes(need.total_bytes)}",
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
        setting = allowed.get(name)
        if setting is None:
            return 0.0
        return size_bytes(settings.get(name) or setting.default or "0", setting.unit) or 0.0

    autovacuum = size("autovacuum_work_mem")
    maintenance = size("maintenance_work_mem")
    setting = allowed.get("autovacuum_max_workers")
    workers = settings.get("autovacuum_max_workers") or (setting and setting.default) or "0"
    each = autovacuum if autovacuum > 0 else maintenance
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
    multiplier = number_in(settings.get("hash_mem_multiplier", ""), "")
    return HASH_TIMES if multiplier is None else 1.5 * max(1.0, multiplier)


def _proposal(
    name: ProfileName, basis: Basis, allowed: Mapping[str, Allowed]
) -> tuple[Iterable[Advice], tuple[LeftAlone, ...]]:
    if name == "theirs":
        return shares.scaled(basis), ()
    if name == "theirs-literal":
        return shares.as_printed(), ()
    return advised(basis, allowed), tuple(left_alone(basis))


def _fitted(
    proposed: Iterable[Advice], allowed: Mapping[str, Allowed]
) -> tuple[tuple[Advice, ...], tuple[LeftAlone, ...]]:
    """Within the bounds of the build; what it does not have, or assumes anyway, is left alone."""
    fitting: list[Advice] = []
    dropped: list[LeftAlone] = []
    for advice in proposed:
        setting = allowed.get(advice.name)
        if setting is None:
            dropped.append(LeftAlone(advice.name, "this version has no such setting"))
        elif setting.values and advice.value not in setting.values:
            dropped.append(LeftAlone(advice.name, f"this build does not know {advice.value}"))
        elif _is_default(advice, setting):
            why = f": {advice.default_why}" if advice.default_why else ""
            dropped.append(
                LeftAlone(advice.name, f"{advice.value} is what this build assumes{why}")
            )
        elif _is_less(advice, setting) and not advice.default_why:
            why = f"{advice.value} would be less than the default, and nothing measured says so"
            dropped.append(LeftAlone(advice.name, why))
        else:
            fitting.append(_bounded(_with_default_why(advice, setting), setting))
    return tuple(fitting), tuple(dropped)


def _is_default(advice: Advice, setting: Allowed) -> bool:
    if setting.default is None:
        return False
    value, default = number_in(advice.value, setting.unit), number_in(setting.default, setting.unit)
    return advice.value == setting.default if value is None else value == default


def _is_less(advice: Advice, setting: Allowed) -> bool:
    """Whether it is below a default that is a number; -1 stands for something else."""
    value, default = (
        number_in(advice.value, setting.unit),
        number_in(setting.default or "", setting.unit),
    )
    return value is not None and default is not None and 0 <= value < default


def _with_default_why(advice: Advice, setting: Allowed) -> Advice:
    """Its reason says why it is less than the default, where it is."""
    if not _is_less(advice, setting) or advice.default_why in advice.reason:
        return advice
    return replace(advice, reason=f"{advice.reason}; less than the default: {advice.default_why}")


def _bounded(advice: Advice, setting: Allowed) -> Advice:
    value = number_in(advice.value, setting.unit)
    if value is None or setting.low is None or setting.high is None:
        return advice
    inside = min(max(value, setting.low), setting.high)
    if inside == value:
        return advice
    reason = f"{advice.reason}; {advice.value} is outside what this build accepts"
    return replace(advice, value=f"{inside:.15g}", reason=reason)
