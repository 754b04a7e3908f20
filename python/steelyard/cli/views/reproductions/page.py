"""Writes the page of a repeated study: its result, its power, our result, and their agreement."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from steelyard.cli.views.ci import escaped, markdown
from steelyard.cli.views.reproductions.agreement import (
    agreement,
    contrasts_of,
    quantity_of,
    sweep_table,
)
from steelyard.model.units import NS_PER_S, format_duration
from steelyard.record.contrast import ContrastLine
from steelyard.record.sweep import Swept, SweptContrast
from steelyard.record.turns.turn_summary import EvennessLine
from steelyard.record.verdict import DeviceSummary, Verdict
from steelyard.report.devices import (
    by_second,
    devices_text,
    figure_rows,
    not_available,
    used_figures,
)
from steelyard.report.layouts.shown_layout import layout_named
from steelyard.report.tables import cause_rows, page_price, query_rows, work_rows
from steelyard.report.turns import evenness_rows, stall_sums, sum_rows
from steelyard.reproductions.reproduction import Reproduction, ReproductionStep
from steelyard.wording.contrast_text import reading_text

IMAGES = "wal_full_page_images"
"""Of a probe; that there were none is a result too."""
Found = Mapping[str, "Verdict | Swept"]
"""Step → what it came to; those that were not weighed are not in it."""


def page(study: Reproduction, outcomes: Found, machine: str) -> str:
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
        parts += [f"## {step.question}", *_step(study.name, step, outcomes.get(step.name))]
    if study.follows and outcomes:
        parts.append(f"## What follows\n\n{study.follows}")
    return "\n\n".join(parts) + "\n"


def row(study: Reproduction, outcomes: Found) -> str:
    """The study in a row of a table: what was claimed, what we read of that, and what its design
    can detect. Where it has chief readings only those are told, and how many more its page has."""
    read = {
        step.name: list(_in_words(outcome))
        for step in study.steps
        if (outcome := outcomes.get(step.name)) is not None
    }
    if study.chiefs:
        cells = list(_chief_words(study, outcomes))
        if more := sum(map(len, read.values())) - len(cells):
            cells.append(f"{more} more on [its page]({study.name}.md)")
    else:
        cells = [
            f"{step}{_of_what(outcomes[step])}: {', '.join(words)}" for step, words in read.items()
        ]
    ours = "<br>".join(cells) or "not yet weighed"
    return f"| [{study.title}]({study.name}.md) | {study.claimed} | {ours} | {study.seen} |"


def _chief_words(study: Reproduction, outcomes: Found) -> Iterator[str]:
    """Each chief reading that there is, after the question of its step."""
    questions = {step.name: step.question for step in study.steps}
    for chief in study.chiefs:
        if (outcome := outcomes.get(chief.step)) is None:
            continue
        for where, contrast in contrasts_of(outcome, chief.arm):
            if where.removeprefix(" at ") == chief.at:
                what = f"{questions[chief.step]}{_of_what(outcome)}"
                others = f"; {escaped(chief.others)}" if chief.others else ""
                yield f"{what}: {_reading_words(outcome, where, contrast)}{others}"


def claim_row(claim: Reproduction, outcomes: Found) -> str:
    """A claim in a row of a table: what was claimed, what its design can tell, the command that
    repeats it here, and what we read, or why that cannot be told."""
    parts = [
        f"{step.name}{_of_what(outcomes[step.name])}: {', '.join(_in_words(outcomes[step.name]))}"
        for step in claim.steps
        if step.name in outcomes
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


def _of_what(outcome: Verdict | Swept) -> str:
    """`" (geometric mean time, less is faster)"`: what the readings of a step are of; of
    throughput, which most are, nothing is said."""
    [metric] = {contrast.metric for _, contrast in contrasts_of(outcome)} or {"throughput"}
    [more_is_faster] = {contrast.higher_is_better for _, contrast in contrasts_of(outcome)} or {
        True
    }
    side = "more" if more_is_faster else "less"
    return "" if metric == "throughput" else f" ({quantity_of(metric)}, {side} is faster)"


def _in_words(outcome: Verdict | Swept) -> Iterator[str]:
    """Each arm with its verdict in a word and its reading."""
    return (_reading_words(outcome, where, contrast) for where, contrast in contrasts_of(outcome))


def _reading_words(
    outcome: Verdict | Swept, where: str, contrast: ContrastLine | SweptContrast
) -> str:
    verdict: str = contrast.verdict
    if verdict == "equivalent":
        verdict += f" ±{_margin(outcome, contrast):g} %"
    return f"{contrast.arm}{where} **{verdict}** {escaped(reading_text(contrast))}"


def _margin(outcome: Verdict | Swept, contrast: ContrastLine | SweptContrast) -> float:
    """Within which a contrast is called equivalent, in percent."""
    if isinstance(outcome, Swept):
        return outcome.margin_percent
    assert isinstance(contrast, ContrastLine)  # as those of a verdict are
    return contrast.details.margin_percent


def _figures(study: Reproduction) -> str:
    rows = [
        f"| {figure.what} | {figure.control} | {figure.arm} | {figure.told} |"
        for figure in study.figures
    ]
    return "\n".join(["| | control | arm | reported as |", "|---|---|---|---|", *rows])


def _step(name: str, step: ReproductionStep, outcome: Verdict | Swept | None) -> Iterator[str]:
    if step.note:
        yield step.note
    if outcome is None:
        more = f" It takes {step.minutes} minutes; `--longer` asks for it." if step.longer else ""
        yield f"Not yet weighed.{more}"
    elif isinstance(outcome, Verdict):
        yield from _verdict(outcome)
    else:
        yield sweep_table(outcome)
    if outcome is not None:
        yield from agreement(step, outcome)
    if step.full:
        command = f"steelyard reproduce {name} --only {step.name} --full"
        yield f"At their scale (`{shlex.join(step.full)}`): `{command}`. It needs {step.needs}."


def _verdict(verdict: Verdict) -> Iterator[str]:
    yield markdown(verdict).strip()
    yield from _verified(verdict)
    if verdict.probes:
        yield _probes(verdict)
    if verdict.queries:
        yield _queries(verdict)
    if verdict.turns is not None:
        yield _quantities(verdict)
        yield from _by_distance(verdict)
        if verdict.turns.evenness:
            yield _by_the_second(verdict.contrasts[0].control, verdict.turns.evenness)
    if verdict.devices is not None:
        yield from _devices(verdict, verdict.devices)


def _probes(verdict: Verdict) -> str:
    """What was counted, an arm a column: full-page images, and where the arms differ."""
    arms = list(dict.fromkeys(probe.arm for probe in verdict.probes))
    counted: dict[tuple[str, str], dict[str, str]] = {}
    for probe in verdict.probes:
        ends = "" if probe.least == probe.most else f" ({probe.least:,.0f} … {probe.most:,.0f})"
        of_all = counted.setdefault((probe.probe, probe.counter), {})
        of_all[probe.arm] = f"{probe.median:,.0f}{ends}"
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
    caption = (
        "What was counted after every epoch, full-page images always and the rest where the arms "
        "differ: the median, and its range."
    )
    return "\n".join([caption, "", *head, *rows])


def _verified(verdict: Verdict) -> Iterator[str]:
    """What a verified page costs, where two arms differ in nothing but verifying."""
    pages = verdict.pages
    if pages is None or len(verdict.contrasts) > 1:
        return
    count = f"{pages.verified_per_transaction:.2f} pages verified a transaction"
    if pages.low > 0:
        cost = f"{pages.nanoseconds_per_page:.0f} ns [{pages.low:.0f}, {pages.high:.0f}]"
        yield f"{count}, {escaped(cost)} of processor time each."
    elif price := page_price(pages):
        yield f"{count}: {escaped(price)}."


def _queries(verdict: Verdict) -> str:
    """A row a query, an arm a column."""
    [control] = {query.control for query in verdict.queries}
    arms = list(dict.fromkeys(query.arm for query in verdict.queries))
    rows: dict[str, list[str]] = {}
    for query, row in zip(verdict.queries, query_rows(verdict.queries), strict=True):
        note = f" ({row['note']})" if row["note"] else ""
        rows.setdefault(query.query, [row["control"]]).append(escaped(row["reading"] + note))
    head = ["query", control, *(f"{arm} against {control}" for arm in arms)]
    caption = "Time of each query, in the mean of its epochs, with an interval of its own."
    return _table(caption, head, rows)


def _quantities(verdict: Verdict) -> str:
    """What the arms did in turns beside their throughput: a row a quantity, an arm a column."""
    assert verdict.turns is not None  # callers check it
    control = verdict.contrasts[0].control
    arms = list(dict.fromkeys(contrast.arm for contrast in verdict.contrasts))
    quantities = [(f"{row['metric']} a minute", row) for row in work_rows(verdict.work)]
    quantities += [(f"{row['metric']} a transaction", row) for row in cause_rows(verdict.causes)]
    rows: dict[str, list[str]] = {}
    for name, row in quantities:
        rows.setdefault(name, [row["control"]]).append(escaped(row["reading"]))
    columns = [control, *arms]
    stalls = {row["arm"]: row for row in stall_sums(columns, verdict.turns)}
    rows["stalls, and storms among them"] = [
        f"{stalls[arm]['stalls']}, {stalls[arm]['storms']}" for arm in columns
    ]
    for row in sum_rows(columns, verdict.turns.sums):
        rows[row["what"]] = [row[str(column)] for column in range(len(columns))]
    caption = (
        "What the control did, and by how much the others differ from it; then each arm's own."
    )
    return _table(caption, ["beside it", *columns], rows)


def _by_the_second(control: str, lines: Sequence[EvennessLine]) -> str:
    """A row a pair and figure: the shorter one limits both, so the control differs by pair."""
    rows = {
        f"{line.arm} against {control}, {row['metric']}": [
            row["control"],
            row["arm"],
            escaped(row["reading"]),
        ]
        for line, row in zip(lines, evenness_rows(lines), strict=True)
    }
    caption = "Throughput by the second, of both arms of a pair, while both were measured."
    return _table(caption, ["throughput by the second", "control", "arm", "change"], rows)


def _devices(verdict: Verdict, devices: DeviceSummary) -> Iterator[str]:
    """What the devices did while each arm was driven: a row a figure, and below it their CVs by
    pair; a reason where that is not available, nothing where the work hardly uses them."""
    if devices.missing:
        missing = escaped(not_available(devices))
        yield f"{missing[0].upper()}{missing[1:]}."
        return
    used = {contrast.arm: used_figures(devices, contrast.arm) for contrast in verdict.contrasts}
    control = verdict.contrasts[0].control
    arms = [arm for arm, figures in used.items() if figures]
    if not arms:
        return
    rows: dict[str, list[str]] = {}
    pairs: dict[str, list[str]] = {}
    for column, arm in enumerate(arms):
        for figure, row in zip(used[arm], figure_rows(used[arm]), strict=True):
            reading = escaped(row["reading"])
            if by_second(figure):
                pairs[f"{arm} against {control}, {row['metric']}"] = [
                    row["control"],
                    row["arm"],
                    reading,
                ]
                continue
            cells = rows.setdefault(row["metric"], [row["control"], *["–"] * len(arms)])
            cells[1 + column] = f"{row['arm']}, {reading}"
    head = [devices_text(devices), control, *(f"{arm} against {control}" for arm in arms)]
    yield _table(_devices_words(verdict, devices), head, rows)
    if pairs:
        caption = "Requests by the second, of both arms of a pair, while both were measured."
        yield _table(caption, ["requests by the second", "control", "arm", "change"], pairs)


def _devices_words(verdict: Verdict, devices: DeviceSummary) -> str:
    caption = (
        f"What {devices_text(devices)} did while each arm was driven; in brackets iostat's names."
    )
    if layout_named(verdict.layout).moves:
        caption += (
            " What an arm leaves to the kernel may be written in slices of another, and what it "
            "pays after its own is not among them."
        )
    return f"{caption} The record is written there too." if devices.shared_with_record else caption


def _table(caption: str, head: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    """A sentence, and a table under it: what each row is of → its numbers."""
    lines = [head, ["---", *("---:" for _ in head[1:])]]
    lines += [[name, *numbers] for name, numbers in rows.items()]
    return "\n".join([caption, "", *(f"| {' | '.join(line)} |" for line in lines)])


def _by_distance(verdict: Verdict) -> Iterator[str]:
    """A row an arm and distance: what throughput comes to with a checkpoint every so often."""
    if not verdict.by_distance:
        return
    control = verdict.contrasts[0].control
    rows = {
        f"{effect.arm} against {control}, every {format_duration(effect.seconds * NS_PER_S)}": [
            escaped(reading_text(effect))
        ]
        for effect in verdict.by_distance
    }
    caption = (
        "Throughput by the distance of checkpoints, computed from the measured seconds; "
        "intervals of an arm hold together."
    )
    yield _table(caption, ["a checkpoint", "change"], rows)
