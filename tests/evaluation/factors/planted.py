"""Makes what a factorial has shown, for tests of how it is told."""

from __future__ import annotations

from typing import Any

from steelyard.record.factors import EffectLine, FactorEffects, FactorsPlan, SimpleEffectLine
from steelyard.study.factors import Factorial, factorial

LEVELS = {"a": ("low", "high"), "b": ("cold", "hot"), "c": ("dry", "wet"), "d": ("day", "night")}


def laid(count: int, fraction: Any = "full") -> Factorial:
    return factorial(dict(list(LEVELS.items())[:count]), fraction)


def made(
    design: Factorial, read: dict[str, tuple[float, str]], simple: dict[str, float], **more: Any
) -> FactorEffects:
    """Effects by name: estimate and verdict, ±0.5; simple ones by `"a with hot"`."""
    plan = FactorsPlan.of(design)

    def ends(value: float) -> dict[str, float]:
        return {
            "estimate_percent": value, "low_percent": value - 0.5, "high_percent": value + 0.5
        }  # fmt: skip

    effects = []
    for one in plan.effects:
        value, verdict = read.get(one.name, (0.1, "equivalent"))
        verdict = "negligible" if verdict == "equivalent" and len(one.factors) > 1 else verdict
        facts = {"factors": one.factors, "aliases": one.aliases, "p_value": 0.5, **ends(value)}
        effects.append(EffectLine.model_validate({**facts, "verdict": verdict}))
    parts = [
        SimpleEffectLine(
            factor=one.factor, by=one.by, level=one.level,
            **ends(simple.get(f"{one.factor} with {one.level}", 1.0)),
        )
        for one in plan.simple_effects
    ]  # fmt: skip
    facts = {
        "sentences": (), "fraction": plan.fraction, "cells": plan.cells, "effects": effects,
        "simple_effects": parts, "metric": "throughput", "higher_is_better": True,
        "margin_percent": 1.0, "confidence": 0.95, "epochs": 12, "left_out": (), **more,
    }  # fmt: skip
    return FactorEffects.model_validate(facts)
