"""Every format is recognized by its content, and adding one takes its reader and its line; what
tools print for people is refused with what to type, and tables that look like it are read."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from foreign.reading import GOLDEN, only, sheet_of
from steelyard.foreign import formats
from steelyard.foreign.format import TextFormat
from steelyard.foreign.metric import TIME, Metric
from steelyard.foreign.series import Series, Sheet
from steelyard.foreign.source import SourceText, open_source, source_of
from steelyard.model.errors import NumbersError, UsageError

ROOT = Path(__file__).parents[2]
FORMATS = {
    "pgbench_summary.txt": "pgbench",
    "pgbench_three_summaries.txt": "pgbench",
    "pgbench_progress.txt": "pgbench",
    "pgbench_progress_rate.txt": "pgbench",
    "pgbench_summary_rate.txt": "pgbench",
    "pgbench_log.txt": "pgbench-log",
    "pgbench_log_skipped.txt": "pgbench-log",
    "pgbench_aggregate.txt": "pgbench-aggregate",
    "pgbench_aggregate_rate.txt": "pgbench-aggregate",
    "hammerdb.txt": "hammerdb",
    "hammerdb_before_4.txt": "hammerdb",
    "hammerdb_counter.txt": "hammerdb",
    "hyperfine.json": "json",
    "fio.json": "json",
}


def test_every_format_is_told_by_its_content() -> None:
    assert {p.name: formats.format_of(open_source(p)) for p in GOLDEN.iterdir()} == FORMATS


def test_a_format_is_its_reader_and_its_line_in_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_tally(source: SourceText) -> Sheet:
        values = np.array([float(len(line)) for line in source.text.split()])
        return Sheet(source.name, "tally", ((Metric(TIME, "s", False), (Series("", values),)),))

    tally = TextFormat("tally", lambda source: source.text.startswith("|"), read_tally)
    monkeypatch.setattr(formats, "TEXT_FORMATS", (*formats.TEXT_FORMATS, tally))
    text = "||| ||\n|\n"
    assert formats.format_of(source_of(text.encode(), "f")) == "tally"
    assert only(sheet_of(text)).values.tolist() == [3, 2, 1]
    assert only(sheet_of("## #\n", "tally")).values.tolist() == [2, 1]
    with pytest.raises(UsageError) as refused:
        sheet_of(text, "telly")
    assert refused.value.hint == f"Accepted: {', '.join(formats.format_names())}."
    assert formats.format_names()[-1] == "tally"


def test_every_format_is_in_the_help_and_in_the_reference() -> None:
    reference = (ROOT / "docs" / "reference" / "judge.md").read_text(encoding="utf-8")
    commands = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    [help_text] = re.findall(r"--format NAME\s+(.*?);", commands, re.DOTALL)
    help_text = re.sub(r"-\s+", "-", help_text)  # names are cut at their hyphens
    for name in formats.format_names():
        assert f"| `{name}`" in reference, name
        assert re.search(rf"(?<![\w-]){name}(?![\w-])", help_text), name


GO_TPC = """[Summary] NEW_ORDER - Takes(s): 59.9, Count: 12345, TPM: 12345.1, Sum(ms): 55555.5
tpmC: 12345.1, tpmTotal: 123459.2, efficiency: 100.0%
"""
GO_YCSB = """***********************************************
READ   - Takes(s): 10.0, Count: 125, OPS: 12.5, Avg(us): 2282, Min(us): 544, Max(us): 12510
UPDATE - Takes(s): 9.4, Count: 110, OPS: 11.8, Avg(us): 693974, Min(us): 464331
"""
HEY = """
Summary:
  Total:	10.0 secs
  Slowest:	0.0100 secs
  Fastest:	0.0001 secs
  Average:	0.0020 secs
  Requests/sec:	1000.5
"""
AB = """Server Software:        fasthttp
Concurrency Level:      100
Requests per second:    10890.66 [#/sec] (mean)
Time per request:       9.182 [ms] (mean)
"""
BOMBARDIER = """Statistics        Avg      Stdev        Max
  Reqs/sec     30252.67    5526.41   57624.34
  Latency        4.15ms     3.53ms    95.44ms
"""
VEGETA = """Requests      [total, rate, throughput]         30000, 100.00, 100.00
Duration      [total, attack, wait]             5m0s, 5m0s, 1.574ms
Latencies     [min, mean, 50, 90, 95, 99, max]  1ms, 2ms, 2ms, 3ms, 3ms, 4ms, 8ms
"""
K6 = """   ✓ http_req_duration..............: avg=87.42ms min=135.51µs med=42.27ms max=496.57ms
       { expected_response:true }...: avg=87.42ms min=135.51µs med=42.27ms max=496.57ms
     http_reqs......................: 48175   267/s
"""
JMETER = "summary +   1000 in 00:00:10 =  100.0/s Avg:    20 Min:     1 Max:   100 Err:     0\n"
HYPERFINE = """Benchmark 1: ./a
  Time (mean ± σ):     142.4 ms ±   2.1 ms    [User: 132.6 ms, System: 22.0 ms]
  Range (min … max):   139.7 ms … 150.5 ms    21 runs
"""
FIO = """fio-3.36
randread: (groupid=0, jobs=1): err= 0: pid=11780: Wed Mar 25 08:58:34 2026
  read: IOPS=5640, BW=22.0MiB/s (23.1MB/s)(220MiB/10001msec)
"""
MYSQL = "1 row in set (0.05 sec)\n1 row in set (0.06 sec)\n"
EXPLAIN = """                    QUERY PLAN
--------------------------------------------------------------
 Seq Scan on t  (cost=0.00..35.50 rows=2550 width=4) (actual time=0.010..0.200 rows=2550 loops=1)
 Planning Time: 0.051 ms
 Execution Time: 81.250 ms
"""
LOGGED = "2026-01-01 10:00:00.123 UTC [123] LOG:  duration: 81.250 ms  statement: select 1\n"
OF_TPS = "tps = 985.312 (without initial connection time)\n"
EXPANDED = "-[ RECORD 1 ]-\narm | off\ntps | 9.5\n-[ RECORD 2 ]-\narm | on\ntps | 8.5\n"
GNU_TIME = """        Command being timed: "psql -f q.sql"
        User time (seconds): 0.02
        Elapsed (wall clock) time (h:mm:ss or m:ss): 0:12.34
"""
STATISTICS_TIME = """SQL Server Execution Times:
   CPU time = 15 ms,  elapsed time = 123 ms.
"""
REDIS = """====== SET ======
  100000 requests completed in 1.23 seconds
  50 parallel clients
"""
BENCHMARKSQL = "13:33:27,771 [main] INFO   jTPCC : Term-00, Measured tpmC (NewOrders) = 212.56\n"


@pytest.mark.parametrize(
    ("text", "tool", "typed"),
    [
        (GO_TPC, "go-tpc", "arm,tpmC"),
        ("[Summary] Q1: 2.23s\n[Summary] Q10: 1.14s\n", "go-tpc", "arm,query,s"),
        ("[Current] Q1: 2.12s\n", "go-tpc", "arm,query,s"),
        (GO_YCSB, "go-ycsb", "arm,ops"),
        (BENCHMARKSQL, "BenchmarkSQL", "arm,tpmC"),
        (HEY, "hey", "hey -o csv"),
        (
            HEY.replace("Summary:", "Summary:\n  Success rate:\t100.00%"),
            "oha",
            "--output-format json",
        ),
        (AB, "ab", "ab -g FILE"),
        (BOMBARDIER, "bombardier", "arm,rps"),
        (VEGETA, "vegeta", "vegeta report -type=json"),
        (VEGETA.replace("[min, mean", "[mean"), "vegeta", "vegeta report -type=json"),
        (K6, "k6", "--summary-export FILE"),
        (JMETER, "JMeter", "jmeter -n -l FILE"),
        (JMETER.replace("+ ", "= "), "JMeter", "jmeter -n -l FILE"),
        (HYPERFINE, "hyperfine", "--export-json FILE"),
        (FIO, "fio", "fio --output-format=json"),
        (MYSQL, "mysql", "arm,query,s"),
        (MYSQL.replace("set", "set, 2 warnings"), "mysql", "arm,query,s"),
        ("Query OK, 100 rows affected (1 min 2.05 sec)\n", "mysql", "arm,query,s"),
        ("3;fio-3.36;randread;0;0;225280;22528\n", "fio --minimal", "fio --output-format=json"),
        (EXPLAIN, "EXPLAIN ANALYZE", "grep -h 'Execution Time'"),
        (
            EXPLAIN.replace("(cost=0.00..35.50 rows=2550 width=4) ", ""),
            "EXPLAIN ANALYZE",
            "grep -h",
        ),
        (LOGGED * 2, "log_min_duration_statement", "grep -o 'duration: [0-9.]* ms' FILE"),
        (f"run1.txt:{OF_TPS}run2.txt:{OF_TPS}", "grep", "grep -h"),
        ("a/1: Execution Time: 8.5 ms\na/2: Execution Time: 9.5 ms\n", "grep", "grep -h"),
        (f"bench-1  | scaling factor: 9\nbench-1  | {OF_TPS}", "docker compose", "--no-log-prefix"),
        (EXPANDED, "psql -x", "\\x off"),
        (EXPANDED.replace("-[ RECORD", "─[ DATENSATZ"), "psql -x", "psql --csv"),
        (GNU_TIME, "GNU time", "time -f %E"),
        (STATISTICS_TIME, "SET STATISTICS TIME", "arm,query,ms"),
        (REDIS, "redis-benchmark", "--csv"),
        ("<TpmC>\n                 76536.000 TpmC\n", "tpcc-mysql", "arm,tpmC"),
    ],
)
@pytest.mark.parametrize("before", ["", "$ run it\n", "\n\n"])
def test_a_text_for_people_is_refused_with_what_to_type(
    text: str, tool: str, typed: str, before: str
) -> None:
    with pytest.raises(NumbersError) as refused:
        sheet_of(before + text)
    assert f"what {tool} prints" in refused.value.primary
    assert typed in (refused.value.hint or "")


@pytest.mark.parametrize(
    "text",
    [
        "arm,Requests/sec\na,1000.5\nb,1001.5\n",
        "Requests/sec:\t1000.5\nRequests/sec:\t1001.5\n",
        "query,off,on\nsummary,1.5,1.6\nq2,1.7,1.8\n",
        "+---+---+\n| a | b |\n+---+---+\n| 5 | 6 |\n+---+---+\n1 row in set (0.05 sec)\n",
        '[{"arm": "a", "tpmC": 5.5}, {"arm": "b", "tpmC": 6.5}]',
        " Execution Time: 81.250 ms\n Execution Time: 82.250 ms\n",
        "duration: 81.250 ms\nduration: 82.250 ms\n",
        "0:12.34\n0:12.44\n",
        "arm,TpmC\na,5.5\nb,6.5\n",
    ],
)
def test_tables_with_words_of_such_texts_are_read(text: str) -> None:
    assert sheet_of(text).metrics


@pytest.mark.parametrize(
    "text", ["<!DOCTYPE html>\n<html>", "\n<table border='1'>\n<tr>", '<?xml version="1.0"?>\n<a/>']
)
def test_markup_is_refused_with_what_to_type(text: str) -> None:
    with pytest.raises(NumbersError, match="this is HTML or XML") as refused:
        sheet_of(text)
    assert "psql writes one by --csv" in str(refused.value.hint)


def test_the_format_that_is_named_is_read_whatever_the_text_looks_like() -> None:
    with pytest.raises(NumbersError) as refused:
        sheet_of(HEY, "csv")
    assert "prints for people" not in refused.value.primary
