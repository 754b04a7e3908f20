"""nvme-cli tells of a drive what smartctl tells: kelvins become Celsius, numbers are whole."""

from __future__ import annotations

import pytest

from steelyard.telemetry.drives.programs import nvme_cli_facts, smartctl_facts
from telemetry.drives.made import nvme, smart_log

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
