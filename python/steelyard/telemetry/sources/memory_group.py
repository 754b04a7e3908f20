"""Reads the control group of a server whose memory is capped, from small files."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.engines.capabilities.memory import Capped
from steelyard.engines.engine import Instance
from steelyard.model.readings import Kind, Sample
from steelyard.telemetry.source import Moment


class MemoryGroupFiles:
    """memory.stat and the counters beside it; nothing of a server without a cap."""

    name = "memory group"
    moment: Moment = "border"
    _kinds = (
        Kind("memory_refaults", "pages", per_transaction=True),
        Kind("memory_limit_hits", "times"),
        Kind("memory_oom_kills", "processes"),
        Kind("memory_used_bytes", "bytes", level=True),
        Kind("memory_cache_bytes", "bytes", level=True),
        Kind("memory_peak_bytes", "bytes", level=True),
    )

    def kinds(self, instance: Instance) -> Sequence[Kind]:
        """Pages of files that were dropped and read again; how often the cap was met; processes
        killed; memory in use, of it page cache; the most that was in use since the start."""
        capped = isinstance(instance, Capped) and instance.memory_cap is not None
        return self._kinds if capped else ()

    def needs(self, instance: Instance) -> str:
        """A server whose memory is capped."""
        return "" if self.kinds(instance) else "its memory has no cap"

    def read(self, instance: Instance) -> Sample:
        """The readings of the group now."""
        assert isinstance(instance, Capped)  # `needs` was read first
        used = instance.memory_use()
        if used is None:
            return Sample({}, "its memory group is not seen")
        values: dict[str, float] = {
            "memory_oom_kills": used.oom_kills,
            "memory_used_bytes": used.used_bytes,
            "memory_cache_bytes": used.cache_bytes,
        }
        optional = {
            "memory_refaults": used.refaulted_pages,
            "memory_limit_hits": used.limit_hits,
            "memory_peak_bytes": used.peak_bytes,
        }
        return Sample(
            {**values, **{name: number for name, number in optional.items() if number is not None}}
        )


SOURCE = MemoryGroupFiles()
