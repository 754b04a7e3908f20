"""The live validation knows what each of its weights takes, apart from the product itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

from steelyard.analysis.calibration import KnownWeight, truth
from steelyard.study.read import read_study
from validation.schedule import KINDS, Case, cases, debt_share

THROUGHPUT = 80_000.0


def case_of(kind: str):  # type: ignore[no-untyped-def]
    return next(case for case in cases() if case.kind == kind)


def test_every_case_has_a_key_and_a_seed_of_its_own() -> None:
    every = list(cases())
    assert len(every) == sum(KINDS.values())
    assert len({case.key for case in every}) == len({case.seed for case in every}) == len(every)


def test_new_kinds_stand_at_the_end_so_that_seeds_stay_what_they_were() -> None:
    kinds = ["alike", "twice 1 %", "twice 2 %", "twice 3 %", "twice 5 %", "stall", "background"]
    kinds += ["alike in turns", "twice 10 % in turns"]
    kinds += ["alike in sessions", "twice 5 % in sessions"]
    kinds += ["alike on MySQL", "twice 5 % on MySQL", "alike with writes"]
    kinds += ["alike from three nodes", "twice 5 % from three nodes", "alike for two minutes"]
    kinds += ["alike in cycles", "twice 10 % in cycles", "twice 10 % in cycles on tproc-c"]
    kinds += ["alike again"]
    assert list(KINDS) == kinds


@pytest.mark.parametrize("kind", KINDS)
def test_the_overrides_of_a_case_are_a_study(kind: str) -> None:
    case = case_of(kind)
    study = read_study(case.study, case.overrides)
    [weight] = [arm.weight for arm in study.arms if case.arm in (None, arm.name)]
    assert weight.is_none == kind.startswith("alike")
    assert weight.background == case_of(kind).background
    assert weight.double_work == pytest.approx(case_of(kind).double_work)


def test_cases_that_share_a_weighing_read_each_of_its_arms_once() -> None:
    shared: dict[str, list[Case]] = {}
    for case in cases():
        if case.shared is not None:
            shared.setdefault(case.weighing, []).append(case)
    assert len(shared) == 10
    for group in shared.values():
        assert len({(case.weighing_seed, case.overrides, case.budget) for case in group}) == 1
        study = read_study(group[0].study, group[0].overrides)
        assert sorted(case.arm or "" for case in group) == sorted(arm.name for arm in study.arms)
    assert len({group[0].weighing_seed for group in shared.values()}) == len(shared)


@pytest.mark.parametrize("kind", KINDS)
def test_the_truth_is_the_products_own(kind: str) -> None:
    case, owed = case_of(kind), 0.08
    owed = owed if case.background else 0.0
    loaded_ns = 1e9 * case.clients / THROUGHPUT / (1 + owed)
    weight = KnownWeight(case.double_work, case.stall_seconds * 1e9, case.background)
    found = truth(weight, np.array([loaded_ns]), np.array([owed]), "throughput")
    percent = 100 * math.expm1(found.estimate.value)
    assert case.truth_percent(THROUGHPUT, owed) == pytest.approx(percent)


def test_debt_is_a_share_of_the_measured_time_under_load() -> None:
    line = {"arm": "a", "kind": "measured", "clients": 8, "busy_ns": 800, "debt_ns": 10}
    slices = [line, {**line, "kind": "warmup", "debt_ns": 99}, {**line, "arm": "b", "debt_ns": 50}]
    assert debt_share(slices, "a") == pytest.approx(0.1)
    assert debt_share([], "a") == 0.0
