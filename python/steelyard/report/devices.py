"""Describes what the block devices beneath the data did, and did while each arm was driven."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from steelyard.model.readings import known_values
from steelyard.model.units import NS_PER_MS, NS_PER_S, format_bytes, format_duration
from steelyard.record.epoch import EpochLine

_PREFIX = "device_"
_COUNTED = (
    *("reads", "read_bytes", "read_ms", "writes", "written_bytes", "write_ms"),
    *("discards", "discarded_bytes", "discard_ms", "flushes", "flush_ms", "busy_ms"),
)
_ELAPSED = "elapsed"
FOOTNOTE = (
    "one device serves all arms, and writes what an arm left in slices of others too; busy: the "
    "kernel counts every jiffy in which a request was under way or ended, so it says "
    '"not idle" and never "full"; a volume (LVM, LUKS, md) and the drives beneath it count the '
    "same requests"
)


def device_rows(epochs: Iterable[EpochLine]) -> list[tuple[str, str]]:
    """A row a device, and one a device and arm, and what their last figure means; empty where none
    was seen."""
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for label, known in _spans(epochs):
        for device in _devices(known):
            own = sums[f"device {device}{label}"]
            own[_ELAPSED] += known.get("elapsed_ns", known.get("slices_ns", 0.0))
            for counted in _COUNTED:
                own[counted] += known.get(f"{_PREFIX}{device}_{counted}", 0.0)
    rows = [(name, _figures(counts)) for name, counts in sums.items() if counts[_ELAPSED]]
    return [*rows, ("devices", FOOTNOTE)] if rows else []


def _spans(epochs: Iterable[EpochLine]) -> Iterator[tuple[str, Mapping[str, float]]]:
    """What was read of the whole epochs, and of the slices of each arm, with a label."""
    for epoch in epochs:
        yield "", known_values(epoch.machine)
        for arm, line in epoch.arms.items():
            yield f", while {arm} was driven", known_values(line.readings)


def _devices(known: Iterable[str]) -> list[str]:
    """The devices that readings are of."""
    end = "_reads"
    return [
        name.removeprefix(_PREFIX).removesuffix(end)
        for name in known
        if name.startswith(_PREFIX) and name.endswith(end)
    ]


def _figures(counts: Mapping[str, float]) -> str:
    elapsed_ns = counts[_ELAPSED]
    seconds = elapsed_ns / NS_PER_S
    told = []
    for plural, size, spent in (
        ("reads", "read_bytes", "read_ms"),
        ("writes", "written_bytes", "write_ms"),
        ("discards", "discarded_bytes", "discard_ms"),
        ("flushes", "", "flush_ms"),
    ):
        count = counts[plural]
        if not count:
            continue
        each = format_duration(counts[spent] / count * NS_PER_MS)
        of = f" of {format_bytes(counts[size] / count)}" if size else ""
        told.append(f"{count / seconds:.3g} {plural}/s{of} in {each}")
    spent_ms = sum(counts[name] for name in ("read_ms", "write_ms", "discard_ms", "flush_ms"))
    queue = spent_ms * NS_PER_MS / elapsed_ns
    busy = min(1.0, counts["busy_ms"] * NS_PER_MS / elapsed_ns)
    under_way = f"{queue:.2g} requests under way on average, busy {busy:.0%} of the time"
    return "; ".join([", ".join(told) or "nothing", under_way])
