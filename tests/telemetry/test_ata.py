"""Of a SATA drive only what its names and its statistics say for sure becomes a fact."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.telemetry.drive_programs import ata_facts
from telemetry.drive_reports import sata, statistics

MIB, GIB = 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("attributes", "read", "written", "step"),
    [
        ([(241, "Total_LBAs_Written", 1000), (242, "Total_LBAs_Read", 10)], 5120, 512_000, 512),
        (
            [(241, "Host_Writes_32MiB", 7), (242, "Host_Reads_32MiB", 3)],
            96 * MIB,
            224 * MIB,
            32 * MIB,
        ),
        ([(241, "Total_Writes_GiB", 9)], None, 9 * GIB, GIB),
        ([(241, "Lifetime_Writes_GiB", 9)], None, 9 * GIB, GIB),
        ([(241, "Total_Writes_GB", 9)], None, 9 * 10**9, 10**9),
        ([(233, "NAND_Writes_1GiB", 9)], None, None, None),
        ([(241, "Unknown_Attribute", 9)], None, None, None),
    ],
)
def test_the_name_of_an_attribute_says_its_unit(
    attributes: list[tuple[int, str, int]], read: int | None, written: int | None, step: int | None
) -> None:
    facts = ata_facts(sata(*attributes), 0)
    assert (facts["read_bytes"], facts["written_bytes"], facts["step_bytes"]) == (
        read,
        written,
        step,
    )


def test_sectors_have_the_size_that_the_drive_says() -> None:
    one = (241, "Total_LBAs_Written", 1000)
    assert ata_facts(sata(one, logical_block_size=4096), 0)["written_bytes"] == 4_096_000
    assert ata_facts(sata(one, logical_block_size=None), 0)["written_bytes"] is None


def test_of_a_drive_that_smartctl_does_not_know_names_are_guesses_and_are_left_alone() -> None:
    told = sata((241, "Total_LBAs_Written", 1000), in_smartctl_database=False)
    assert ata_facts(told, 0)["written_bytes"] is None


def test_device_statistics_count_before_attributes_and_need_no_names() -> None:
    told = sata(
        (241, "Host_Writes_32MiB", 7),
        (187, "Reported_Uncorrect", 8),
        in_smartctl_database=False,
        ata_device_statistics=statistics(
            (1, "Logical Sectors Written", 2000),
            (1, "Logical Sectors Read", 3000),
            (4, "Number of Reported Uncorrectable Errors", 2),
            (7, "Percentage Used Endurance Indicator", 5),
        ),
    )
    facts = ata_facts(told, 0)
    assert (facts["written_bytes"], facts["read_bytes"]) == (2000 * 512, 3000 * 512)
    assert (facts["step_bytes"], facts["media_errors"], facts["used_percent"]) == (512, 2, 5)


def test_statistics_that_the_drive_calls_invalid_are_not_read() -> None:
    told = sata(
        (241, "Total_Writes_GiB", 4),
        ata_device_statistics=statistics((1, "Logical Sectors Written", 2000), valid=False),
    )
    assert ata_facts(told, 0)["written_bytes"] == 4 * GIB


def test_wear_by_a_makers_own_attribute_is_not_concluded_from() -> None:
    told = sata((177, "Wear_Leveling_Count", 40), endurance_used={"current_percent": 1})
    assert ata_facts(told, 0)["used_percent"] is None


@pytest.mark.parametrize(
    ("mask", "passed", "words"),
    [
        (0, True, []),
        (4, True, []),
        (8, False, ["its own status says that it is failing"]),
        (8, True, ["its own status says that it is failing"]),
        (16, True, ["an attribute is at its failure threshold"]),
        (32, True, ["an attribute was at its threshold at some time"]),
        (64, True, []),
        (128, True, ["its self-test log has errors"]),
        (
            8 | 16 | 64 | 128,
            False,
            [
                "its own status says that it is failing",
                "an attribute is at its failure threshold",
                "its self-test log has errors",
            ],
        ),
    ],
)
def test_a_failing_drive_warns_by_its_status_and_smartctls_exit_status(
    mask: int, passed: bool, words: list[str]
) -> None:
    told = sata(status=mask, smart_status={"passed": passed})
    assert list(ata_facts(told, mask)["warnings"]) == words


def test_a_drive_that_does_not_say_its_status_has_no_word_on_warnings() -> None:
    assert ata_facts(sata(smart_status={}), 0)["warnings"] is None


def test_media_errors_and_the_error_log_are_told_by_their_names() -> None:
    log: dict[str, Any] = {"summary": {"count": 6}}
    told = sata((187, "Reported_Uncorrect", 3), ata_smart_error_log=log)
    facts = ata_facts(told, 0)
    assert (facts["media_errors"], facts["error_log_entries"]) == (3, 6)
    assert (facts["temperature_celsius"], facts["power_on_h"]) == (31, 20_000)
