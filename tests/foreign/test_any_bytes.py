"""Whatever a file holds ends in a judgement or in an error of ours, never in another one."""

from __future__ import annotations

import contextlib
import json
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreign.reading import GOLDEN
from steelyard.cli.views.judgement_view import render_judgement
from steelyard.foreign.comparison import Options, compare
from steelyard.foreign.formats import format_names, read_sheet
from steelyard.foreign.judgement.judge_numbers import judge_numbers
from steelyard.foreign.source import source_of
from steelyard.model.errors import SteelyardError
from steelyard.wording.verdict_sentence import sentence_of

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
            "1e300",
            "1e-300",
            "9" * 5_000,
            "ms",
            "s",
            "null",
            "true",
            '"off"',
            '"results"',
            '"command"',
            '"times"',
        ),
        *("number of transactions actually processed: 9", "number of failed transactions: 7 (1%)"),
        *("number of transactions retried: 99 (1%)", "pgbench: error: Run was aborted;"),
        *('"fio version"', '"jobs"', '"jobname"', '"read"', '"total_ios"', '"iops"', '"lat_ns"'),
        *('"benchmarks"', '"real_time"', '"stats"', '"primaryMetric"', '"rawData"', '"metrics"'),
        *('"http_reqs"', '"latencies"', '"throughput"', '"success"', '"iters"', '"sampling_mode"'),
        *("BenchmarkX-8 5 9 ns/op", "[OVERALL], Throughput(ops/sec), 5", "Requests/sec: 5"),
        *("    transactions: 5 (5.5 per sec.)", "timeStamp,elapsed", "Benchmark,Mode,Score,Unit"),
        *("Type,Name,Request Count,Failure Count,", "name,iterations,real_time,cpu_time,time_unit"),
        *("|---|", "sep=;", "1:23.4", "5 ± 1", "15k", "query 5 completed in 5.5 seconds", "min_ms"),
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
    with contextlib.suppress(SteelyardError), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # numpy's of overflow and of empty rows
        sheet = read_sheet(source_of(content, "f"), form)
        one_arm = read_sheet(source_of(content, "f"), form, None, alone=False)
        with contextlib.suppress(SteelyardError):
            judge_numbers(compare([(None, sheet)], Options(higher_is_better=True, clients=8)))
        judge_numbers(compare([("a", one_arm), ("b", one_arm)], Options(higher_is_better=True)))


@given(st.binary(max_size=200), st.sampled_from([None, *format_names()]))
@settings(max_examples=150)
def test_any_bytes_end_in_a_judgement_or_in_our_error(content: bytes, form: str | None) -> None:
    judged(content, form)


@given(st.lists(PIECES, max_size=30).map("".join), st.sampled_from([None, *format_names()]))
@settings(max_examples=250)
def test_pieces_of_every_format_end_in_a_judgement_or_in_our_error(
    text: str, form: str | None
) -> None:
    judged(text.encode(), form)


NUMBERS = st.floats(5e-324, 1.7e308) | st.floats(0.5, 2) | st.integers(1, 10**40)


@pytest.mark.long
@given(st.lists(st.lists(NUMBERS, min_size=2, max_size=2), min_size=1, max_size=12))
@settings(max_examples=150)
def test_numbers_of_every_size_end_so_too(rows: list[list[float]]) -> None:
    judged(b"off,on\n" + "".join(f"{a!r},{b!r}\n" for a, b in rows).encode())


@pytest.mark.parametrize("arms", [2, 50, 100])
def test_two_rows_of_many_arms_leave_their_intervals_unbounded_and_are_printed(arms: int) -> None:
    logs = np.random.default_rng(arms).normal(0, 0.4, (2, arms))
    names = [f"a{arm}" for arm in range(arms)]
    rows = [names, *(map(repr, row) for row in (100 * np.exp(logs)).tolist())]
    text = "".join(",".join(row) + "\n" for row in rows)
    comparison = compare([(None, read_sheet(source_of(text.encode(), "f")))], Options(unit="s"))
    judgement = judge_numbers(comparison)
    json.dumps(judgement.to_json(), allow_nan=False)
    said = [sentence_of(contrast) for contrast in judgement.contrasts]
    shown = render_judgement(judgement, 80)
    assert re.search("[0-9]{16}", shown) is None
    if arms == 100:
        assert any(", unbounded]" in sentence for sentence in said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("off,on\n100,103\n101,1e-308\n", "line 3, column 5: 1e-308 is no measurement"),
        ("off,on\n1e-300,1e300\n1,2\n", "line 2, column 1: 1e-300 is no measurement"),
        ("off,on\n100,103\n1e9,104\n", "line 3, column 1: 1e+09 is out of all proportion"),
        ('{"off": [1, 2], "on": [1e61, 2]}', "line 1, column 24: 1e+61 is no measurement"),
        ('{"off": [1, 9e8], "on": [1, 2]}', "line 1, column 13: 9e+08 is out of all proportion"),
        ("tps = 1" + "0" * 70 + "\ntps = 5\n", "arm b: 1e+70 is no measurement"),
    ],
)
def test_numbers_beyond_all_measure_are_refused_with_their_place(text: str, said: str) -> None:
    sheet = read_sheet(source_of(text.encode(), "f"))
    arms = [("b", sheet), ("c", sheet)] if text.startswith("tps") else [(None, sheet)]
    with pytest.raises(SteelyardError) as refused:
        compare(arms, Options(higher_is_better=True))
    assert said in refused.value.primary


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.iterdir()))
@given(data=st.data())
@settings(max_examples=12)
def test_real_outputs_cut_and_overwritten_end_so_too(name: str, data: st.DataObject) -> None:
    content = bytearray((GOLDEN / name).read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    judged(bytes(content[: data.draw(st.integers(0, len(content)))]))
