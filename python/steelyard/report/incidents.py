"""Lists what was out of the ordinary in a weighing: lost epochs, dropped slices, events.

Most weighings have no incident, and then there is no row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from steelyard.model.units import counted
from steelyard.record.verdict import Verdict
from steelyard.report.source import DroppedSlices, PageEpoch, PageSource


def incident_rows(source: PageSource) -> list[dict[str, str]]:
    """One row an incident, in the order of the epochs: `epoch`, `what`."""
    events: dict[int, list[str]] = {}
    for event in source.events:
        events.setdefault(event.epoch, []).append(event.text)
    of_epoch = {
        epoch.number: list(_of_epoch(epoch, source.borders.get(epoch.number, {})))
        for epoch in source.epochs
    }
    return [
        {"epoch": str(number), "what": what}
        for number in sorted({*events, *of_epoch})
        for what in (*events.get(number, []), *of_epoch.get(number, []))
    ]


def epochs_with_incidents(source: PageSource) -> set[int]:
    """The epochs (from 1) that are marked in the charts."""
    return {int(row["epoch"]) for row in incident_rows(source)}


def _of_epoch(epoch: PageEpoch, borders: Mapping[str, DroppedSlices]) -> Iterator[str]:
    if epoch.outcome != "complete":
        error = " ".join(epoch.error)
        yield f"{epoch.outcome}: {error}" if error else epoch.outcome
    if epoch.attempt > 1:
        yield f"begun {epoch.attempt} times; only the last attempt counts"
    for kind, text in epoch.machine:
        yield f"{kind}: {text}"
    for arm, border in borders.items():
        if border.dropped:
            were = "was" if border.dropped == 1 else "were"
            slices, causes = counted(border.dropped, "slices"), ", ".join(border.causes)
            yield f"{slices} of {arm} {were} dropped: {causes}"
        if border.capped:
            were = "was" if border.capped == 1 else "were"
            clients = counted(border.capped, "clients")
            yield f"{clients} of {arm} did not finish in time and {were} cancelled"


def interruption_text(verdict: Verdict, planned_epochs: int | None = None) -> str:
    """Whether the weighing was resumed or stopped early; empty where it was neither."""
    sentences = []
    if verdict.resumed:
        sentences.append("It was interrupted and resumed: unfinished epochs were repeated.")
    if verdict.interrupted:
        done = verdict.contrasts[0].epochs
        part = f" on {done} of {planned_epochs} epochs" if planned_epochs else ""
        open_ended = verdict.contrasts[0].details.look == "open"
        sentences.append(
            f"It is open-ended, and was stopped after {counted(done, 'epochs')} and judged."
            if open_ended
            else f"It was stopped before its planned end and judged{part}."
        )
    return " ".join(sentences)
