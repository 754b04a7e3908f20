"""What smartctl says of an NVMe drive becomes facts with their units, whatever version said it, and
nvme-cli tells the same: kelvins become Celsius, numbers are whole.
"""

from __future__ import annotations

import pytest

from steelyard.telemetry.drive_programs import (
    nvme_cli_facts,
    smartctl_command,
    smartctl_facts,
    smartctl_refusal,
    source_of,
)
from telemetry.drive_reports import nvme, sata, smart_log, smartctl

THERMAL = {
    "thermal_mgmt_temperature_1_transition_count": 5,
    "thermal_mgmt_temperature_1_total_time": 70,
    "thermal_mgmt_temperature_2_transition_count": 0,
    "thermal_mgmt_temperature_2_total_time": 0,
}
THROTTLING = [f"{how}_throttling_{unit}" for how in ("light", "heavy") for unit in ("count", "s")]


def test_of_an_nvme_drive_every_field_has_its_unit() -> None:
    facts = smartctl_facts(nvme(), 0)
    assert {name: value for name, value in facts.items() if value is not None} == {
        "model": "Maker DC 7.68T",
        "firmware": "FW01",
        "temperature_celsius": 35,
        "read_bytes": 14_121_094 * 512_000,
        "written_bytes": 12_070_313 * 512_000,
        "step_bytes": 512_000,
        "spare_percent": 100,
        "spare_threshold_percent": 10,
        "used_percent": 12,
        "media_errors": 0,
        "error_log_entries": 3,
        "warnings": (),
        "warning_temperature_min": 0,
        "critical_temperature_min": 0,
        "power_on_h": 6679,
    }
    assert smartctl_refusal(nvme(), 0) == ""
    assert source_of(nvme()) == "smartctl 7.3"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (nvme((7, 3)), [None] * 4),
        (nvme((7, 5)), [None] * 4),
        (nvme((8, 0)), [0] * 4),
        (nvme((8, 0), **THERMAL), [5, 70, 0, 0]),
        (nvme((7, 5), **THERMAL), [5, 70, 0, 0]),
    ],
    ids=["7.3", "7.5", "8.0 cool", "8.0 hot", "a version between"],
)
def test_thermal_counters_that_are_not_printed_are_zero_only_where_zero_is_not_printed(
    told: dict[str, object], expected: list[int | None]
) -> None:
    facts = smartctl_facts(told, 0)
    assert [facts[name] for name in THROTTLING] == expected


def test_a_counter_beyond_2_to_the_53_is_taken_from_the_text_beside_it() -> None:
    exact = 2**53 + 1
    facts = smartctl_facts(
        nvme(data_units_written=float(exact), data_units_written_s=str(exact)), 0
    )
    assert facts["written_bytes"] == exact * 512_000


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        (1, ["its spare is below the threshold"]),
        (2, ["its temperature is beyond a limit"]),
        (4 | 8, ["its reliability is degraded", "its media are read-only"]),
        (16, ["the backup of its volatile memory has failed"]),
        (32, ["its persistent memory region is read-only or unreliable"]),
        (64, ["critical warning 0x40"]),
    ],
)
def test_every_bit_of_the_critical_warning_has_words(bits: int, words: list[str]) -> None:
    told = nvme(status=8, critical_warning=bits)
    assert list(smartctl_facts(told, 8)["warnings"]) == words
    assert smartctl_refusal(told, 8) == ""


def test_a_log_without_its_temperature_has_that_of_the_device_or_none() -> None:
    assert smartctl_facts(nvme(temperature=None), 0)["temperature_celsius"] == 35
    bare = {key: value for key, value in nvme(temperature=None).items() if key != "temperature"}
    assert smartctl_facts(bare, 0)["temperature_celsius"] is None


@pytest.mark.parametrize("mask", [4, 8, 16, 32, 64, 128, 4 | 64, 255 - 3])
def test_every_bit_but_the_first_two_leaves_what_was_read(mask: int) -> None:
    assert smartctl_refusal(nvme(status=mask), mask) == ""
    assert smartctl_facts(nvme(status=mask), mask)["used_percent"] == 12


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (1, "/dev/vda: Unable to detect device type"),
        (2, "Smartctl open device: /dev/nvme0n1 failed: Permission denied"),
        (3, "anything"),
    ],
)
def test_the_first_two_bits_mean_that_there_is_nothing_and_the_reason_is_smartctls(
    mask: int, message: str
) -> None:
    assert smartctl_refusal(smartctl((7, 3), mask, message), mask) == message
    assert smartctl_refusal(smartctl((7, 3), mask), mask) == f"smartctl ended with status {mask}"


def test_a_device_that_answers_and_keeps_no_health_is_said() -> None:
    assert smartctl_refusal(smartctl(), 0) == "it keeps no health"
    assert smartctl_refusal(smartctl((7, 3), 4), 4) == "a command to the drive failed"
    assert smartctl_refusal(smartctl((7, 3), 4, "SMART unsupported"), 4) == "SMART unsupported"


def test_the_status_in_the_json_counts_before_that_of_the_process() -> None:
    assert smartctl_refusal(nvme(status=0), 2) == ""
    told = nvme()
    del told["smartctl"]["exit_status"]
    assert smartctl_refusal(told, 2) == "smartctl ended with status 2"


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"smartctl": []},
        {"smartctl": {"messages": 7, "version": "x", "exit_status": "?"}},
        {"nvme_smart_health_information_log": {"temperature": "hot", "media_errors": -1}},
        {"model_name": 7, "ata_smart_attributes": {"table": {"a": 1}}},
        {"ata_device_statistics": {"pages": [1, {"number": 1, "table": [None]}]}},
    ],
)
def test_json_of_another_form_is_no_error(odd: dict[str, object]) -> None:
    smartctl_facts(odd, 0)
    smartctl_refusal(odd, 0)
    source_of(odd)


def test_only_sata_drives_are_asked_for_device_statistics() -> None:
    assert smartctl_command("smartctl", "/dev/nvme0n1") == [
        "smartctl",
        "--json=c",
        "-a",
        "/dev/nvme0n1",
    ]
    assert smartctl_command("smartctl", "/dev/sda")[2:] == ["-a", "-l", "devstat", "/dev/sda"]
    assert smartctl_facts(sata(), 0)["power_on_h"] == 20_000


UNITS = 12_070_313


def test_both_programs_tell_the_same_of_one_drive_and_nvme_cli_tells_throttling_too() -> None:
    by_one, by_other = smartctl_facts(nvme(), 0), nvme_cli_facts(smart_log())
    both = {name for name in by_other if not name.startswith(("light", "heavy"))}
    assert {name: by_one[name] for name in both} == {name: by_other[name] for name in both}
    assert by_other["temperature_celsius"] == 35
    assert (by_other["light_throttling_count"], by_other["light_throttling_s"]) == (4, 61)
    assert (by_other["heavy_throttling_count"], by_other["heavy_throttling_s"]) == (0, 0)


@pytest.mark.parametrize(
    "printed", [UNITS, float(UNITS), str(UNITS)], ids=["whole", "float", "text"]
)
def test_a_number_of_128_bits_is_read_in_every_form(printed: object) -> None:
    assert nvme_cli_facts(smart_log(data_units_written=printed))["written_bytes"] == (
        UNITS * 512_000
    )


def test_numbers_beyond_64_bits_stay_exact_as_text() -> None:
    facts = nvme_cli_facts(smart_log(data_units_read=str(2**70)))
    assert facts["read_bytes"] == 2**70 * 512_000


def test_zero_kelvin_is_no_temperature() -> None:
    assert nvme_cli_facts(smart_log(temperature=0))["temperature_celsius"] is None


def test_with_verbose_versions_the_critical_warning_is_an_object() -> None:
    told = smart_log(critical_warning={"value": 8, "available_spare": 0, "ro": 1})
    assert nvme_cli_facts(told)["warnings"] == ("its media are read-only",)
    assert nvme_cli_facts(smart_log(critical_warning=None))["warnings"] is None


@pytest.mark.parametrize("odd", ["", "1e400", "9" * 5000, "12 %", None, [], True, -4, float("nan")])
def test_what_is_no_count_is_not_known(odd: object) -> None:
    assert nvme_cli_facts({"media_errors": odd})["media_errors"] is None
