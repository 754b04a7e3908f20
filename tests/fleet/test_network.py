"""Counters are read as the kernel has them; an interface that says no speed has none."""

from __future__ import annotations

from pathlib import Path

from steelyard.fleet.network import Nic, NicCounters, read_nics

NAMES = ("rx_bytes", "tx_bytes", "rx_errors", "tx_errors", "rx_dropped", "tx_dropped")


def _interface(place: Path, speed: str | None, first: int) -> None:
    (place / "statistics").mkdir(parents=True)
    for number, name in enumerate(NAMES):
        (place / "statistics" / name).write_text(f"{first + number}\n")
    if speed is not None:
        (place / "speed").write_text(f"{speed}\n")


def test_every_interface_but_loopback_is_read(tmp_path: Path) -> None:
    _interface(tmp_path / "eth0", "10000", 100)
    _interface(tmp_path / "virtual", "-1", 200)
    _interface(tmp_path / "older", None, 300)
    _interface(tmp_path / "lo", None, 400)
    (tmp_path / "bonding_masters").write_text("")  # a file, no interface
    found = read_nics(tmp_path)
    assert list(found) == ["eth0", "older", "virtual"]
    assert found["eth0"] == Nic(NicCounters(100, 101, 102, 103, 104, 105), 1_250_000_000)
    assert found["virtual"].bytes_per_s is None
    assert found["older"].bytes_per_s is None


def test_what_was_counted_since_is_the_difference_and_faults_are_added_up() -> None:
    earlier, later = NicCounters(1, 2, 3, 4, 5, 6), NicCounters(11, 22, 33, 44, 55, 66)
    since = later.since(earlier)
    assert since == NicCounters(10, 20, 30, 40, 50, 60)
    assert since.faults == 180


def test_a_machine_without_sys_has_no_interfaces(tmp_path: Path) -> None:
    assert read_nics(tmp_path / "missing") == {}
