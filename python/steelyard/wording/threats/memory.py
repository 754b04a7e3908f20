"""Says what of memory is a doubt: a cap that does not hold everything alike, work not bound so."""

from __future__ import annotations

from steelyard.evaluation.threats import memory as seen
from steelyard.model.units import format_bytes, format_digits, format_duration
from steelyard.wording.threats.advice import Texts

_AS_SAID = 'the study says bound = "storage"'


def _hardly_read(observed: seen.HardlyRead) -> str:
    each = " and ".join(_reads(reads, observed.cap_bytes) for reads in observed.reads)
    return f"{each}; {_AS_SAID}"


def _reads(reads: seen.ReadsOfArm, cap_bytes: int | None) -> str:
    read = format_digits(reads.read_bytes, 3)
    sentence = f"{reads.arm} read {read} bytes a transaction from the device"
    if cap_bytes is None or reads.cache_bytes is None:
        return sentence
    cache, cap = format_bytes(reads.cache_bytes), format_bytes(cap_bytes)
    return f"{sentence} (page cache {cache} under a cap of {cap})"


def _time_on_processors(observed: seen.TimeOnProcessors) -> str:
    return f"{' and '.join(_times(times) for times in observed.times)}; {_AS_SAID}"


def _times(times: seen.TimesOfArm) -> str:
    processor, storage = format_duration(times.processor_ns), format_duration(times.storage_ns)
    return (
        f"a transaction of {times.arm} took {processor} on a processor or waiting for one, and "
        f"{storage} reading blocks and in the log"
    )


def _writes_under_v1(observed: seen.WritesUnderV1) -> str:
    cap = format_bytes(observed.cap_bytes)
    return f"the work writes, and control groups of version 1 hold each arm under {cap}"


def _page_cache_bypassed(observed: seen.PageCacheBypassed) -> str:
    return " and ".join(
        f'{observed.setting} is "{value}" in {arm}' for arm, value in observed.values
    )


def _stayed_cached(observed: seen.FilesStayedCached) -> str:
    percent = format_digits(100 * observed.largest_share, 2)
    return (
        f"up to {percent} % of the arms' files were still in the page cache after eviction, more "
        f"than {100 * seen.RESIDENT_SHARE:g} % before {observed.times} of {observed.epochs} "
        "epochs: reading them is charged to no arm's memory"
    )


TEXTS: Texts = {
    seen.HardlyRead: _hardly_read,
    seen.TimeOnProcessors: _time_on_processors,
    seen.WritesUnderV1: _writes_under_v1,
    seen.PageCacheBypassed: _page_cache_bypassed,
    seen.FilesStayedCached: _stayed_cached,
}
