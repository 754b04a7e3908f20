"""Rates, sizes, latencies and the queue of a device are those of its counts over all epochs."""

from __future__ import annotations

from steelyard.record.epoch import ArmLine, EpochLine, ReadingLine
from steelyard.record.verdict import DeviceFigure, DeviceSummary
from steelyard.report.devices import (
    FOOTNOTE,
    by_second,
    device_rows,
    devices_text,
    figure_rows,
    used_figures,
)


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


def figure(metric: str, on: float, off: float, unit: str = "", **changes: object) -> DeviceFigure:
    facts = {
        "arm": "off", "control": "on", "metric": metric, "unit": unit, "control_value": on,
        "arm_value": off, "estimate_percent": 5.0, "low_percent": 1.0, "high_percent": 9.0,
        "confidence": 0.95,
    }  # fmt: skip
    return DeviceFigure.model_validate({**facts, **changes})


def sides(reads: tuple[float, float], writes: tuple[float, float]) -> DeviceSummary:
    """Requests a second of both arms, each request of 1 ms."""
    times = [figure(f"{side}_latency_ms", 1.0, 1.0, "ms") for side in ("read", "write")]
    rates = [figure("read_iops", *reads, "1/s"), figure("write_iops", *writes, "1/s")]
    return DeviceSummary(figures=(*rates, *times, figure("queue_length", 1.0, 1.0, "requests")))


def test_a_side_is_shown_where_either_arm_keeps_a_device_at_it() -> None:
    def shown(reads: tuple[float, float], writes: tuple[float, float]) -> list[str]:
        return [one.metric for one in used_figures(sides(reads, writes), "off")]

    reads, writes = ["read_iops", "read_latency_ms"], ["write_iops", "write_latency_ms"]
    assert shown((9.0, 11.0), (9.0, 9.0)) == [*reads, "queue_length"]
    assert shown((9.0, 9.0), (11.0, 0.0)) == [*writes, "queue_length"]
    assert shown((9.0, 9.0), (9.0, 9.0)) == []
    assert used_figures(sides((99.0, 99.0), (0.0, 0.0)), "another") == []


def test_reads_that_one_arm_alone_asks_for_are_shown_though_their_time_is_not_known() -> None:
    def shown(rate: float, queue: float) -> list[str]:
        figures = (figure("read_iops", rate, 0.0, "1/s"), figure("queue_length", queue, 0.0))
        return [one.metric for one in used_figures(DeviceSummary(figures=figures), "off")]

    assert shown(1000.0, 0.5) == ["read_iops", "queue_length"]
    assert shown(1000.0, 0.003) == [], "a device so fast is not kept at it"
    assert shown(3.0, 0.5) == []


def test_figures_have_iostats_names_and_their_units() -> None:
    rows = figure_rows(
        [
            figure("write_iops", 38674, 43347, "1/s"),
            figure("reads_per_new_order", 14.35, 20.96, "requests"),
            figure("write_latency_ms", 0.25, 0.5, "ms"),
            figure("write_iops_cv", 0.984, 0.366),
        ]
    )
    assert [(row["metric"], row["control"], row["arm"]) for row in rows] == [
        ("writes (w/s)", "38 674", "43 347"),
        ("reads a new order", "14.35", "20.96"),
        ("write time (w_await)", "0.25 ms", "0.5 ms"),
        ("CV of writes/s", "98.4 %", "36.6 %"),
    ]
    assert [by_second(figure(name, 1, 1)) for name in ("write_iops", "write_iops_cv")] == [
        False,
        True,
    ]


def test_devices_are_named() -> None:
    assert devices_text(DeviceSummary(names=("vda",))) == "device vda"
    assert devices_text(DeviceSummary(names=("sda", "sdb"))) == "devices sda and sdb"
