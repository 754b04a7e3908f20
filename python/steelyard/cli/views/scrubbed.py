"""Formats a scrub, of a cluster or of an InnoDB data directory, as text: a progress line on a
terminal, then the list of findings.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self, TextIO

from steelyard.cli.terminal import own, redraws
from steelyard.cli.views.text_layout import escaped
from steelyard.integrity.innodb.outcome import InnodbOutcome, PageFinding
from steelyard.integrity.scrub.cluster_state import RunState
from steelyard.integrity.scrub.finding import Damage
from steelyard.integrity.scrub.outcome import ScrubOutcome
from steelyard.model.units import NS_PER_S, counted, format_bytes, format_duration, format_lsn

MAX_SHOWN = 20
NO_GUESSES = ("more than one bit", "cannot tell")
"""Guesses that name no probable cause."""
_INTERVAL_S = 0.2


class ProgressLine:
    """Shows the progress of a scrub on one line of a terminal; silent where there is none."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = own(stream)
        self._shown = redraws(stream)
        self._began = self._last = time.monotonic()
        self._width = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()

    def __call__(self, read: int, total: int, wrong: int, again: int) -> None:
        """Redraw the line, at most five times a second."""
        now = time.monotonic()
        if not self._shown or now - self._last < _INTERVAL_S:
            return
        self._last = now
        line = progress_line(read, total, wrong, again, now - self._began)
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = max(self._width, len(line))


def progress_line(read: int, total: int, wrong: int, again: int, seconds: float) -> str:
    """`"1200 MB of 4096 MB, 29 %, 512 MB/s, 5.6 s left, 2 suspects"`."""
    if again:
        return f"looking again at {counted(again, 'suspects')}, over 8 s and more"
    rate = read / seconds if seconds > 0 else 0.0
    parts = [f"{format_bytes(read)} of {format_bytes(total)}"]
    parts.append(f"{100 * read / total:.0f} %" if total else "100 %")
    parts.append(f"{format_bytes(rate)}/s")
    if rate > 0 and total > read:
        parts.append(f"{format_duration(round((total - read) / rate * NS_PER_S))} left")
    if wrong:
        parts.append(counted(wrong, "suspects"))
    return ", ".join(parts)


def render(outcome: ScrubOutcome) -> str:
    """The complete text of an outcome."""
    layout = outcome.layout
    rate = outcome.bytes / outcome.seconds if outcome.seconds else 0.0
    lines = [
        f"{outcome.path}: PostgreSQL {layout.major}, {outcome.run_state.value}, "
        f"checksums {'on' if layout.checksums else 'off'}",
        f"{counted(outcome.blocks, 'blocks')} in {counted(outcome.files, 'files')}, "
        f"{format_bytes(outcome.bytes)} in "
        f"{format_duration(outcome.seconds * NS_PER_S)} ({format_bytes(rate)}/s)",
    ]
    if outcome.empty:
        are = "is" if outcome.empty == 1 else "are"
        lines.append(
            f"{counted(outcome.empty, 'blocks')} {are} all zeroes: never written, or lost; no "
            "check tells which"
        )
    lines += _passed_over(outcome, "blocks")
    lines += _listed("needs WAL replay", outcome.needs_replay, len(outcome.needs_replay))
    if outcome.needs_replay:
        what = {RunState.CRASHED: "Starting it", RunState.BACKUP: "Restoring it"}
        lines.append(
            f"  {what.get(outcome.run_state, 'Recovery')} replays the log, which writes these "
            "pages anew; scrub it afterwards."
        )
    damaged = outcome.bad_blocks + outcome.bad_files
    lines += _listed("damaged", outcome.bad, damaged)
    if not damaged:
        lines.append(_no_damage(outcome))
    return "\n".join(map(escaped, lines))


def _passed_over(outcome: ScrubOutcome | InnodbOutcome, blocks: str) -> list[str]:
    """Notes, and what was not looked at, or looked at again; `blocks`: what they are called."""
    lines = [f"note: {note}" for note in outcome.notes]
    if outcome.transient:
        were = "was" if outcome.transient == 1 else "were"
        passed = counted(outcome.transient, blocks)
        lines.append(f"{passed} {were} just being written: sound at a later look")
    if outcome.vanished:
        lines.append(f"{counted(len(outcome.vanished), 'files')} vanished meanwhile")
    lines += [f"skipped: {path}: {reason}" for path, reason in outcome.skipped[:MAX_SHOWN]]
    if (more := len(outcome.skipped) - MAX_SHOWN) > 0:
        lines.append(f"... and {more} more skipped; --json lists them")
    return lines + not_read(outcome.denied)


def _no_damage(outcome: ScrubOutcome | InnodbOutcome) -> str:
    if outcome.denied:
        return "no damage found in what was read"
    if isinstance(outcome, InnodbOutcome) and outcome.not_verified:
        return f"no damage found in what was verified: {outcome.not_verified} pages were not"
    return "no damage found"


def not_read(denied: Sequence[tuple[str, str]]) -> list[str]:
    """Lines for the files that could not be read; of many, the first ones."""
    lines = [f"not read: {path}: {reason}" for path, reason in denied[:MAX_SHOWN]]
    if len(denied) > MAX_SHOWN:
        lines.append(f"... and {len(denied) - MAX_SHOWN} more not read; --json lists them")
    return lines


def _listed(title: str, findings: tuple[Damage, ...], count: int) -> list[str]:
    if not count:
        return []
    lines = ["", f"{title}: {_counted(findings, count)}"]
    for finding in findings[:MAX_SHOWN]:
        lines += ["", *_described(finding)]
    if count > MAX_SHOWN:
        lines += ["", f"... and {count - min(MAX_SHOWN, len(findings))} more; --json lists them"]
    return lines


def _counted(findings: tuple[Damage, ...], count: int) -> str:
    """ "2 blocks", "1 block, 1 file or directory"."""
    files = sum(finding.of_file for finding in findings)
    parts = []
    if blocks := count - files:
        parts.append(f"{blocks} block{'s' if blocks > 1 else ''}")
    if files:
        parts.append(f"{files} file or directory" if files == 1 else f"{files} files, directories")
    return ", ".join(parts)


def _described(finding: Damage) -> list[str]:
    from steelyard.integrity.scrub.advice import inspection, repair_advice

    if finding.of_file:
        return [
            f"  {finding.path}: {reason_words(finding)}",
            f"    {finding.guess_detail}",
            f"    do: {repair_advice(finding)}",
        ]
    where = f"block {finding.block} of {finding.path}"
    if finding.relation is not None:
        relation = finding.relation
        of = f" of {relation.table}" if relation.table else ""
        where += f", {relation.name}{of}"
        where += f" in database {relation.database}" if relation.database else ""
    lines = [f"  {where}: {reason_words(finding)}"]
    if finding.guess_detail and not finding.guess:
        lines.append(f"    {finding.guess_detail}")
    if finding.guess:
        guess = finding.guess if finding.guess in NO_GUESSES else f"probably {finding.guess}"
        lines.append(f"    {guess}: {finding.guess_detail}")
    lines.append(f"    LSN {format_lsn(finding.lsn)}, byte {finding.offset} of the file")
    if query := inspection(finding):
        lines.append(f"    look: {query}")
    lines.append(f"    do: {repair_advice(finding)}")
    return lines


def reason_words(finding: Damage) -> str:
    """The reason of a finding, as a phrase."""
    return {
        "checksum": f"checksum {finding.actual} is stored, {finding.expected} is right for what is "
        "there",
        "header": "the server would refuse its header",
        "not empty": "its header says that it is empty, and it is not",
        "short": "the file ends within the page, or before it",
        "unreadable": "the operating system could not read it",
        "backwards": f"its LSN {format_lsn(finding.lsn)} is older than at an earlier scrub",
        "missing segment": "blocks from here on are cut off from those behind them",
        "too long": "the file goes on behind the end of a segment: the server would refuse it",
        "missing file": "the file is missing",
        "missing database": "the database's directory is missing",
        "cut off": "the end of the file is missing",
        "relation map": "the server would refuse this map of its catalogues' files",
    }[finding.reason]


def render_innodb(outcome: InnodbOutcome) -> str:
    """The complete text of an outcome."""
    rate = outcome.bytes / outcome.seconds if outcome.seconds else 0.0
    lines = [
        f"{outcome.path}: InnoDB, {outcome.life}",
        f"{counted(outcome.blocks, 'pages')} in {counted(outcome.files, 'files')}, "
        f"{format_bytes(outcome.bytes)} in "
        f"{format_duration(outcome.seconds * NS_PER_S)} ({format_bytes(rate)}/s)",
        "sound pages by what they carry: "
        + (", ".join(f"{name} {count}" for name, count in outcome.carried.items()) or "none"),
    ]
    lines += _passed_over(outcome, "pages")
    lines += _damaged(outcome)
    if not outcome.bad_blocks:
        lines.append(_no_damage(outcome))
    return "\n".join(map(escaped, lines))


def _damaged(outcome: InnodbOutcome) -> list[str]:
    count = outcome.bad_blocks
    if not count:
        return []
    lines = ["", f"damaged: {count} page{'s' if count > 1 else ''}", ""]
    for finding in outcome.bad[:MAX_SHOWN]:
        lines += [
            f"  page {finding.block} of {finding.path}: {page_reason(finding)}",
            f"    LSN {finding.lsn}, byte {finding.offset} of the file",
        ]
    if count > MAX_SHOWN:
        lines.append(f"... and {count - min(MAX_SHOWN, len(outcome.bad))} more; --json lists them")
    lines += [
        "",
        "  look: CHECK TABLE names the table's damage, page by page in the server's log",
        "  do: restore the table from a backup or a replica; what can still be read can be copied "
        "out under innodb_force_recovery=1",
    ]
    return lines


def page_reason(finding: PageFinding) -> str:
    """The reason of a finding, as a phrase."""
    expected, actual = finding.expected, finding.actual
    return {
        "checksum": f"checksum {actual:#010x} is stored, {expected:#010x} is right for what is "
        "there",
        "lsn": f"its LSN ends in {expected:#010x} in the header, {actual:#010x} in the trailer: "
        "two halves of two versions",
        "misplaced": f"it bears the number {actual}: another page lies in its place",
        "other tablespace": f"it is a page of tablespace {actual}, not of {expected}",
        "header": "it is the first page of the file, and not a tablespace's header",
        "page type": f"it has no checksum, and {actual} is no type of page",
        "short": f"the file ends here: it holds {actual} whole pages, and should hold {expected}",
        "unreadable": "the operating system could not read it",
    }[finding.reason]
