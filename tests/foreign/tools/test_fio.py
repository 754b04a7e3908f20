"""Outputs of fio are a repetition each; jobs and sides are metrics; what differs is a doubt."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreign.judged_rows import names, only_of
from foreign.judged_rows import only as only_contrast
from foreign.reading import GOLDEN, golden_sheet, only, refusal, sheet_of
from steelyard.evaluation.threats.numbers import ConditionsDiffer, DifferingCondition
from steelyard.foreign.comparison import Comparison, Options, compare
from steelyard.foreign.judgement.judge_numbers import NO_SPREAD, judge_numbers
from steelyard.foreign.metric import Metric
from steelyard.foreign.series import Grain, Order, Sheet, TransactionCounts
from steelyard.model.errors import SteelyardError, UsageError
from steelyard.model.threat import ThreatKind

BEGIN_MS = 1_700_000_000_000
NOTE = "note: both iodepth >= 1 and synchronous I/O engine are selected\n"


def latency(mean: float, count: int, **percentiles: float) -> dict[str, Any]:
    found: dict[str, Any] = {"min": 1, "max": 9 * mean, "mean": mean, "stddev": 1, "N": count}
    named = {f"{name[1:].replace('_', '.')}": ns for name, ns in percentiles.items()}
    return found | ({"percentile": named} if named else {})


def side(iops: float = 0, total: int = 0, mean_ns: float = 0, runtime_ms: int = 1000) -> Any:
    """Reads or writes of 4 kB; with a mean of 0 their latencies were not taken."""
    timed = total if mean_ns else 0
    return {
        "io_bytes": 4096 * total,
        "bw_bytes": 4096 * iops,
        "iops": iops,
        "runtime": runtime_ms if total else 0,
        "total_ios": total,
        "clat_ns": latency(0.9 * mean_ns, timed, **({"p99_000000": 5e6} if timed else {})),
        "lat_ns": latency(mean_ns, timed),
        "iops_stddev": 77.0,
    }


def job(name: str = "j", **own: Any) -> dict[str, Any]:
    """A job that read 1000 blocks in a second, unless something else is said."""
    read = own.pop("read", side(1000, 1000, 250_000))
    whole = {"jobname": name, "groupid": 0, "error": 0, "job options": {"rw": "randread"}}
    quiet = {"write": side(), "trim": side(), "sync": {"total_ios": 0, "lat_ns": latency(0, 0)}}
    return {**whole, "read": read, **quiet, **own}


def output(*jobs: dict[str, Any], second: int = 0, **own: Any) -> str:
    """What fio prints of jobs that began at a second."""
    stamp = {"fio version": "fio-3.33", "timestamp_ms": BEGIN_MS + 1000 * second + 1000}
    return json.dumps(
        {**stamp, "global options": {"bs": "4k"}, "jobs": list(jobs), **own}, indent=1
    )


def reading(iops: float, second: int = 0, **options: str) -> str:
    """A job of random reads with these options besides."""
    read, asked = side(iops, round(iops), 1e9 / iops), {"rw": "randread", **options}
    return output(job(read=read, **{"job options": asked}), second=second)


def metrics_of(sheet: Sheet) -> dict[str, float]:
    return {metric.name: own[0].values[0] for metric, own in sheet.metrics}


def compared(*named: tuple[str, str], **asked: Any) -> Comparison:
    return compare([(arm, sheet_of(text)) for arm, text in named], Options(**asked))


def test_rates_and_latencies_of_a_side_that_did_something_are_metrics() -> None:
    sheet = sheet_of(output(job()))
    assert metrics_of(sheet) == {
        "read_iops": 1000,
        "read_bandwidth": 4.096,
        "read_latency_mean": 250,
        "read_clat_mean": pytest.approx(225),
        "read_clat_p99": 5000,
    }
    assert sheet.form == "fio JSON"
    assert only(sheet).grain is Grain.REPETITION
    units = [(metric.unit, metric.higher_is_better) for metric, _ in sheet.metrics]
    assert units == [("operations/s", True), ("MB/s", True), *[("µs", False)] * 3]
    silent = side(500, 500)
    assert list(metrics_of(sheet_of(output(job(read=silent))))) == ["read_iops", "read_bandwidth"]


def test_a_mixed_job_has_both_sides_and_syncs_and_says_that_one_is_judged() -> None:
    mixed = job(
        write=side(300, 300, 9_000),
        sync={"total_ios": 0, "lat_ns": latency(400_000, 30, p99_900000=9e6)},
    )
    sheet = sheet_of(output(mixed))
    found = metrics_of(sheet)
    assert (found["read_iops"], found["write_iops"]) == (1000, 300)
    assert (found["sync_latency_mean"], found["sync_latency_p99.9"]) == (400, 9000)
    assert "trim_iops" not in found
    assert "one of read, write is judged at a time: see --metric" in sheet.notes
    assert not sheet_of(output(job())).notes


def test_spreads_and_means_of_samples_are_never_read() -> None:
    odd = side(1000, 1000, 250_000) | {"iops_stddev": 5e9, "iops_mean": 1.0, "bw_dev": 8e9}
    assert metrics_of(sheet_of(output(job(read=odd)))) == metrics_of(sheet_of(output(job())))


def test_notes_before_between_and_after_outputs_are_read_over_and_places_stay() -> None:
    text = NOTE + reading(100) + "\n" + NOTE + reading(110, 5) + "\nRun status group 0:\n  READ\n"
    sheet = sheet_of(text)
    assert only(sheet).values.tolist() == [100, 110]
    assert only(sheet_of(text, "fio")).values.tolist() == [100, 110]
    failed = NOTE + output(job(error=28))
    line = failed[: failed.index('"error"')].count("\n") + 1
    assert f"line {line}, column" in refusal(failed)
    compact = NOTE + json.dumps(json.loads(reading(100))) + "\n" + NOTE
    assert only(sheet_of(compact)).values.tolist() == [100]


def test_a_job_that_failed_is_refused_with_fios_number() -> None:
    said = refusal(output(job("good"), job("bad", error=5)))
    assert said.endswith('job "bad" ended with error 5: its figures are incomplete')


def test_a_real_output_of_several_jobs_offers_each_of_them() -> None:
    sheet = golden_sheet("fio.json")
    held = json.loads((text := (GOLDEN / "fio.json").read_text())[text.index("{") :])
    log, mix, other = held["jobs"]
    found = metrics_of(sheet)
    assert found["log:write_iops"] == log["write"]["iops"]
    percentile = log["write"]["clat_ns"]["percentile"]["99.900000"]
    assert found["log:write_clat_p99.9"] == percentile / 1e3
    assert found["log:sync_latency_mean"] == log["sync"]["lat_ns"]["mean"] / 1e3
    reads = [one["read"] for one in (mix, other)]
    together = 1e3 * sum(r["total_ios"] for r in reads) / max(r["runtime"] for r in reads)
    assert found["mix:read_iops"] == pytest.approx(together)
    assert not [name for name in found if re.search("mix:.*_p[0-9]", name)]
    assert "one of log:write, mix:read, mix:write is judged at a time: see --metric" in sheet.notes
    assert any(note.startswith('workers of "mix" are taken together') for note in sheet.notes)
    pair = [("a", sheet), ("b", sheet)]
    assert compare(pair, Options()).metric.name == "log:write_iops"
    assert compare(pair, Options(metric="mix:write_latency_mean")).metric == Metric(
        "mix:write_latency_mean", "µs", False
    )
    with pytest.raises(UsageError) as refused:
        compare(pair, Options(metric="write_iops"))
    assert '"log:write_iops", ' in (refused.value.hint or "")
    assert re.search(" and [0-9]+ more.$", refused.value.hint or "")


def test_a_metric_is_found_by_its_unit_as_people_say_it() -> None:
    assert compared(("a", reading(1)), ("b", reading(2)), metric="iops").metric.name == "read_iops"
    bandwidth = compared(("a", reading(1)), ("b", reading(2)), unit="MB/s").metric
    assert bandwidth.name == "read_bandwidth"


def test_workers_without_group_reporting_are_one_job() -> None:
    fast, slow = side(1000, 2000, 100_000, 2000), side(500, 500, 400_000, 1000)
    found = metrics_of(sheet_of(output(job(read=fast), job(read=slow))))
    assert found["read_iops"] == 1250
    assert found["read_latency_mean"] == pytest.approx(160)
    assert found["read_bandwidth"] == pytest.approx(4096 * 1250 / 1e6)
    assert "read_clat_p99" not in found


@pytest.mark.parametrize("differs", [{"groupid": 1}, {"job options": {"rw": "read"}}])
def test_two_jobs_of_one_name_that_are_not_workers_are_refused(differs: dict[str, Any]) -> None:
    assert 'two jobs are called "j"' in refusal(output(job(), job(**differs)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (output(), "this output of fio has no jobs"),
        (output(jobs={"a": 1}), "this output of fio has no jobs"),
        (output(job(read=side())), "no job did anything"),
        (output({"error": 0}), "a job of fio without a name"),
        (output(job(read={"total_ios": "many"})), "a number is expected here"),
        (output(job(read={"total_ios": -5})), '"-5" is negative'),
        (
            output(job()) + "\n" + output(job(read=side(), write=side(5, 5, 5)), second=9),
            "the outputs have no figure in common",
        ),
    ],
)
def test_what_is_no_measurement_of_fio_is_refused(text: str, said: str) -> None:
    assert said in refusal(text)


def test_an_output_of_fio_beside_another_value_is_refused() -> None:
    assert refusal(reading(5) + '\n{"off": [1]}')
    assert "this is not an output of fio" in refusal(reading(5) + '\n{"off": [1]}', "fio")


def test_an_option_given_twice_is_the_last_of_them() -> None:
    twice = reading(100).replace('"rw": "randread"', '"rw": "read",\n"bs": "8k", "rw": "randread"')
    assert twice.count('"rw"') == 2
    own = only(sheet_of(twice)).conditions
    assert (own["rw"], own["bs"]) == (("randread",), ("8k",))
    assert "stands twice" in refusal(twice.replace('"jobname"', '"error": 0, "jobname"'))


def test_what_the_runs_were_asked_for_is_a_doubt_where_it_differs() -> None:
    small, large = reading(100, bs="4k"), reading(200, second=9, bs="8192", iodepth="32")
    judgement = judge_numbers(compared(("before", small), ("after", large)))
    differing = only_of(only_contrast(judgement), ConditionsDiffer)
    size = DifferingCondition("bs", ("4k",), ("8k",), explains=True)
    depth = DifferingCondition("iodepth", ("1",), ("32",), explains=True)
    assert differing == ConditionsDiffer("after", "before", (size, depth))
    assert differing.invalidates
    newer = large.replace("fio-3.33", "fio-3.41")
    mixed = judge_numbers(compared(("a", large), ("a", newer), ("b", small.replace("4k", "8k"))))
    version = DifferingCondition("fio version", ("3.33", "3.41"), ("3.33",), explains=False)
    assert version in only_of(only_contrast(mixed), ConditionsDiffer).conditions


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"bs": "4096"}, {"bs": "4KiB"}),
        ({"size": "1g"}, {"size": "1024M"}),
        ({"bs": "4k,8k"}, {"bs": "4096,8192"}),
        ({"ioengine": "psync", "direct": "0"}, {"iodepth": "1", "numjobs": "1"}),
        ({"directory": "/a"}, {"directory": "/b"}),
    ],
)
def test_the_same_work_in_other_words_is_no_doubt(one: dict[str, str], other: Any) -> None:
    judgement = judge_numbers(compared(("a", reading(9, **one)), ("b", reading(8, **other))))
    assert ThreatKind.CONDITIONS_DIFFER not in names(only_contrast(judgement))


def test_of_a_job_held_to_a_rate_latency_is_judged() -> None:
    sheet = sheet_of(reading(100, rate_iops="100"))
    assert sheet.metrics[0][0].name == "read_latency_mean"
    assert "the job was held to a rate: its latency is what can differ" in sheet.notes


def test_one_run_a_side_cannot_be_judged() -> None:
    judgement = judge_numbers(compared(("before", reading(100)), ("after", reading(120, 9))))
    assert judgement.cannot == NO_SPREAD
    assert names(only_contrast(judgement)) == {"one arm after the other", "one value per arm"}


def test_runs_by_turns_are_repetitions_in_the_order_of_their_times() -> None:
    runs = [
        (arm, reading(base + n % 3, 10 * (2 * n + place)))
        for n in range(10)
        for place, (arm, base) in enumerate((("before", 1000), ("after", 1200)))
    ]
    found = compared(*runs[::-1], control="before")
    assert found.order is Order.ALTERNATING
    assert not found.no_order
    assert found.control.values.tolist() == [1000 + n % 3 for n in range(10)]
    contrast = only_contrast(judge_numbers(found))
    assert contrast.verdict.kind.value == "faster"
    assert "order lost" not in names(contrast)


def test_outputs_one_after_the_other_in_a_file_are_repetitions_by_their_times() -> None:
    sheet = sheet_of("\n".join([reading(103, 30), reading(101, 10), reading(102, 20)]))
    own = only(sheet)
    assert own.values.tolist() == [101, 102, 103]
    assert own.timestamps is not None
    assert (own.timestamps - BEGIN_MS / 1e3).tolist() == [10, 20, 30]
    assert own.spot is not None
    assert own.spot(2).line < own.spot(0).line
    longer = output(job(read=side(7, 70, 1e6, 10_000)), second=20)
    undated = f"{reading(5)}\n{longer}".replace('"timestamp_ms"', '"timestamp_then"')
    assert only(sheet_of(undated)).values.tolist() == [5, 7]
    assert only(sheet_of(undated)).timestamps is None


def test_states_of_one_run_are_not_repetitions() -> None:
    states = [
        output(job(read=side(100, 100 * k, 9_000, 1000 * k)), second=k - 1) for k in (1, 2, 3)
    ]
    assert "two outputs overlap in time" in refusal("\n".join(states))
    assert only(sheet_of(states[-1])).values.tolist() == [100]


def test_runs_of_an_arm_at_one_time_are_not_added_up() -> None:
    found = compared(("a", reading(100)), ("a", reading(110)), ("b", reading(90, 9)))
    assert found.control.values.tolist() == [100, 110]
    assert found.order is Order.UNKNOWN


def test_figures_that_not_every_output_has_are_left_out_and_said() -> None:
    both = job(write=side(50, 50, 1000))
    sheet = sheet_of(output(both) + "\n" + output(job(), second=10))
    assert "write_iops" not in metrics_of(sheet)
    [said] = [note for note in sheet.notes if note.startswith("not every output has")]
    assert said.startswith("not every output has write_iops, write_bandwidth")


def test_requests_that_failed_and_were_passed_over_are_a_doubt() -> None:
    assert sheet_of(output(job(total_err=7))).outcomes == {"": TransactionCounts(1007, 7)}
    bad = output(job(total_err=400, first_error=5), second=9)
    found = judge_numbers(compared(("a", output(job())), ("b", bad)))
    assert ThreatKind.ERRORS_DIFFER in names(only_contrast(found))


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers(-5, 10**20) | st.sampled_from(["", "4k"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@pytest.mark.long
@given(data=st.data())
@settings(max_examples=150)
def test_whatever_stands_at_any_place_it_is_read_or_refused(data: st.DataObject) -> None:
    whole = json.loads(output(job("x", total_err=1), job("y", write=side(9, 9, 9))))
    at: Any = whole
    while True:
        key = data.draw(st.sampled_from(list(at) if isinstance(at, dict) else range(len(at))))
        if not isinstance(at[key], dict | list) or not at[key] or data.draw(st.booleans()):
            break
        at = at[key]
    at[key] = data.draw(JSON)
    with contextlib.suppress(SteelyardError):
        sheet = sheet_of(json.dumps(whole))
        judge_numbers(compare([("a", sheet), ("b", sheet)], Options(higher_is_better=True)))


def run_fio(directory: Path, *options: str) -> str:
    """What the real fio prints on its standard output of reads and writes of a small file."""
    if shutil.which("fio") is None:
        pytest.skip("there is no fio")
    command = ["fio", "--name=mix", "--rw=randrw", "--size=8m", "--ioengine=psync", "--runtime=1"]
    done = subprocess.run(
        [*command, f"--directory={directory}", *options],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=directory,
    )
    return done.stdout


@pytest.mark.parametrize("form", ["json", "json+"])
def test_figures_are_those_of_fios_terse_output(tmp_path: Path, form: str) -> None:
    printed = run_fio(tmp_path, f"--output-format=terse,{form}", "--terse-version=3", "--iodepth=4")
    assert printed.startswith("note: ")
    [terse] = [line.split(";") for line in printed.splitlines() if line.startswith("3;fio-")]
    found = metrics_of(sheet_of(printed))
    # HOWTO.rst, terse version 3: 5 general fields, 41 of reads, 41 of writes.
    for name, first in (("read", 5), ("write", 46)):
        fields = terse[first : first + 41]
        assert found[f"{name}_bandwidth"] * 1e3 / 1.024 == pytest.approx(float(fields[1]), abs=2)
        assert found[f"{name}_iops"] == pytest.approx(float(fields[2]), abs=1)
        assert found[f"{name}_clat_mean"] == pytest.approx(float(fields[10]), rel=1e-3)
        percentiles = [one.split("%=") for one in fields[12:32] if not one.startswith("0%")]
        assert len(percentiles) >= 15
        for rank, microseconds in percentiles:
            own = found[f"{name}_clat_p{rank.rstrip('0').rstrip('.')}"]
            assert own == pytest.approx(float(microseconds), abs=1)
        assert found[f"{name}_latency_mean"] == pytest.approx(float(fields[34]), rel=1e-3)


def test_workers_add_up_to_what_fio_says_of_their_group(tmp_path: Path) -> None:
    printed = run_fio(tmp_path, "--output-format=normal,json", "--numjobs=3", "--loops=2")
    found = metrics_of(sheet_of(printed))
    for name in ("read", "write"):
        [[size, unit]] = re.findall(rf"{name.upper()}: bw=.*?\(([0-9.]+)([kMG])B/s\)", printed)
        told = float(size) * {"k": 1e-3, "M": 1, "G": 1e3}[unit]  # by how busy the disk is
        assert found[f"{name}_bandwidth"] == pytest.approx(told, rel=0.01, abs=0.1)


def test_clients_of_a_server_of_fio_are_workers_of_one_job() -> None:
    clients = [{**job(), "hostname": host} for host in ("a", "b")]
    total = {**job("All clients"), "read": side(9_999, 9_999, 1)}
    listed = {
        "fio version": "fio-3.36",
        "timestamp_ms": BEGIN_MS,
        "client_stats": [*clients, total],
    }
    sheet = sheet_of(json.dumps(listed))
    rate = next(one for one in sheet.metrics if one[0].name == "read_iops")
    assert rate[1][0].values.tolist() == [2000]
