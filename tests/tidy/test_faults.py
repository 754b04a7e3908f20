"""The seeded faults can be put where they belong: each text stands once in its file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.faults.fault import Fault, read_faults

ROOT = Path(__file__).parents[2]
FEWEST = 60
FAULTS = read_faults()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_changes_its_file_and_names_tests_that_exist(fault: Fault) -> None:
    source = (ROOT / fault.file).read_text(encoding="utf-8")
    assert fault.applied(source) != source
    assert fault.tests
    assert [test for test in fault.tests if not (ROOT / test).is_file()] == []


def test_every_room_has_faults_and_no_two_have_one_name() -> None:
    rooms = {path.name for path in (ROOT / "python/steelyard").iterdir() if any(path.glob("*.py"))}
    crates = {f"crates/{path.name}" for path in (ROOT / "crates").iterdir()}
    assert {fault.room for fault in FAULTS} >= (rooms | crates) - {"__pycache__"}
    assert len(FAULTS) >= FEWEST
    names = Counter(fault.name for fault in FAULTS)
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("source", ["a > b\n", "a < b\na < b\n"])
def test_a_text_that_stands_there_not_once_is_refused_with_what_to_do(source: str) -> None:
    fault = Fault("less is more", "python/steelyard/a.py", "a < b", "a > b", ("tests/test_a.py",))
    with pytest.raises(ValueError, match=r"not once: change the text in tests/faults/"):
        fault.applied(source)
    assert fault.applied("if a < b:\n") == "if a > b:\n"
