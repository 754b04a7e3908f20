"""Reads what Steelyard itself writes: the verdict of a weighing, to be shown as its own plan judged
it, and the summaries of `steelyard drive --json`, each a repetition of one arm.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.foreign.format import JsonFormat
from steelyard.foreign.json_document import Document, Number, Path
from steelyard.foreign.metric import LATENCY, THROUGHPUT, Metric
from steelyard.foreign.number import floats_of
from steelyard.foreign.series import Series, Sheet, TransactionCounts
from steelyard.foreign.source import quoted
from steelyard.model.threat import Threat, ThreatKind
from steelyard.record.contrast import JudgedContrast, KnownTruth, WithdrawnThreat

if TYPE_CHECKING:
    from steelyard.record.verdict import TimeParts

Json = Mapping[str, Any]
FORM = "a verdict of Steelyard"
JUDGED = "by the plan of its weighing, with its looks, lost epochs and threats; not judged again"
_VERDICTS = ("slower", "faster", "equivalent", "inconclusive", "invalid")
_TEXTS = ("arm", "control", "metric")
_THREAT = ("name", "seen", "cause", "advice")
_FIGURES = ("estimate_percent", "low_percent", "high_percent")


@dataclass(frozen=True)
class SavedContrast:
    """What is shown of a contrast of a verdict of any version."""

    judged: JudgedContrast
    truth: KnownTruth | None
    withdrawn: tuple[WithdrawnThreat, ...]
    margin_percent: float | None


@dataclass(frozen=True, eq=False)
class SavedVerdict:
    """What a verdict.json, or `weigh --json`, says of the contrasts."""

    source: str
    study: str
    contrasts: tuple[Json, ...]
    """As the record has them, those of two arms last."""
    times: tuple[TimeParts, ...] = ()
    """Where the time of a transaction goes, where it says so."""

    @property
    def shown(self) -> tuple[SavedContrast, ...]:
        """The contrasts as values."""
        return tuple(_saved_contrast(contrast) for contrast in self.contrasts)

    def to_json(self) -> Json:
        """As `judge --json` prints it."""
        return {
            "sources": [self.source],
            "format": FORM,
            "judged": JUDGED,
            "study": self.study,
            "contrasts": list(self.contrasts),
            **({"time": [parts.to_json() for parts in self.times]} if self.times else {}),
        }


def is_verdict(value: Any) -> bool:
    """Whether a JSON value is the verdict of a weighing."""
    return isinstance(value, dict) and "study" in value and isinstance(value.get("contrasts"), list)


def read_verdict(document: Document) -> SavedVerdict:
    """The verdict of a document that holds one; NumbersError where a contrast is none."""
    source, value = document.source, document.values[0]
    if len(document.values) > 1:
        position = document.place(1, ())
        raise source.error(
            "more than one verdict of Steelyard", position, hint="Name one file each."
        )
    pairs = value.get("pairs", [])
    if not isinstance(pairs, list):
        _check(document, None, ("pairs",))
    for key, contrasts in (("contrasts", value["contrasts"]), ("pairs", pairs)):
        for number, contrast in enumerate(contrasts):
            _check(document, contrast, (key, number))
    if not value["contrasts"]:
        raise source.error("a verdict without a contrast", document.place(0, ("contrasts",)))
    plain = _plain(value)
    first, *others = plain["contrasts"]
    if "sentence" not in first and isinstance(plain.get("sentence"), str):
        first = {**first, "sentence": plain["sentence"]}  # older records have it beside them
    every = (first, *others, *plain.get("pairs", []))
    times = _times(document, plain.get("time", []))
    return SavedVerdict(source.name, str(plain["study"]), every, times)


def _times(document: Document, value: Any) -> tuple[TimeParts, ...]:
    """NumbersError where it is not what a verdict says of time."""
    from pydantic import ValidationError

    from steelyard.record.verdict import TimeParts

    try:
        return tuple(TimeParts.model_validate(parts) for parts in value)
    except (ValidationError, TypeError):
        raise document.source.error(
            "where the time of a transaction goes is not told as Steelyard tells it",
            document.place(0, ("time",)),
            hint="Name the verdict.json of a record, or what `steelyard weigh --json` printed.",
        ) from None


def _check(document: Document, contrast: Any, path: Path) -> None:
    """Refuse what cannot be shown: another shape than the command line's contract has."""
    valid = isinstance(contrast, dict)
    valid = valid and all(isinstance(contrast.get(key), str) for key in _TEXTS)
    valid = valid and contrast.get("verdict") in _VERDICTS
    valid = valid and all(isinstance(contrast.get(k), Number | None) for k in _FIGURES)
    valid = valid and isinstance(contrast.get("details", {}), dict)
    threats = contrast.get("threats", []) if valid else None
    valid = isinstance(threats, list) and all(
        isinstance(threat, dict) and all(isinstance(threat.get(key), str) for key in _THREAT)
        for threat in threats
    )
    if not valid:
        label = quoted(str(contrast.get("arm"))) if isinstance(contrast, dict) else ""
        raise document.source.error(
            f"this contrast {label + ' ' if label else ''}is none of a verdict of Steelyard",
            document.place(0, path),
            hint="Name the verdict.json of a record, or what `steelyard weigh --json` printed.",
        )


def _saved_contrast(contrast: Json) -> SavedContrast:
    """Of a contrast that was checked; what it may lack and no view shows gets an empty value."""
    judged = JudgedContrast(
        arm=str(contrast["arm"]),
        control=str(contrast["control"]),
        metric=str(contrast["metric"]),
        unit="",
        higher_is_better=bool(contrast.get("higher_is_better", True)),
        estimate_percent=_finite(contrast.get("estimate_percent")),
        low_percent=_finite(contrast.get("low_percent")),
        high_percent=_finite(contrast.get("high_percent")),
        confidence=0.0,
        verdict=contrast["verdict"],
        nonzero=bool(contrast.get("nonzero")),
        epochs=0,
        blocks=0,
        forecast_seconds=None,
        threats=tuple(
            Threat(
                **{key: str(threat[key]) for key in _THREAT},
                invalidates=bool(threat.get("invalidates")),
            )
            for threat in contrast.get("threats", [])
        ),
        sentence=str(contrast.get("sentence") or ""),
    )
    gone = contrast.get("withdrawn")
    withdrawn = tuple(
        WithdrawnThreat(**{key: str(threat.get(key)) for key in WithdrawnThreat.model_fields})
        for threat in (gone if isinstance(gone, list) else ())
        if isinstance(threat, dict)
    )
    margin = _finite((contrast.get("details") or {}).get("margin_percent"))
    return SavedContrast(judged, _truth(contrast), withdrawn, margin)


def _truth(contrast: Json) -> KnownTruth | None:
    true, covered = _finite(contrast.get("true_percent")), contrast.get("covered")
    if true is None:
        return None
    return KnownTruth(
        true_percent=true,
        true_low_percent=_finite(contrast.get("true_low_percent")),
        true_high_percent=_finite(contrast.get("true_high_percent")),
        covered=covered if isinstance(covered, bool) else None,
    )


def _finite(value: Any) -> float | None:
    finite = isinstance(value, int | float) and math.isfinite(value)
    return float(value) if finite else None


def _plain(value: Any) -> Any:
    """Numbers as numbers (None where they are not finite), texts without what is not printable."""
    if isinstance(value, Number):
        number = float(value)
        if not math.isfinite(number):
            return None
        return int(value) if value.lstrip("-").isdigit() else number
    if isinstance(value, str):
        return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in value)
    if isinstance(value, list):
        return [_plain(member) for member in value]
    if isinstance(value, dict):
        return {_plain(key): _plain(member) for key, member in value.items()}
    return value


_COUNT = re.compile(r"[0-9]{1,15}")
_RATE = Metric(THROUGHPUT, "transactions/s", True)
_LATENCY = Metric(LATENCY, "µs", False)


def is_drive(value: Any) -> bool:
    """Whether a JSON value is the summary of `steelyard drive`."""
    return isinstance(value, dict) and {"transactions", "throughput", "latency_us"} <= set(value)


def read_drive(document: Document) -> Sheet:
    """One arm, one repetition an object: throughput and mean latency, and how many clients.

    NumbersError where the object is a verdict.
    """
    if is_verdict(document.values[0]):
        raise document.source.error(
            "a verdict of Steelyard is no list of numbers: its weighing's own plan judged it",
            document.place(0, ()),
            hint="Name it alone: steelyard judge RECORD shows what it says.",
        )
    rates, latencies, clients = [], [], set()
    outcome, machine = TransactionCounts(0, 0), []
    for number, value in enumerate(document.values):
        rates.append(_number(document, number, value, ("throughput",)))
        outcome += _outcome(value)
        run = f"{document.source.name}, run {number + 1}"
        machine += [(kind, f"{sentence} ({run})") for kind, sentence in _machine(value)]
        latency = value["latency_us"]
        mean = latency.get("mean") if isinstance(latency, dict) else None
        latencies.append(
            _number(document, number, value, ("latency_us", "mean")) if mean is not None else None
        )
        if isinstance(value.get("clients"), Number):
            clients.add(_number(document, number, value, ("clients",)))
    metrics = [(_RATE, (Series("", np.array(rates)),))]
    means = [latency for latency in latencies if latency is not None]
    if len(means) == len(latencies):
        metrics.append((_LATENCY, (Series("", np.array(means)),)))
    return Sheet(
        source=document.source.name,
        form="`steelyard drive --json`",
        metrics=tuple(metrics),
        outcomes={"": outcome},
        clients={"": clients.pop()} if len(clients) == 1 else {},
        machine=tuple(machine),
    )


def _machine(value: Mapping[str, Any]) -> list[tuple[ThreatKind, str]]:
    """What a summary says of its machine that leaves to doubt; nothing where it does not say all
    that is looked at."""
    from steelyard.evaluation.threats.machine import MACHINE_READINGS, machine_observations
    from steelyard.wording.threats.threat import threat_of

    machine = value.get("machine")
    readings = machine.items() if isinstance(machine, dict) else ()
    values = {name: float(reading) for name, reading in readings if isinstance(reading, Number)}
    sound = all(0 <= reading < math.inf for reading in values.values())
    if not sound or not values.keys() >= MACHINE_READINGS:
        return []
    observations = machine_observations(values, range(int(values["processors"])))
    threats = map(threat_of, observations)
    return [(ThreatKind(threat.name), threat.seen) for threat in threats]


def _outcome(value: Mapping[str, Any]) -> TransactionCounts:
    """What became of the transactions of a summary; counts that it does not give are 0."""

    def count(key: str) -> int:
        return _count(value.get(key))

    errors = value.get("errors")
    raised = sum(map(_count, errors.values())) if isinstance(errors, dict) else 0
    failed = count("failed") if "failed" in value else raised
    idle = count("skipped") + count("unstarted")
    troubled = max(failed + count("retried"), raised) + idle
    tried = max(count("transactions") + failed + idle, troubled)
    return TransactionCounts(tried, troubled, count("wrong_rows"))


def _count(count: Any) -> int:
    """A count as it was written; 0 for what is none."""
    return int(count) if isinstance(count, Number) and _COUNT.fullmatch(count) else 0


def _number(document: Document, number: int, value: Any, path: tuple[str, ...]) -> float:
    for key in path:
        value = value[key]
    if not isinstance(value, Number):
        raise document.source.error("a number is expected here", document.place(number, path))
    values, _ = floats_of([value], document.source, lambda _: document.place(number, path))
    return float(values[0])


STEELYARD = JsonFormat(
    "steelyard",
    "Steelyard's JSON",
    holds=lambda value: is_verdict(value) or is_drive(value),
    read=read_drive,
    repeats=is_drive,
)
