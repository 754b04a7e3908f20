"""Says what of memory, caches and checkpoints is a doubt: caps, reads that fell, distances."""

from __future__ import annotations

from steelyard.evaluation.threats.checkpoint_distance import CheckpointsNearer, Distance, Images
from steelyard.evaluation.threats.memory import (
    RESIDENT_SHARE,
    FilesStayedCached,
    HardlyRead,
    PageCacheBypassed,
    ReadsOfArm,
    TimeOnProcessors,
    TimesOfArm,
    WritesUnderV1,
)
from steelyard.evaluation.threats.pool_warmth import ContrastMoved, PoolNotWarm, ReadsFell
from steelyard.model.units import NS_PER_S, format_bytes, format_digits, format_duration
from steelyard.wording.threats.advice import Texts

_AS_SAID = 'the study says bound = "storage"'


def _hardly_read(observed: HardlyRead) -> str:
    each = " and ".join(_reads(reads, observed.cap_bytes) for reads in observed.reads)
    return f"{each}; {_AS_SAID}"


def _reads(reads: ReadsOfArm, cap_bytes: int | None) -> str:
    read = format_digits(reads.read_bytes, 3)
    sentence = f"{reads.arm} read {read} bytes a transaction from the device"
    if cap_bytes is None or reads.cache_bytes is None:
        return sentence
    cache, cap = format_bytes(reads.cache_bytes), format_bytes(cap_bytes)
    return f"{sentence} (page cache {cache} under a cap of {cap})"


def _time_on_processors(observed: TimeOnProcessors) -> str:
    return f"{' and '.join(_times(times) for times in observed.times)}; {_AS_SAID}"


def _times(times: TimesOfArm) -> str:
    processor, storage = format_duration(times.processor_ns), format_duration(times.storage_ns)
    return (
        f"a transaction of {times.arm} took {processor} on a processor or waiting for one, and "
        f"{storage} reading blocks and in the log"
    )


def _writes_under_v1(observed: WritesUnderV1) -> str:
    cap = format_bytes(observed.cap_bytes)
    return f"the work writes, and control groups of version 1 hold each arm under {cap}"


def _page_cache_bypassed(observed: PageCacheBypassed) -> str:
    return " and ".join(
        f'{observed.setting} is "{value}" in {arm}' for arm, value in observed.values
    )


def _stayed_cached(observed: FilesStayedCached) -> str:
    percent = format_digits(100 * observed.largest_share, 2)
    return (
        f"up to {percent} % of the arms' files were still in the page cache after eviction, more "
        f"than {100 * RESIDENT_SHARE:g} % before {observed.times} of {observed.epochs} "
        "epochs: reading them is charged to no arm's memory"
    )


def _not_warm(observed: PoolNotWarm) -> str:
    return " and ".join(map(_fall, observed.falls)) + _moved(observed.moved)


def _fall(fall: ReadsFell) -> str:
    fell = f"blocks read per transaction of {fall.arm} fell from"
    if fall.level is None:
        first, last = _apart(fall.first, fall.last)
        return f"{fell} {first} to {last} from the first half of a turn to the second"
    first, last, level = _apart(fall.first, fall.last, fall.level)
    return f"{fell} {first} to {last} within the measured part of an epoch, towards {level}"


def _apart(*values: float) -> list[str]:
    """`["0.8", "0.38"]`: with as many digits as tell each from the others, at least two."""
    for digits in range(2, 7):
        texts = [format_digits(value, digits) for value in values]
        if len(set(texts)) == len(texts):
            break
    return texts


def _moved(moved: ContrastMoved | None) -> str:
    if moved is None:
        return ""
    if moved.share is None:
        return "; what a read takes cannot be told from what else scatters"
    return f"; that moves the contrast by about {format_digits(100 * moved.share, 2)} %"


def _nearer(observed: CheckpointsNearer) -> str:
    (every, wal), (settings_every, settings_wal) = map(
        _distance, (observed.weighed, observed.configured)
    )
    sentence = (
        f"as weighed a checkpoint of {observed.arm} every {every} and {wal} of WAL, where its "
        f"settings give one every {settings_every} or {settings_wal}; "
        f"{' and '.join(map(_images, observed.images))}"
    )
    if observed.through:
        acts = "acts" if len(observed.through) == 1 else "act"
        sentence += (
            f"; {' and '.join(observed.through)} {acts} through these: the figure is of that "
            "distance"
        )
    return sentence


def _distance(distance: Distance) -> tuple[str, str]:
    every = format_duration(round(distance.seconds * NS_PER_S))
    return every, format_bytes(round(distance.wal_bytes))


def _images(images: Images) -> str:
    return (
        f"{format_digits(images.per_transaction, 2)} full-page images a transaction of "
        f"{images.arm}, up to {100 * images.share_of_wal:.0f} % of its WAL"
    )


TEXTS: Texts = {
    HardlyRead: _hardly_read,
    TimeOnProcessors: _time_on_processors,
    WritesUnderV1: _writes_under_v1,
    PageCacheBypassed: _page_cache_bypassed,
    FilesStayedCached: _stayed_cached,
    PoolNotWarm: _not_warm,
    CheckpointsNearer: _nearer,
}
