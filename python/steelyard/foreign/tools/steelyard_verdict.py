"""Reads a verdict of Steelyard, to be shown as its weighing's own plan judged it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steelyard.foreign.json.document import Document, Number, Path
from steelyard.foreign.source import quoted
from steelyard.model.threat import Threat
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
