"""Reads the contrasts of a verdict from JSON into values; what a record lacks is None or empty."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

Json = Mapping[str, Any]


def finite(value: object) -> float | None:
    """The value as a number, None where there is no bound (null, NaN, infinite)."""
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    return None


def shown_epoch(entry: Json) -> int:
    """The epoch of a line of a record as people count: from 1, where the record counts from 0."""
    return int(entry["epoch"]) + 1


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its interval; an end that is None is open."""

    estimate_percent: float | None
    low_percent: float | None
    high_percent: float | None

    @classmethod
    def read(cls, row: Json) -> Self:
        """The interval of any row that holds one."""
        ends = (finite(row.get(f"{name}_percent")) for name in ("estimate", "low", "high"))
        return cls(*ends)


@dataclass(frozen=True)
class EpochReading:
    """What one epoch read, as log ratios, and where and in which order the arms ran."""

    epoch: int
    """From 1."""
    slots: Mapping[str, int]
    order: tuple[str, ...]
    throughput: Mapping[str, float | None]
    d: float | None
    typical_d: float | None

    @classmethod
    def read(cls, row: Json) -> Self:
        """A row of `details.epochs`."""
        return cls(
            epoch=shown_epoch(row),
            slots={str(arm): int(slot) for arm, slot in (row.get("slots") or {}).items()},
            order=tuple(str(arm) for arm in row.get("order") or []),
            throughput={str(arm): finite(x) for arm, x in (row.get("throughput") or {}).items()},
            d=finite(row.get("d")),
            typical_d=finite(row.get("typical_d")),
        )


@dataclass(frozen=True)
class SettlingStep:
    """Estimate and interval as they stood after so many epochs."""

    epochs: int
    interval: Interval


@dataclass(frozen=True)
class Details:
    """How an interval was made, and what is shown beside it."""

    present: bool
    method: str
    k: int
    subsets: int
    level: float | None
    secondary: bool
    readings: tuple[float | None, ...]
    """Log ratios of all epochs."""
    epochs: tuple[EpochReading, ...]
    settling: tuple[SettlingStep, ...]
    t_interval: Interval | None
    equivalence_interval: Interval | None
    typical_percent: float | None
    epoch_sd_percent: float | None
    slot_effect_percent: float | None
    smallest_visible_percent: float | None
    drops: Mapping[str, int]
    capped: Mapping[str, int]

    @classmethod
    def read(cls, details: Json) -> Self:
        """The `details` of a contrast."""
        return cls(
            present=bool(details),
            method=str(details.get("method", "")),
            k=int(details.get("k") or 0),
            subsets=int(details.get("subsets") or 0),
            level=finite(details.get("level")),
            secondary=bool(details.get("secondary")),
            readings=tuple(finite(d) for d in details.get("d") or []),
            epochs=tuple(EpochReading.read(row) for row in details.get("epochs") or []),
            settling=tuple(
                SettlingStep(int(step["epochs"]), Interval.read(step))
                for step in details.get("settling") or []
            ),
            t_interval=_ends(details.get("t_interval_percent")),
            equivalence_interval=_ends(details.get("equivalence_interval_percent")),
            typical_percent=finite(details.get("typical_percent")),
            epoch_sd_percent=finite(details.get("epoch_sd_percent")),
            slot_effect_percent=finite(details.get("slot_effect_percent")),
            smallest_visible_percent=finite(details.get("smallest_visible_percent")),
            drops=details.get("drops") or {},
            capped=details.get("capped") or {},
        )


@dataclass(frozen=True)
class Threat:
    """A reason to doubt a verdict, with what was seen of it; `why`: for one that was withdrawn."""

    name: str | None
    seen: str | None
    cause: str | None
    advice: str | None
    invalidates: bool
    why: str | None

    @classmethod
    def read(cls, threat: Json) -> Self:
        """A threat of a contrast, or one on its way to a view."""
        return cls(
            name=threat.get("name"),
            seen=threat.get("seen"),
            cause=threat.get("cause"),
            advice=threat.get("advice"),
            invalidates=bool(threat.get("invalidates")),
            why=threat.get("why"),
        )


@dataclass(frozen=True)
class Contrast:
    """One arm against the control."""

    arm: str | None
    control: str | None
    metric: str
    verdict: str | None
    sentence: str | None
    """None in records from before 2026-11-22."""
    interval: Interval
    nonzero: bool
    higher_is_better: bool
    unit: str | None
    confidence: float | None
    epochs: int | None
    blocks: int | None
    true: Interval
    """The true effect, where it is known: equal arms and known weights."""
    covered: bool | None
    """Whether the interval holds the true effect."""
    forecast_seconds: tuple[float | None, ...]
    threats: tuple[Threat, ...]
    withdrawn: tuple[Threat, ...]
    margin_percent: float | None
    latest_d: float | None
    """The log ratio of the epoch that just ended, while a weighing runs."""
    _details: Json

    @classmethod
    def read(cls, contrast: Json) -> Self:
        """A contrast of a verdict, of a judgement, or of a running weighing."""
        forecast = contrast.get("forecast_seconds")
        ends = forecast if isinstance(forecast, list | tuple) else [forecast]
        covered, details = contrast.get("covered"), contrast.get("details") or {}
        keys = ("true_percent", "true_low_percent", "true_high_percent")
        true = (finite(contrast.get(key)) for key in keys)
        return cls(
            arm=contrast.get("arm"),
            control=contrast.get("control"),
            metric=str(contrast.get("metric", "throughput")),
            verdict=contrast.get("verdict"),
            sentence=str(contrast.get("sentence") or "") or None,
            interval=Interval.read(contrast),
            nonzero=bool(contrast.get("nonzero")),
            higher_is_better=bool(contrast.get("higher_is_better", True)),
            unit=contrast.get("unit"),
            confidence=finite(contrast.get("confidence")),
            epochs=_count(contrast.get("epochs")),
            blocks=_count(contrast.get("blocks")),
            true=Interval(*true),
            covered=covered if isinstance(covered, bool) else None,
            forecast_seconds=tuple(finite(end) for end in ends),
            threats=tuple(Threat.read(threat) for threat in contrast.get("threats") or []),
            withdrawn=tuple(Threat.read(threat) for threat in contrast.get("withdrawn") or []),
            margin_percent=finite(details.get("margin_percent")),
            latest_d=finite(contrast.get("d")),
            _details=details,
        )

    @cached_property
    def details(self) -> Details:
        """Read when it is needed: a verdict that `judge` shows may hold anything there."""
        return Details.read(self._details)

    @property
    def word(self) -> str:
        """The verdict in one word."""
        return str(self.verdict or "inconclusive")

    @property
    def pair(self) -> str:
        """`"off against on"`."""
        return f"{self.arm} against {self.control}"


def read_contrasts(contrasts: Iterable[Json] | None) -> tuple[Contrast, ...]:
    """The contrasts of a verdict; none where there are none."""
    return tuple(Contrast.read(contrast) for contrast in contrasts or ())


def _ends(ends: object) -> Interval | None:
    """The interval of a [low, high] pair."""
    return (
        Interval(None, finite(ends[0]), finite(ends[1]))
        if ends and isinstance(ends, list | tuple)
        else None
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) else None
