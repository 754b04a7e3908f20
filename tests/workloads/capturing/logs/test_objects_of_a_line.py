"""Objects that stand behind each other in one line are all read, as Firehose writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from steelyard.model.errors import UsageError
from workloads.capturing.logs.log_lines import CAPTURED, CUT, jsonlog, outcomes, stderr


def firehose(seconds: Sequence[int], stream: str = "shop.0") -> str:
    """What CloudWatch sends to Firehose: lines of a log in a list, and no line feed behind it."""
    events = [{"id": str(n), "message": stderr(n, f"select {n}").rstrip("\n")} for n in seconds]
    return json.dumps({"messageType": "DATA_MESSAGE", "logStream": stream, "logEvents": events})


def entry(second: int, text: str | None = None) -> str:
    return jsonlog(second, text or f"select {second}").rstrip("\n")


CUT_OFF = entry(0)[:-9]
"""Within its statement."""
CHECKPOINT = json.dumps({"error_severity": "LOG", "message": "checkpoint starting: time"})[:-4]


@pytest.mark.parametrize(
    ("log", "captured", "cut"),
    [
        (firehose(range(4)), 4, 0),
        (firehose(range(4)) + firehose(range(4, 9)) + firehose([9]), 10, 0),
        (firehose(range(4)) + "\n" + firehose(range(4, 9)) + firehose([9]) + "\n", 10, 0),
        ("".join(map(entry, range(6))), 6, 0),
        (", ".join(map(entry, range(6))) + "\n", 6, 0),
        (entry(1) + " \t" + entry(2) + "\n" + entry(3) + "\n" + entry(4) + entry(5), 5, 0),
        # What is cut off has the next one behind it.
        (CUT_OFF + entry(1) + "\n" + entry(2), 2, 1),
        (CUT_OFF + entry(1) + entry(2) + "\n" + entry(3), 3, 1),
        (entry(1) + CUT_OFF + entry(2) + "\n" + entry(3), 3, 1),
        (entry(1) + entry(2) + CUT_OFF, 2, 1),
        (entry(1) + CHECKPOINT + entry(2), 2, 0),
        # An object within a statement is its text.
        (entry(1, """select '{"a": {"b": 1}}'::jsonb""") + entry(2), 2, 0),
    ],
)
def test_every_object_of_a_line_counts(tmp_path: Path, log: str, captured: int, cut: int) -> None:
    expected = {CAPTURED: captured} | ({CUT: cut} if cut else {})
    assert outcomes(tmp_path, log) == expected


@pytest.mark.parametrize("end", [1, 40])
def test_a_list_of_entries_that_is_cut_off_is_refused(tmp_path: Path, end: int) -> None:
    for log in (firehose(range(4)) + firehose(range(4, 9))[:-end], firehose(range(9))[:-end]):
        with pytest.raises(UsageError, match="the object in line 1 is cut off") as refused:
            outcomes(tmp_path, log)
        assert refused.value.hint is not None


@pytest.mark.parametrize("key", ["message", "log", "textPayload"])
@pytest.mark.parametrize(
    ("line", "counts"),
    [
        (stderr(3, "select 3 from t where a = 4"), True),
        (stderr(3, "x").partition("duration")[0], True),
        (stderr(3, "x").partition("LOG")[0], True),
        (stderr(3, "x").partition("duration")[0] + "checkpoint starting: time, or by force", False),
    ],
)
def test_of_a_line_that_is_cut_off_in_its_envelope_the_statement_counts(
    tmp_path: Path, key: str, line: str, counts: bool
) -> None:
    whole = "".join(json.dumps({key: stderr(n, f"select {n}")}) + "\n" for n in range(3))
    log = whole + json.dumps({key: line}).removesuffix('"}').removesuffix("\\n")[:-5]
    assert outcomes(tmp_path, log) == {CAPTURED: 3} | ({CUT: 1} if counts else {})
