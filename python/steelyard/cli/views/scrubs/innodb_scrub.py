"""Formats a scrub of an InnoDB data directory as text."""

from __future__ import annotations

from steelyard.cli.views.scrubbed import MAX_SHOWN, not_read
from steelyard.cli.views.text_layout import escaped
from steelyard.integrity.innodb.outcome import InnodbOutcome, PageFinding
from steelyard.model.units import NS_PER_S, format_bytes, format_duration


def render_innodb(outcome: InnodbOutcome) -> str:
    """The complete text of an outcome."""
    rate = outcome.bytes / outcome.seconds if outcome.seconds else 0.0
    lines = [
        f"{outcome.path}: InnoDB, {outcome.life}",
        f"{outcome.blocks} pages in {outcome.files} files, {format_bytes(outcome.bytes)} in "
        f"{format_duration(outcome.seconds * NS_PER_S)} ({format_bytes(rate)}/s)",
        "sound pages by what they carry: "
        + (", ".join(f"{name} {count}" for name, count in outcome.carried.items()) or "none"),
    ]
    lines += [f"note: {note}" for note in outcome.notes]
    if outcome.transient:
        lines.append(f"{outcome.transient} pages were just being written: sound at a later look")
    if outcome.vanished:
        lines.append(f"{len(outcome.vanished)} files vanished meanwhile")
    lines += [f"skipped: {path}: {reason}" for path, reason in outcome.skipped[:MAX_SHOWN]]
    lines += not_read(outcome.denied)
    lines += _damaged(outcome)
    if not outcome.bad_blocks:
        lines.append(
            "no damage found" if not outcome.denied else "no damage found in what was read"
        )
    return "\n".join(map(escaped, lines))


def _damaged(outcome: InnodbOutcome) -> list[str]:
    count = outcome.bad_blocks
    if not count:
        return []
    lines = ["", f"damaged: {count} page{'s' if count > 1 else ''}", ""]
    for finding in outcome.bad[:MAX_SHOWN]:
        lines += [
            f"  page {finding.block} of {finding.path}: {reason_words(finding)}",
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


def reason_words(finding: PageFinding) -> str:
    """The reason of a finding, as a phrase."""
    expected, actual = finding.expected, finding.found
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
