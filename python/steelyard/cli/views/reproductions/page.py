"""Writes the page of a repeated study: its result, its power, our result, and their agreement."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from steelyard.cli.views.ci.markdown import escaped, markdown
from steelyard.cli.views.reproductions.agreement import (
    agreement,
    contrasts_of,
    quantity_of,
    sweep_table,
)
from steelyard.model.units import NS_PER_S, format_duration
from steelyard.record.sweep import Swept
from steelyard.record.turns.turn_summary import EvennessLine
from steelyard.record.verdict import DeviceSummary, Verdict
from steelyard.report.contrast_text import reading_text
from steelyard.report.devices import by_second, figure_rows, not_available, told_names, used_figures
from steelyard.report.layouts.shown_layout import layout_named
from steelyard.report.tables import cause_rows, query_rows, work_rows
from steelyard.report.turns import evenness_rows, stall_sums, sum_rows
from steelyard.reproductions.reproduction import Reproduction, ReproductionStep

IMAGES = "wal_full_page_images"
"""Of a probe; that there were none is a result too."""
Found = Mapping[str, "Verdict | Swept"]
"""Step → what it came to; those that were not weighed are not in it."""


def page(study: Reproduction, found: Found, machine: str) -> str:
    """The whole page, as Markdown; `machine`: in words, empty where nothing was weighed."""
    parts = [f"# {study.title}", f"**Question.** {study.question}"]
    parts += [f"**Theirs.** {study.published} {study.design}", _figures(study)]
    parts += [f"**What such a design can tell.** {study.could_see}", f"**Ours.** {study.ours}"]
    if study.cannot:
        parts.append(f"**What cannot be told here.** {study.cannot[0].upper()}{study.cannot[1:]}.")
    if study.steps:
        parts.append(f"```\nsteelyard reproduce {study.name}\n```")
    if machine:
        parts.append(f"Weighed on {machine}.")
    for step in study.steps:
        parts += [f"## {step.question}", *_step(study.name, step, found.get(step.name))]
    if study.follows and found:
        parts.append(f"## What follows\n\n{study.follows}")
    return "\n\n".join(parts) + "\n"


def row(study: Reproduction, found: Found) -> str:
    """The study in a row of a table: what was claimed, what we read, what its design can detect."""
    read = [
        f"{step.name}{_of_what(told)}: {', '.join(_in_words(told))}"
        for step in study.steps
        if (told := found.get(step.name)) is not None
    ]
    ours = "<br>".join(read) or "not yet weighed"
    return f"| [{study.title}]({study.name}.md) | {study.claimed} | {ours} | {study.seen} |"


def claim_row(claim: Reproduction, verdicts: Found) -> str:
    """A claim in a row of a table: what was claimed, what its design can tell, the command that
    repeats it here, and what we read, or why that cannot be told."""
    parts = [
        f"{step.name}{_of_what(verdicts[step.name])}: {', '.join(_in_words(verdicts[step.name]))}"
        for step in claim.steps
        if step.name in verdicts
    ]
    longer = " --longer" if claim.steps and all(step.longer for step in claim.steps) else ""
    command = f"`steelyard reproduce {claim.name}{longer}`" if claim.steps else "–"
    if claim.steps and not parts:
        parts.append("not weighed yet")
    if claim.cannot:
        parts.append(f"cannot be told here: {claim.cannot}")
    design = f"{claim.runs}, interval: {claim.interval}. It could tell {claim.seen}"
    cells = (f"{claim.title}. {claim.published}", claim.claimed, design, command)
    return f"| {' | '.join(cells)} | {'<br>'.join(parts)} |"


def _of_what(told: Verdict | Swept) -> str:
    """`" (geometric mean time, less is faster)"`: what the readings of a step are of; of
    throughput, which most are, nothing is said."""
    [metric] = {one.metric for _, one in contrasts_of(told)} or {"throughput"}
    [more_is_faster] = {one.higher_is_better for _, one in contrasts_of(told)} or {True}
    side = "more" if more_is_faster else "less"
    return "" if metric == "throughput" else f" ({quantity_of(metric)}, {side} is faster)"


def _in_words(told: Verdict | Swept) -> Iterator[str]:
    """Each arm with its verdict in a word and its reading."""
    for place, one in contrasts_of(told):
        yield f"{one.arm}{place} **{one.verdict}** {escaped(reading_text(one))}"


def _figures(study: Reproduction) -> str:
    rows = [f"| {one.what} | {one.control} | {one.arm} | {one.told} |" for one in study.figures]
    return "\n".join(["| | control | arm | told as |", "|---|---|---|---|", *rows])


def _step(name: str, step: ReproductionStep, found: Verdict | Swept | None) -> Iterator[str]:
    if step.note:
        yield step.note
    if found is None:
        more = f" It takes {step.minutes} minutes; `--longer` asks for it." if step.longer else ""
        yield f"Not yet weighed.{more}"
    elif isinstance(found, Verdict):
        yield from _verdict(found)
    else:
        yield sweep_table(found)
    if found is not None:
        yield from agreement(step, found)
    if step.full:
        words = f"steelyard reproduce {name} --only {step.name} --full"
        yield f"At their scale (`{shlex.join(step.full)}`): `{words}`. It needs {step.needs}."


def _verdict(found: Verdict) -> Iterator[str]:
    yield markdown(found).strip()
    yield from _verified(found)
    if found.probes:
        yield _probes(found)
    if found.queries:
        yield _queries(found)
    if found.turns is not None:
        yield _beside(found)
        yield from _by_distance(found)
        if found.turns.evenness:
            yield _by_the_second(found.contrasts[0].control, found.turns.evenness)
    if found.devices is not None:
        yield from _devices(found, found.devices)


def _probes(found: Verdict) -> str:
    """What was counted, an arm a column: full-page images, and where the arms differ."""
    arms = list(dict.fromkeys(one.arm for one in found.probes))
    counted: dict[tuple[str, str], dict[str, str]] = {}
    for one in found.probes:
        ends = "" if one.least == one.most else f" ({one.least:,.0f} … {one.most:,.0f})"
        of_all = counted.setdefault((one.probe, one.counter), {})
        of_all[one.arm] = f"{one.median:,.0f}{ends}"
    rows = [
        f"| {escaped(probe)} | {escaped(counter)} | "
        f"{' | '.join(of_all.get(arm, '0') for arm in arms)} |"
        for (probe, counter), of_all in counted.items()
        if counter == IMAGES or len({of_all.get(arm, "0") for arm in arms}) > 1
    ]
    if not rows:
        return "What was counted after every epoch is the same in every arm."
    head = [
        f"| probe | counter | {' | '.join(map(escaped, arms))} |",
        f"|---|---|{'---:|' * len(arms)}",
    ]
    told = (
        "What was counted after every epoch, full-page images always and the rest where the arms "
        "differ: the median, and its range."
    )
    return "\n".join([told, "", *head, *rows])


def _verified(found: Verdict) -> Iterator[str]:
    """What a verified page costs, where two arms differ in nothing but verifying."""
    one = found.pages
    if one is None or len(found.contrasts) > 1:
        return
    cost = f"{one.nanoseconds_per_page:.0f} ns [{one.low:.0f}, {one.high:.0f}]"
    pages = f"{one.verified_per_transaction:.2f} pages verified a transaction"
    yield f"{pages}, {escaped(cost)} of processor time each."


def _queries(found: Verdict) -> str:
    """A row a query, an arm a column."""
    [control] = {one.control for one in found.queries}
    arms = list(dict.fromkeys(one.arm for one in found.queries))
    rows: dict[str, list[str]] = {}
    for one, row in zip(found.queries, query_rows(found.queries), strict=True):
        note = f" ({row['note']})" if row["note"] else ""
        rows.setdefault(one.query, [row["control"]]).append(escaped(row["reading"] + note))
    head = ["query", control, *(f"{arm} against {control}" for arm in arms)]
    told = "Time of each query, in the mean of its epochs, with an interval of its own."
    return _table(told, head, rows)


def _beside(found: Verdict) -> str:
    """What the arms did in turns beside their throughput: a row a quantity, an arm a column."""
    assert found.turns is not None  # callers check it
    control = found.contrasts[0].control
    arms = list(dict.fromkeys(one.arm for one in found.contrasts))
    told = [(f"{row['metric']} a minute", row) for row in work_rows(found.work)]
    told += [(f"{row['metric']} a transaction", row) for row in cause_rows(found.causes)]
    rows: dict[str, list[str]] = {}
    for name, row in told:
        rows.setdefault(name, [row["control"]]).append(escaped(row["reading"]))
    columns = [control, *arms]
    stalls = {row["arm"]: row for row in stall_sums(columns, found.turns)}
    rows["stalls, and storms among them"] = [
        f"{stalls[arm]['stalls']}, {stalls[arm]['storms']}" for arm in columns
    ]
    for row in sum_rows(columns, found.turns.sums):
        rows[row["what"]] = [row[str(place)] for place in range(len(columns))]
    said = "What the control did, and by how much the others differ from it; then each arm's own."
    return _table(said, ["beside it", *columns], rows)


def _by_the_second(control: str, lines: Sequence[EvennessLine]) -> str:
    """A row a pair and figure: the shorter turn limits both, so the control differs by pair."""
    rows = {
        f"{one.arm} against {control}, {row['metric']}": [
            row["control"],
            row["arm"],
            escaped(row["reading"]),
        ]
        for one, row in zip(lines, evenness_rows(lines), strict=True)
    }
    told = "Throughput by the second: of both turns of a pair, as long as the shorter one took."
    return _table(told, ["throughput by the second", "control", "arm", "change"], rows)


def _devices(found: Verdict, told: DeviceSummary) -> Iterator[str]:
    """What the devices did while each arm was driven: a row a figure, and below it their CVs by
    pair; a reason where that is not available, nothing where the work hardly uses them."""
    if told.missing:
        missing = escaped(not_available(told))
        yield f"{missing[0].upper()}{missing[1:]}."
        return
    used = {one.arm: used_figures(told, one.arm) for one in found.contrasts}
    control = found.contrasts[0].control
    arms = [arm for arm, figures in used.items() if figures]
    if not arms:
        return
    rows: dict[str, list[str]] = {}
    pairs: dict[str, list[str]] = {}
    for place, arm in enumerate(arms):
        for one, row in zip(used[arm], figure_rows(used[arm]), strict=True):
            reading = escaped(row["reading"])
            if by_second(one):
                pairs[f"{arm} against {control}, {row['metric']}"] = [
                    row["control"],
                    row["arm"],
                    reading,
                ]
                continue
            cells = rows.setdefault(row["metric"], [row["control"], *["–"] * len(arms)])
            cells[1 + place] = f"{row['arm']}, {reading}"
    head = [told_names(told), control, *(f"{arm} against {control}" for arm in arms)]
    yield _table(_devices_words(found, told), head, rows)
    if pairs:
        words = "Requests by the second: of both turns of a pair, as long as the shorter one took."
        yield _table(words, ["requests by the second", "control", "arm", "change"], pairs)


def _devices_words(found: Verdict, told: DeviceSummary) -> str:
    words = f"What {told_names(told)} did while each arm was driven; in brackets iostat's names."
    if layout_named(found.layout).moves:
        words += (
            " What an arm leaves to the kernel may be written in slices of another, and what it "
            "pays after its own is not among them."
        )
    return f"{words} The record is written there too." if told.shared_with_record else words


def _table(told: str, head: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    """A sentence, and a table under it: what each row is of → its numbers."""
    lines = [head, ["---", *("---:" for _ in head[1:])]]
    lines += [[name, *numbers] for name, numbers in rows.items()]
    return "\n".join([told, "", *(f"| {' | '.join(line)} |" for line in lines)])


def _by_distance(found: Verdict) -> Iterator[str]:
    """A row an arm and distance: what the turns come to with a checkpoint every so often."""
    if not found.by_distance:
        return
    control = found.contrasts[0].control
    rows = {
        f"{one.arm} against {control}, every {format_duration(one.seconds * NS_PER_S)}": [
            escaped(reading_text(one))
        ]
        for one in found.by_distance
    }
    told = (
        "Throughput by the distance of checkpoints, computed from the seconds of the turns; "
        "intervals of an arm hold together."
    )
    yield _table(told, ["a checkpoint", "change"], rows)
