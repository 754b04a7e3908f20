"""Judges records again and lists those whose verdict does not follow from what was measured."""

from __future__ import annotations

from steelyard.evaluation.rejudge import rejudge
from steelyard.history.entry import Entry, Unread
from steelyard.history.index import History
from steelyard.model.errors import SteelyardError
from steelyard.record.record import Record
from steelyard.record.recorded import read_recorded, read_verdict
from steelyard.record.verdict import differences


def verified(history: History) -> History:
    """The history without records whose verdict, judged again, is another one: these are named.

    Takes about as long for a record as its report; a later version of Steelyard may judge otherwise
    on purpose, and is then named with the key on which it does.
    """
    found = [(entry, _doubt(history, entry)) for entry in history.entries]
    wrong = [Unread(path=entry.path, reason=why) for entry, why in found if why]
    return History(
        history.root,
        tuple(entry for entry, why in found if not why),
        tuple(sorted([*history.unread, *wrong], key=lambda one: one.path)),
    )


def _doubt(history: History, entry: Entry) -> str:
    """What is wrong with the verdict of a record; empty: nothing, or it has none."""
    if entry.state == "no verdict":
        return ""
    record = Record.open(history.directory(entry))
    try:
        kept, recorded = read_verdict(record), read_recorded(record)
        differ = differences(kept, rejudge(recorded)) if kept is not None else []
    except SteelyardError as reason:
        return reason.primary.splitlines()[0]
    if not differ:
        return ""
    first = differ[0]
    more = f", and {len(differ) - 1} keys more" if len(differ) > 1 else ""
    return (
        f"verdict.json does not follow from what was measured: {first.key} is {first.recorded!r}, "
        f"judged again {first.rejudged!r}{more}"
    )
