"""Times are on one clock whatever sets those of a log, or of this machine, forward or back; a log
that is in no order of time is refused."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.ledger import CaptureLedger
from steelyard.workloads.capturing.mix import mix_of
from steelyard.workloads.capturing.statements import statements
from steelyard.workloads.capturing.transactions import transactions
from steelyard.workloads.capturing.writing import write_workload
from thinned import thinned
from workloads.capturing.logs.log_lines import csv, entries, jsonlog, message, stderr

MARCH, NOVEMBER = "2026-03-08 ", "2026-11-01 "


def log(*stamps: str) -> str:
    return "".join(f"{stamp} [100] LOG:  {message('select 1')}\n" for stamp in stamps)


def steps(folder: Path, *logs: str) -> list[float]:
    """Seconds between entries."""
    seconds = [entry.seconds for entry in entries(folder, *logs)]
    return [round(after - before, 3) for before, after in itertools.pairwise(seconds)]


@pytest.mark.parametrize("machine", ["UTC", "America/New_York", "Asia/Kolkata", "Europe/Berlin"])
def test_the_zone_of_this_machine_is_none_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str
) -> None:
    monkeypatch.setenv("TZ", machine)
    time.tzset()
    try:
        for day in (MARCH, NOVEMBER, "2026-03-29 ", "2026-10-25 "):
            stamps = [f"{day}{hour:02}:30:00.000 UTC" for hour in range(24)]
            assert steps(tmp_path, log(*stamps)) == [3600.0] * 23
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [
        (["02:59:59.000 CEST", "02:00:01.000 CET", "02:10:01.000 CET"], [2.0, 600.0]),
        (["01:59:59.000 CET", "03:00:01.000 CEST"], [2.0]),
        (["01:30:00.000 EDT", "03:30:00.000 EST"], [10800.0]),
        (["00:30:00.000 PST", "03:30:00.000 PDT"], [7200.0]),
        (["01:30:00.000 IST", "01:00:00.000 GMT"], [1800.0]),
        (["01:30:00.000 IDT", "01:00:00.000 IST"], [1800.0]),
        (["01:59:59.000 BST", "01:00:01.000 GMT"], [2.0]),
        (["01:59:59.000 XDT", "01:00:01.000 XST"], [2.0]),
        (["02:59:59.000 CEST", "02:00:00.500 CET", "02:59:59.750 CEST"], [1.5, -0.75]),
        (["01:59:59.000 +11", "01:30:01.000 +1030"], [2.0]),
        (["20:00:00.000 -03", "23:59:59.000 +00"], [3599.0]),
        (["01:00:00.000 UTC", "01:00:01.000 GMT"], [1.0]),
    ],
)
def test_clocks_that_are_set_forward_or_back_take_no_time(
    tmp_path: Path, stamps: list[str], expected: list[float]
) -> None:
    stamps = [f"2026-10-25 {stamp}" for stamp in stamps]
    assert steps(tmp_path, log(*stamps)) == expected
    assert all(entry.exact for entry in entries(tmp_path, log(*stamps)))


def test_times_of_a_zone_that_is_not_known_are_inexact(tmp_path: Path) -> None:
    stamps = [f"{NOVEMBER}{hour}" for hour in ("01:00:00.000 AAA", "05:00:00.000 BBB")]
    assert [entry.exact for entry in entries(tmp_path, log(*stamps))] == [True, False]
    # That of its abbreviation alone is no reason.
    assert all(entry.exact for entry in entries(tmp_path, log(stamps[1], stamps[1])))


@pytest.mark.parametrize(
    ("prefix", "head", "is_known"),
    [
        ("[%p] ", "[100] ", False),
        ("%c %u@%d ", "6563.64 joe@shop ", False),
        ("%n [%p] ", "{seconds:.3f} [100] ", True),
        ("%m [%p] ", "2026-11-28 03:00:{number:02}.250 UTC [100] ", True),
        ("%t [%p] ", "2026-11-28 03:00:{number:02} UTC [100] ", False),
    ],
)
def test_of_a_prefix_without_a_time_neither_pauses_nor_arrivals_are_known(
    tmp_path: Path, prefix: str, head: str, is_known: bool
) -> None:
    heads = [head.format(number=n, seconds=1_764_298_800 + n) for n in range(5)]
    lines = "".join(f"{each}LOG:  {message('select 1')}\n" for each in heads)
    read = entries(tmp_path, lines, prefix=prefix)
    assert [entry.exact for entry in read] == [is_known] * 5
    ledger = CaptureLedger()
    mix = mix_of(transactions(statements(iter(read), ledger)), ledger=ledger)
    captured = write_workload(mix, tmp_path / "made", name="made", source="log")
    assert captured.arrivals == (5 if is_known else None)
    [kind] = mix.kinds
    assert len(kind.think_s) == (4 if is_known else 0)


def test_files_are_in_order_across_the_end_of_summer(tmp_path: Path) -> None:
    before = log("2026-10-25 02:10:00.000 CEST", "2026-10-25 02:50:00.000 CEST")
    after = log("2026-10-25 02:05:00.000 CET", "2026-10-25 02:06:00.000 CET")
    for logs in ((before, after), (after, before)):
        assert steps(tmp_path, *logs) == [2400.0, 900.0, 60.0]


def syslog(*stamps: str) -> str:
    return "".join(
        f"{stamp} db1 postgres[77]: [{number}-1] LOG:  {message(stamp)}\n"
        for number, stamp in enumerate(stamps)
    )


YEAR = ["Oct 30 10:00:00", "Nov 30 10:00:00", "Dec 31 23:59:58", "Jan  1 00:00:03",
        "Feb 29 10:00:00", "Mar  3 10:00:00"]  # fmt: skip


@pytest.mark.parametrize("first", range(6))
def test_stamps_without_a_year_go_on_over_its_end(tmp_path: Path, first: int) -> None:
    within = steps(tmp_path, syslog(*YEAR))
    assert all(step > 0 for step in within)
    assert within[2] == 5.0
    logs = [syslog(stamp) for stamp in YEAR[first:] + YEAR[:first]]
    assert steps(tmp_path, *logs) == within
    assert steps(tmp_path, syslog("Jan  1 00:00:01", "Dec 31 23:59:59")) == [-2.0]


def with_detail(second: float, text: str) -> str:
    """An entry over three lines."""
    return stderr(second, text + "\nfrom t") + stderr(second, "").replace("LOG:  ", "DETAIL:  ")


def syslog_entry(second: float, text: str) -> str:
    own = stderr(second, text)
    return f"Nov 28 03:{int(second) // 60:02}:{int(second) % 60:02} db1 postgres[100]: {own}"


WRITERS: dict[str, Callable[[float, str], str]] = {
    "csv": csv, "json": jsonlog, "stderr": stderr, "three lines": with_detail,
    "syslog": syslog_entry,
}  # fmt: skip


@pytest.mark.parametrize("kind", list(WRITERS))
@thinned("many", [3, 40, 2500], 1)
@pytest.mark.parametrize("by", ["entries", "lines"])
def test_the_newest_first_is_refused(tmp_path: Path, kind: str, many: int, by: str) -> None:
    own = [WRITERS[kind](0.6 * n, f"select {n}") for n in range(many)]
    assert len(entries(tmp_path, "".join(own))) == many
    rows = own if by == "entries" else "".join(own).splitlines(keepends=True)
    with pytest.raises(UsageError, match="newest entries come first") as refused:
        entries(tmp_path, "".join(reversed(rows)))
    assert "tac LOG" in str(refused.value.hint)
    with pytest.raises(UsageError, match="newest entries come first"):
        entries(tmp_path, "".join(own), "".join(reversed(rows)))


@pytest.mark.parametrize("kind", list(WRITERS))
@pytest.mark.parametrize("seconds", [(0.0, 2.0), (0.0, 2.0, 2.0), (0.0, 0.0, 2.0), (0.0, 90.0)])
def test_one_step_back_and_none_forward_is_the_newest_first(
    tmp_path: Path, kind: str, seconds: tuple[float, ...]
) -> None:
    own = [WRITERS[kind](second, f"select {n}") for n, second in enumerate(seconds)]
    assert len(entries(tmp_path, "".join(own))) == len(own)
    with pytest.raises(UsageError, match="newest entries come first") as refused:
        entries(tmp_path, "".join(reversed(own)))
    assert "Times go back once, and forward 0 times." in str(refused.value.detail)


def at(seconds: Sequence[float]) -> str:
    begun = datetime(2026, 11, 28, tzinfo=UTC)
    stamps = [begun + timedelta(seconds=second) for second in seconds]
    return log(*(f"{stamp:%Y-%m-%d %H:%M:%S.%f} UTC" for stamp in stamps))


def test_two_that_sessions_wrote_at_once_are_read_in_either_order(tmp_path: Path) -> None:
    for seconds in ([5.0, 5.4], [5.4, 5.0], [5.0, 5.0]):
        assert len(entries(tmp_path, at(seconds))) == 2


STEPS = st.lists(st.sampled_from([0.0, 0.001, 0.2, 5.0, 400.0]), min_size=5, max_size=60)


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(STEPS, st.sets(st.integers(0, 29)), st.integers(1, 4), st.randoms(use_true_random=False))
def test_times_that_go_back_a_little_are_read(
    folder: Path, gaps: list[float], swapped: set[int], files: int, draw: random.Random
) -> None:
    """Of sessions that write at once, and of files that were put together in another order."""
    parts: list[list[float]] = []
    for number in range(files):
        after = itertools.accumulate([*gaps, 0.2, 0.2, 0.2, 0.2])
        times = [100_000 * number + second for second in after]
        for place in sorted(swapped):
            pair = times[2 * place : 2 * place + 2]
            if len(pair) == 2 and pair[1] - pair[0] < 1:
                times[2 * place : 2 * place + 2] = reversed(pair)
        parts.append(times)
    draw.shuffle(parts)
    seconds = list(itertools.chain(*parts))
    assert len(entries(folder, at(seconds))) == len(seconds)


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(STEPS, st.integers(0, 1))
def test_any_times_that_only_go_back_are_refused(
    folder: Path, gaps: list[float], forward: int
) -> None:
    seconds = [*itertools.accumulate([*gaps, 1.5, 1.5, 1.5])][::-1]
    with pytest.raises(UsageError, match="newest entries come first"):
        entries(folder, at([*seconds, *[seconds[-1] + 1] * forward]))


@pytest.mark.parametrize("seed", range(5))
def test_no_order_at_all_is_refused(tmp_path: Path, seed: int) -> None:
    seconds = [60.0 * n for n in range(200)]
    random.Random(seed).shuffle(seconds)
    with pytest.raises(UsageError, match="in no order of time"):
        entries(tmp_path, at(seconds))


def of_server(kind: str, second: int, length: int, table: str = "t") -> str:
    """So many seconds of a server's statements from a second on."""
    return "".join(
        WRITERS[kind](second + n, f"select {n} from {table}") for n in range(0, length, 7)
    )


@thinned("kind", ["csv", "json", "stderr", "syslog"], 1)
def test_logs_of_the_same_time_are_refused(tmp_path: Path, kind: str) -> None:
    """Of two servers, as where a glob matches the logs of both."""
    first = of_server(kind, 0, 1200)
    for begin, length, is_refused in (
        (300, 600, True), (0, 1200, True), (1100, 900, True), (1190, 900, False), (1300, 90, False),
    ):  # fmt: skip
        second = of_server(kind, begin, length, "u")
        for logs in ((first, second), (second, first)):
            if not is_refused:
                assert len(entries(tmp_path, *logs)) == sum(log.count("select") for log in logs)
                continue
            with pytest.raises(UsageError, match="are of the same time") as refused:
                entries(tmp_path, *logs)
            assert "one server" in str(refused.value.hint)
    with pytest.raises(UsageError, match="are of the same time"):
        entries(tmp_path, first, of_server("csv", 1300, 200), of_server("json", 1310, 300, "u"))


def test_stamps_without_a_zone_may_go_back_an_hour_from_log_to_log(tmp_path: Path) -> None:
    first = syslog("Oct 25 02:00:00", "Oct 25 02:59:59")
    assert len(entries(tmp_path, first, syslog("Oct 25 02:00:30", "Oct 25 03:10:00"))) == 4
    with pytest.raises(UsageError, match="are of the same time"):
        entries(tmp_path, syslog("Oct 25 01:00:00", "Oct 25 04:00:00"), first)


def test_a_log_of_a_servers_own_words_may_be_of_the_same_time(tmp_path: Path) -> None:
    """With csvlog the first entries go to stderr, and again after a restart."""
    words = "ending log output to stderr"
    own = [stderr(second, "").replace(message(""), words) for second in (0, 900)]
    assert len(entries(tmp_path, "".join(own), of_server("csv", 1, 1200))) == 2 + 172
