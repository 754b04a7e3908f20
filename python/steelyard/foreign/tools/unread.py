"""Recognizes output that tools print for people, which `judge` does not read, and says what to type
to have the same measurements in a format that it reads.

Such a text holds one run in many numbers. Read as a table it would be refused without a hint, or
the wrong column of it would be judged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from steelyard.foreign.source import SourceText
from steelyard.model.errors import NumbersError


@dataclass(frozen=True, slots=True)
class UnreadOutput:
    """How one tool's output for people is recognized, and what to type in its place."""

    tool: str
    lines: tuple[str, ...]
    """Beginnings of lines that all stand in such a text, as patterns."""
    hint: str

    def fits(self, text: str) -> bool:
        """Whether a text is such an output."""
        return all(re.search(f"^{line}", text, re.MULTILINE) for line in self.lines)


_TABLE = "Write what it measured as a table, a row a run: arm,{}"
_BAR = r"[ \t]*"
_HEAD = 1_000_000
"""Characters that are searched: output for people is shorter, or recognizable by then."""
UNREAD = (
    UnreadOutput(
        "go-tpc",
        (r"(?:\[(?:Summary|Current)\] \w+(?: - Takes\(s\))?: [0-9]|tpmC: [0-9.]+, tpmTotal: )",),
        _TABLE.format("tpmC; of TPC-H arm,query,s"),
    ),
    UnreadOutput(
        "BenchmarkSQL", (r".*\bMeasured tpmC \(NewOrders\) = [0-9]",), _TABLE.format("tpmC")
    ),
    UnreadOutput(
        "go-ycsb",
        (r"[A-Z_]+ *- Takes\(s\): [0-9.]+, Count: [0-9]+, OPS: [0-9]",),
        _TABLE.format("ops"),
    ),
    UnreadOutput(
        "oha",
        (rf"{_BAR}Success rate:{_BAR}[0-9]", rf"{_BAR}Requests/sec:{_BAR}[0-9]"),
        "Keep its JSON, a summary a run: oha --output-format json",
    ),
    UnreadOutput(
        "hey",
        (
            rf"{_BAR}Slowest:{_BAR}[0-9]",
            rf"{_BAR}Fastest:{_BAR}[0-9]",
            rf"{_BAR}Requests/sec:{_BAR}[0-9]",
        ),
        "Keep its requests, a file a run: hey -o csv",
    ),
    UnreadOutput(
        "ab",
        (r"Requests per second: +[0-9.]+ \[#/sec\]", r"Time per request: +[0-9.]+ \[ms\]"),
        "Keep its requests, a file a run: ab -g FILE",
    ),
    UnreadOutput(
        "bombardier",
        (r"Statistics +Avg +Stdev +Max", rf"{_BAR}Reqs/sec +[0-9]"),
        _TABLE.format("rps"),
    ),
    UnreadOutput(
        "vegeta",
        (r"Requests +\[total, rate", r"Latencies +\[(?:min, )?mean, 50"),
        "Keep its JSON, a summary a run: vegeta report -type=json",
    ),
    UnreadOutput(
        "k6",
        (r".{0,6}http_req_duration\.*: avg=", r".{0,6}http_reqs\.*: +[0-9]"),
        "Keep its JSON, a file a run: k6 run --summary-export FILE",
    ),
    UnreadOutput(
        "JMeter",
        (r".{0,60}summary [+=] +[0-9]+ in +[0-9:.]+s? = +[0-9.]+/s ",),
        "Keep its requests, a file a run: jmeter -n -l FILE",
    ),
    UnreadOutput(
        "hyperfine",
        (r" *Time \((?:mean ± σ|abs ≡)\): +[0-9]",),
        "Keep its JSON: hyperfine --export-json FILE",
    ),
    UnreadOutput(
        "mysql",
        (
            r"\A(?![\s\S]*^\+-)",  # a table is read, whatever stands below it
            r"(?:[0-9]+ rows? in set|Empty set|Query OK, [0-9]+ rows? affected)\b[^(\n]*"
            r"\([^()\n]*sec\)",
        ),
        _TABLE.format("query,s"),
    ),
    UnreadOutput(
        "fio",
        (r".*: \(groupid=[0-9]+, jobs=[0-9]+\): err= *[0-9]+: pid=",),
        "Keep its JSON, a file a run: fio --output-format=json",
    ),
)


def refuse_unread(source: SourceText) -> None:
    """NumbersError where a text is such an output, with what to type instead."""
    head = source.text[:_HEAD]
    for output in UNREAD:
        if output.fits(head):
            raise _unread(source, output)


def _unread(source: SourceText, output: UnreadOutput) -> NumbersError:
    return source.error(
        f"this is what {output.tool} prints for people, which is not read", hint=output.hint
    )
