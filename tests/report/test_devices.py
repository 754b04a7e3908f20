"""Rates, sizes, latencies and the queue of a device are those of its counts over all epochs."""

from __future__ import annotations

from steelyard.record.epoch import ArmLine, EpochLine, ReadingLine
from steelyard.report.devices import FOOTNOTE, device_rows


def epoch(number: int, **values: float) -> EpochLine:
    readings = tuple(ReadingLine(name=name, unit="", value=value) for name, value in values.items())
    return EpochLine(epoch=number, slots={}, start_order=(), machine=readings)


def test_a_device_is_told_by_rates_sizes_latencies_and_queue() -> None:
    one = {
        "device_vda_reads": 100.0, "device_vda_read_bytes": 100 * 8192.0,
        "device_vda_read_ms": 50.0, "device_vda_writes": 0.0, "device_vda_flushes": 200.0,
        "device_vda_flush_ms": 400.0, "device_vda_busy_ms": 500.0,
    }  # fmt: skip
    rows = device_rows([epoch(0, elapsed_ns=1e9, **one), epoch(1, elapsed_ns=1e9, **one)])
    assert rows == [
        (
            "device vda",
            "100 reads/s of 8192 bytes in 500 µs, 200 flushes/s in 2 ms; "
            "0.45 requests under way on average, busy 50% of the time",
        ),
        ("devices", FOOTNOTE),
    ]


def test_a_device_that_came_later_is_told_over_its_own_time() -> None:
    late = epoch(1, elapsed_ns=1e9, device_sdb_reads=10.0, device_sdb_read_ms=5.0)
    [(name, figures), _] = device_rows([epoch(0, elapsed_ns=9e9), late])
    assert name == "device sdb"
    assert figures.startswith("10 reads/s of 0 bytes in 500 µs")


def test_what_a_device_did_while_an_arm_was_driven_has_a_row_of_its_own() -> None:
    reads = {"slices_ns": 2e9, "device_vda_reads": 100.0, "device_vda_read_bytes": 819200.0}
    readings = tuple(
        ReadingLine(name=name, unit="", value=value, measured=True) for name, value in reads.items()
    )
    line = epoch(0, elapsed_ns=1e10, device_vda_reads=150.0)
    line = line.model_copy(update={"arms": {"on": ArmLine(readings=readings)}})
    rows = dict(device_rows([line]))
    assert rows["device vda"].startswith("15 reads/s")
    assert rows["device vda, while on was driven"].startswith("50 reads/s of 8192 bytes")


def test_without_devices_there_are_no_rows() -> None:
    assert device_rows([epoch(0, elapsed_ns=1e9)]) == []
