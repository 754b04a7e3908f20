"""What a device did is a share of what its probe got from it, or is not told."""

from __future__ import annotations

import pytest

from evaluation.transaction.test_bottleneck import parts_of
from steelyard.evaluation.transaction.bottleneck import bottlenecks, ceiling
from steelyard.model.readings import EpochTotals, Reading
from steelyard.record.machine import PEAK_READ, PEAK_WRITE
from tuning.probes import figure, probe_of

PROBE = probe_of(figure(PEAK_READ, 50_000), figure(PEAK_WRITE, 10_000))


def known(reads: float, writes: float, seconds: float = 2.0) -> dict[str, float]:
    return {
        "device_nvme0n1_reads": reads,
        "device_nvme0n1_writes": writes,
        "slices_ns": seconds * 1e9,
    }


def test_reads_and_writes_each_take_their_share_of_the_device() -> None:
    used = ceiling([known(40_000, 4_000), known(20_000, 0, 1.0)], PROBE)
    assert used is not None
    assert used.reads == pytest.approx(20_000)
    assert used.share == pytest.approx(20_000 / 50_000 + 4_000 / 3 / 10_000)


def test_without_probe_or_counts_of_its_device_there_is_no_ceiling() -> None:
    assert ceiling([known(1, 1)], None) is None
    assert ceiling([known(1, 1)], probe_of(figure(PEAK_READ, 1))) is None
    assert ceiling([known(1, 1)], probe_of(*PROBE.figures, device="sdb")) is None
    assert ceiling([{"device_nvme0n1_reads": 5.0}], PROBE) is None


def test_a_probe_through_the_page_cache_is_no_ceiling_of_the_device() -> None:
    assert ceiling([known(1, 1)], probe_of(*PROBE.figures, direct=False)) is None


def test_requests_of_all_devices_of_a_file_system_add_up() -> None:
    counts = {"slices_ns": 2e9}
    for device, reads, writes in (("sdc", 3e4, 4e3), ("sdd", 1e4, 0.0)):
        counts |= {f"device_{device}_reads": reads, f"device_{device}_writes": writes}
    probe = probe_of(*PROBE.figures, device="sdc", members=("sdc", "sdd"))
    used = ceiling([counts], probe)
    assert used is not None
    assert (used.device, used.reads, used.writes) == ("sdc, sdd", 20_000, 2_000)
    del counts["device_sdd_reads"]
    assert ceiling([counts], probe) is None, "a part is not the whole"


@pytest.mark.parametrize(("reads", "kind"), [(60_000.0, "device"), (10_000.0, "reading")])
def test_sessions_that_read_from_a_device_near_its_ceiling_are_held_up_by_it(
    reads: float, kind: str
) -> None:
    readings = {name: Reading(name, "", value) for name, value in known(reads, 0).items()}
    epoch = EpochTotals(0, {}, (), {}, readings={"off": readings})
    _, arm = bottlenecks([epoch], parts_of(processor=10.0, read=50.0), PROBE)
    assert arm.kind == kind
    assert arm.device is not None
    assert (arm.device.device, arm.device.reads) == ("nvme0n1", reads / 2)
    _, busy = bottlenecks([epoch], parts_of(processor=90.0, read=5.0), PROBE)
    assert busy.kind == "processor"
    assert busy.device is None


def test_a_ceiling_that_was_the_processors_is_called_so_and_names_no_device() -> None:
    peaks = figure(PEAK_READ, 50_000, processor_share=0.97), figure(PEAK_WRITE, 10_000)
    readings = {name: Reading(name, "", value) for name, value in known(60_000, 0).items()}
    epoch = EpochTotals(0, {}, (), {}, readings={"off": readings})
    _, arm = bottlenecks([epoch], parts_of(processor=10.0, read=50.0), probe_of(*peaks))
    assert arm.kind == "reading"
    assert arm.device is not None
    assert arm.device.by_processors
    assert arm.device.share == pytest.approx(0.6)


def test_a_log_that_waits_for_a_busy_device_is_still_held_up_by_its_flushes() -> None:
    readings = {name: Reading(name, "", value) for name, value in known(0, 20_000).items()}
    epoch = EpochTotals(0, {}, (), {}, readings={"off": readings})
    _, arm = bottlenecks([epoch], parts_of(processor=10.0, wal=50.0), PROBE)
    assert arm.kind == "WAL flush"
    assert arm.device is not None
    assert (arm.device.writes, arm.device.share) == (10_000, pytest.approx(1.0))
