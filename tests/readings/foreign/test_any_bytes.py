"""Whatever a file holds ends in a judgement or in an error of ours, never in another one."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readings.foreign.reading import GOLDEN
from steelyard.errors import SteelyardError
from steelyard.readings.foreign.comparison import Asked, compare
from steelyard.readings.foreign.formats import FORMATS, read_sheet
from steelyard.readings.foreign.source import source_of
from steelyard.verdict.judge_numbers import judge_numbers

PIECES = st.sampled_from(
    [
        *(
            "off",
            "on",
            "arm",
            "tps",
            "latency_ms",
            "block",
            "time",
            "clients",
            "rep",
            "{",
            "}",
            "[",
        ),
        *(
            "]",
            ":",
            ",",
            ";",
            "\t",
            " ",
            "\n",
            "\r\n",
            '"',
            "#",
            "1",
            "2.5",
            "1,5",
            "0",
            "-3",
            "nan",
        ),
        *(
            "1e400",
            "1e-320",
            "ms",
            "s",
            "null",
            "true",
            '"off"',
            '"results"',
            '"command"',
            '"times"',
        ),
        *('"study"', '"contrasts"', "tps = 5.5", "latency average = 1 ms", "number of clients: 8"),
        *("progress: 1.0 s, 5 tps, lat 1.0 ms stddev 0", "System achieved 5 NOPM from 9 X TPM"),
        *(
            "0 1 500 0 1700000000 1",
            "1700000000 5 100 2000 1 9",
            "5 PostgreSQL tpm @ now",
            "é",
            "∞",
        ),
    ]
)


def judged(content: bytes, form: str | None = None) -> None:
    """Read and judge, alone and beside itself, as the command would."""
    with contextlib.suppress(SteelyardError):
        sheet = read_sheet(source_of(content, "f"), form)
        with contextlib.suppress(SteelyardError):
            judge_numbers(compare([(None, sheet)], Asked(higher_is_better=True, clients=8)))
        judge_numbers(compare([("a", sheet), ("b", sheet)], Asked(higher_is_better=True)))


@given(st.binary(max_size=200), st.sampled_from([None, *FORMATS]))
@settings(max_examples=150, deadline=None)
def test_any_bytes_end_in_a_judgement_or_in_our_error(content: bytes, form: str | None) -> None:
    judged(content, form)


@given(st.lists(PIECES, max_size=30).map("".join), st.sampled_from([None, *FORMATS]))
@settings(max_examples=250, deadline=None)
def test_pieces_of_every_format_end_in_a_judgement_or_in_our_error(
    text: str, form: str | None
) -> None:
    judged(text.encode(), form)


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.iterdir()))
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_real_outputs_cut_and_overwritten_end_so_too(name: str, data: st.DataObject) -> None:
    content = bytearray((GOLDEN / name).read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    judged(bytes(content[: data.draw(st.integers(0, len(content)))]))
