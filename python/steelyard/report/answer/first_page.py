"""Words the first page of a report beside its verdict: doubts, limits, and what was weighed."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.model.units import NS_PER_S, counted, format_bytes, format_duration
from steelyard.record.environment import MachineFacts
from steelyard.report.incidents import interruption_text
from steelyard.report.layouts.shown_layout import shown_layout
from steelyard.report.source import PageSource
from steelyard.report.tables import forecast_text

Rows = tuple[tuple[str, str], ...]
MOST_DIFFERENCES, MOST_SCRIPTS = 4, 5
NO_DOUBT = "None of the known threats was seen, which is no proof that there is none."


@dataclass(frozen=True)
class FirstPage:
    """The texts of a report's first page beside the verdict's sentence, interval and figures."""

    doubts: Rows
    """(threat, what was seen of it), those that invalidate first."""
    limits: tuple[str, ...]
    """Sentences: of what nothing is claimed."""
    weighed: Rows
    """(label, text): the difference, traffic, data, machine, server, how long."""


def first_page(source: PageSource) -> FirstPage:
    """Of a record, with or without a verdict."""
    return FirstPage(_doubts(source), tuple(_limits(source)), tuple(_weighed(source)))


def _doubts(source: PageSource) -> Rows:
    judged = (*source.contrasts, *source.pairs)
    every = [threat for line in judged for threat in line.threats]
    every.sort(key=lambda threat: not threat.invalidates)
    return tuple(dict.fromkeys((threat.name, threat.seen or "–") for threat in every))


def _limits(source: PageSource) -> list[str]:
    verdict, plan = source.verdict, source.plan
    if verdict is None:
        return ["There is no verdict: no result is claimed."]
    sentences = [] if _doubts(source) else [NO_DOUBT]
    sentences.append(
        "It holds for this traffic on this machine, in the hours of the weighing; nothing is "
        "claimed about others."
    )
    if not plan.writes:
        sentences.append("Nothing was written in it: what writes cost is not in it.")
    else:
        sentences.append("Checkpoints that are further apart or nearer may cost otherwise.")
    unsettled = [
        line
        for line in source.contrasts
        if line.verdict == "inconclusive" and "as large as it reads" not in line.sentence
    ]
    forecasts = {forecast_text([line.forecast_seconds]) for line in unsettled} - {""}
    sentences += [f"{text[0].upper()}{text[1:]}." for text in sorted(forecasts)]
    sentences.append(interruption_text(verdict, plan.epochs))
    return [sentence for sentence in sentences if sentence]


def _weighed(source: PageSource) -> Rows:
    verdict, environment = source.verdict, source.environment
    place = verdict.place if verdict else None
    machine = environment.machine
    memory = place.memory_bytes if place else machine.memory_bytes
    processors = place.processors if place else machine.processors
    rows = (
        ("compared", _difference(source)),
        ("traffic", _traffic(source)),
        ("data", _data(source)),
        ("machine", _machine(machine, processors, memory)),
        ("server", " and ".join(place.products if place else _products(source))),
        ("weighed", _duration(source)),
    )
    return tuple((label, text) for label, text in rows if text)


def _difference(source: PageSource) -> str:
    """`"data_checksums: on → off"`, the control's value first; of several arms behind the name of
    each, and of builds alone the arms."""
    plan, verdict = source.plan, source.verdict
    others = [arm for arm in source.arms if arm != plan.control]
    declared = verdict.differences.declared if verdict else ()
    changes = [f"{name}: {ours} → {theirs}" for name, ours, theirs in declared]
    if len(others) > 1:
        changes = [
            f"{arm}: {name}: {ours} → {theirs}"
            for arm, differences in source.differences.items()
            for name, ours, theirs in differences.declared
        ]
    listed = changes[:MOST_DIFFERENCES]
    if len(changes) > MOST_DIFFERENCES:
        listed.append(f"and {len(changes) - MOST_DIFFERENCES} more")
    return "; ".join(listed) or " → ".join([plan.control, ", ".join(others)])


def _traffic(source: PageSource) -> str:
    plan, verdict = source.plan, source.verdict
    place = verdict.place if verdict else None
    name = place.workload if place else str(source.environment.workload.get("name", ""))
    clients = "1 client" if plan.clients == 1 else f"{plan.clients} clients"
    scripts = list(dict.fromkeys(row.script for row in verdict.scripts)) if verdict else []
    listed = scripts[:MOST_SCRIPTS]
    more = f" and {len(scripts) - len(listed)} more" if len(scripts) > len(listed) else ""
    mix = f"{len(scripts)} scripts ({', '.join(listed)}{more})" if len(scripts) > 1 else ""
    kind = "reads and writes" if plan.writes else "reads only"
    return ", ".join(filter(None, (name, mix, clients, kind)))


def _data(source: PageSource) -> str:
    facts, verdict = source.environment.source, source.verdict
    place = verdict.place if verdict else None
    if facts is not None:
        size = format_bytes(facts.database_bytes)
        return f'{facts.kind} "{facts.name}": database {facts.database}, {size}'
    if place is None:
        return ""
    if place.data:
        size = f" ({format_bytes(place.data_bytes)})" if place.data_bytes else ""
        return f"{place.data}{size}"
    return "" if place.scale is None else f"made by the workload, scale {place.scale}"


def _machine(machine: MachineFacts, processors: int | None, memory_bytes: int) -> str:
    count = "1 processor" if processors == 1 else f"{processors} processors" if processors else ""
    memory = f"{format_bytes(memory_bytes)} of memory" if memory_bytes else ""
    virtual = "virtual" if machine.virtual else ""
    return ", ".join(filter(None, (machine.processor, count, memory, virtual)))


def _products(source: PageSource) -> list[str]:
    builds = [about.build for about in source.environment.arms.values()]
    products = [f"{build.get('kind', '')} {build.get('version', '')}".strip() for build in builds]
    return list(dict.fromkeys(filter(None, products)))


def _duration(source: PageSource) -> str:
    verdict = source.verdict
    if verdict is None or not verdict.contrasts:
        return ""
    line = verdict.contrasts[0]
    epochs = shown_layout(source.plan).counts(line)
    counts = ", ".join(counted(count, name) for name, count in epochs.items())
    took = format_duration(verdict.whole_seconds * NS_PER_S) if verdict.whole_seconds else ""
    day = source.plan.at[:10]
    return ", ".join(filter(None, (counts, f"{took} in all" if took else "", day)))
