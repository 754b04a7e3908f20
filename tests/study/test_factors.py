"""Factors make cells: whole or half of them, with effects whose weights are a textbook's."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.model.errors import StudyError
from steelyard.study.factors import Factorial, factorial
from steelyard.study.read import read_recorded_study, read_study, write_study

A, B, C, D = ("low", "high"), ("cold", "hot"), ("dry", "wet"), ("day", "night")
THREE = {"a": A, "b": B, "c": C}
FOUR = {**THREE, "d": D}
STUDY = """
title = "t?"
question = "q?"
[factors.checksums]
bare = { checksums = false }
checked = { checksums = true }
[factors.images]
images = { settings = { full_page_writes = "on" } }
none = { settings = { full_page_writes = false } }
[control]
version = "16"
settings = { work_mem = "8MB", wal_compression = "pglz" }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(STUDY)
    return path


def matrix(laid: Factorial) -> Any:
    return np.array([[one.weights[cell.arm] for cell in laid.cells] for one in laid.effects])


def test_cells_are_arms_in_standard_order_and_the_first_is_the_control(file: Path) -> None:
    study = read_study(str(file))
    assert [arm.name for arm in study.every_arm] == [
        "bare+images", "bare+none", "checked+images", "checked+none"
    ]  # fmt: skip
    assert [arm.checksums for arm in study.every_arm] == [False, False, True, True]
    said = [arm.settings["full_page_writes"] for arm in study.every_arm]
    assert said == ["on", "off", "on", "off"]
    assert {arm.version for arm in study.every_arm} == {"16"}
    assert {arm.settings["wal_compression"] for arm in study.every_arm} == {"pglz"}
    assert study.decision.judged == "separately"


def test_a_level_may_set_what_all_cells_have_otherwise(file: Path) -> None:
    file.write_text(STUDY.replace("{ work_mem", '{ full_page_writes = "off", work_mem'))
    assert read_study(str(file)).control.settings["full_page_writes"] == "on"


@pytest.mark.parametrize(
    ("override", "factor"),
    [
        ("control.checksums=true", "checksums"),
        ("control.settings.Full_Page_Writes=off", "images"),
        ("control.version=17", "build"),
        ("version=17", "build"),
        ("control.weight.double_work=3%", "load"),
    ],
)
def test_an_override_of_all_cells_that_a_factor_takes_back_is_refused(
    file: Path, override: str, factor: str
) -> None:
    """As is the same override of `settings`: it changed nothing, and nothing was said."""
    more = """
[factors.build]
old = { version = 16 }
new = { version = 18 }
[factors.load]
light = { weight = { double_work = "1%" } }
heavy = { weight = { double_work = "5%" } }
"""
    file.write_text(STUDY.replace("[control]", f"{more}[control]"))
    with pytest.raises(StudyError, match=f"no effect: both levels of factor {factor}") as refused:
        read_study(str(file), ["fraction=half", override])
    assert f"--set factors.{factor}." in str(refused.value.hint)


def test_an_override_that_only_one_level_takes_back_reaches_the_other(file: Path) -> None:
    level = "version = 16"
    file.write_text(STUDY.replace("[control]", THIRD.replace("THIRD", level) + "[control]"))
    study = read_study(str(file), ["version=17"])
    assert [arm.version for arm in study.every_arm] == ["17", "16"] * 4


def test_an_override_reaches_all_cells_or_those_of_a_level(file: Path) -> None:
    study = read_study(
        str(file),
        ["control.settings.work_mem=1MB", "factors.checksums.checked.settings.jit=off"],
    )
    assert {arm.settings["work_mem"] for arm in study.every_arm} == {"1MB"}
    assert ["jit" in arm.settings for arm in study.every_arm] == [False, False, True, True]


def test_levels_that_two_factors_have_stand_behind_their_factor() -> None:
    laid = factorial({"one": ("off", "on"), "two": ("off", "on"), "three": ("x", "y")}, "full")
    assert laid.cells[0].arm == "one-off+two-off+x"
    assert laid.cells[-1].arm == "one-on+two-on+y"


def test_a_study_with_its_cells_is_read_back_unchanged(file: Path, tmp_path: Path) -> None:
    study = read_study(str(file))
    again = tmp_path / "study.toml"
    again.write_text(write_study(study).replace('name = "mine"', 'name = "mine"', 1))
    assert read_study(str(again)) == study


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["factors.checksums.third.checksums=true"], "a factor has two levels, not 3"),
        (["fraction=half"], "half a factorial has at least 3 factors, not 2"),
        (["fraction=third"], 'invalid value for "fraction"'),
        (["decision.judged=jointly"], "effects are judged once, at the end"),
        (["decision.open_ended=true"], "judged separately are judged once"),
        (["arm.settings.jit=off"], "factors make the arms: set control.KEY"),
        (["control.name=mine"], "cells are named by their levels"),
        (["factors.checksums.checked.setings.jit=off"], "checked.setings"),
        (["factors.images=3"], "a factor is a table of two levels"),
        (
            ["factors.checksums.checked.settings.full_page_writes=on"],
            '"settings.full_page_writes" is set by factor "checksums" too',
        ),
        (["factors.checksums.checked.checksums=false"], "both levels are the same"),
    ],
)
def test_what_makes_no_factorial_is_refused_by_its_key(
    file: Path, overrides: list[str], said: str
) -> None:
    with pytest.raises(StudyError) as caught:
        read_study(str(file), overrides)
    assert said in str(caught.value)


THIRD = """
[factors.third]
without = {}
with = { THIRD }
"""


@pytest.mark.parametrize("fraction", ["full", "half"])
@pytest.mark.parametrize(
    ("level", "changes", "refused"),
    [
        ('settings = { work_mem = "8MB" }', [], True),
        ('settings = { work_mem = "8MB" }', ["control.settings.work_mem=4MB"], False),
        ("settings = { jit = true }", ["settings.jit=on"], True),
        ("settings = { jit = true }", ["settings.jit=off"], False),
        ("settings = { jit = true }", [], False),
        ("version = 16", [], True),
        ("version = 16", ["control.version=17"], False),
        ("telemetry = true", [], True),
        ("telemetry = false", [], False),
        ('weight = { double_work = "0%" }', [], True),
        ('weight = { double_work = "3%" }', [], False),
        ('profile = "ours"', [], False),
    ],
)
def test_a_factor_whose_levels_come_to_the_same_is_refused(
    file: Path, level: str, changes: list[str], refused: bool, fraction: str
) -> None:
    """Its effect would be read from equal arms, and said to be none."""
    file.write_text(STUDY.replace("[control]", THIRD.replace("THIRD", level) + "[control]"))
    changes = [*changes, f"fraction={fraction}"]
    if not refused:
        assert read_study(str(file), changes).factorial is not None
        return
    with pytest.raises(StudyError, match=r"factors\.third: both levels come to the same"):
        read_study(str(file), changes)


def test_the_study_of_a_record_whose_factor_does_nothing_is_still_read(file: Path) -> None:
    level = 'settings = { jit = "on" }'
    file.write_text(STUDY.replace("[control]", THIRD.replace("THIRD", level) + "[control]"))
    text = write_study(read_study(str(file)))
    file.write_text(text.replace("[settings]", '[settings]\njit = "on"'))
    assert read_recorded_study(file).settings["jit"] == "on"


def test_a_near_key_of_a_level_is_suggested(file: Path) -> None:
    with pytest.raises(StudyError) as caught:
        read_study(str(file), ["factors.checksums.checked.setings.jit=off"])
    assert 'Perhaps you meant "settings".' in str(caught.value)


def test_the_cells_of_a_record_are_not_changed_one_by_one(file: Path) -> None:
    again = file.parent / "study.toml"
    again.write_text(write_study(read_study(str(file))))
    for override in ("control.settings.jit=off", "fraction=full", "arm.bare+none.checksums=true"):
        with pytest.raises(StudyError, match="laid out already"):
            read_study(str(again), [override])
    assert read_study(str(again), ["workload.scale=3"]).workload.scale == 3


def test_arms_beside_factors_are_refused(file: Path) -> None:
    for more in ("[arm]\nchecksums = true\n", '[[arm]]\nname = "x"\n[[arm]]\nname = "y"\n'):
        file.write_text(STUDY + more)
        with pytest.raises(StudyError, match="factors make the arms"):
            read_study(str(file))
    file.write_text(STUDY.replace("[control]", '[control]\nname = "x"') + '[arm]\nname = "y"\n')
    with pytest.raises(StudyError, match="make the arms themselves"):
        read_study(str(file))


def test_a_fraction_without_factors_is_refused() -> None:
    with pytest.raises(StudyError, match="there are none"):
        read_study("aa", ["fraction=half"])


@pytest.mark.parametrize(
    ("count", "fraction", "said"),
    [
        (1, "full", "at least 2 factors, not 1"),
        (4, "full", '16 cells are more than the 8 that can be weighed; fraction = "half" makes 8'),
        (5, "half", "16 cells are more than the 8"),
    ],
)
def test_too_few_and_too_many_cells_are_refused(count: int, fraction: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        factorial({f"f{n}": (f"a{n}", f"b{n}") for n in range(count)}, fraction)


@pytest.mark.parametrize(
    ("levels", "fraction", "cells", "effects"),
    [
        ({"a": A, "b": B}, "full", 4, 3),
        (THREE, "full", 8, 7),
        (THREE, "half", 4, 3),
        (FOUR, "half", 8, 7),
    ],
)
def test_effects_are_as_many_as_cells_allow_and_share_nothing(
    levels: Any, fraction: Any, cells: int, effects: int
) -> None:
    laid = factorial(levels, fraction)
    weights = matrix(laid)
    assert weights.shape == (effects, cells)
    assert np.allclose(weights.sum(axis=1), 0)
    products = weights @ weights.T
    assert np.allclose(products, np.diag(np.diag(products)))


@pytest.mark.parametrize("fraction", ["full", "half"])
def test_an_effect_reads_what_was_planted_alone(fraction: Any) -> None:
    """A slow textbook: add up what levels do, cell by cell, and subtract means."""
    laid = factorial(THREE, fraction)
    for place, factor in enumerate(THREE):
        y = {cell.arm: 0.3 * (cell.levels[factor] == THREE[factor][1]) for cell in laid.cells}
        read = [sum(one.weights[arm] * y[arm] for arm in y) for one in laid.effects]
        assert read == pytest.approx([0.3 * (n == place) for n in range(len(read))])


def test_an_interaction_is_the_effect_of_one_with_the_other_less_that_without() -> None:
    laid = factorial({"a": A, "b": B}, "full")
    y = dict(zip((cell.arm for cell in laid.cells), (1.0, 4.0, 2.0, 9.0), strict=True))
    read = {one.factors: sum(one.weights[arm] * y[arm] for arm in y) for one in laid.effects}
    assert read == {("a",): (2 + 9) / 2 - (1 + 4) / 2, ("b",): 6.5 - 1.5, ("a", "b"): 7 - 3}
    simple = {
        (one.factor, one.level): sum(one.weights[arm] * y[arm] for arm in y)
        for one in laid.simple_effects
    }
    assert simple == {("a", "cold"): 1, ("a", "hot"): 5, ("b", "low"): 3, ("b", "high"): 7}


def test_three_factors_interact_as_two_do_with_the_third_less_without() -> None:
    laid = factorial(THREE, "full")
    y = {cell.arm: 1.0 if list(cell.levels.values()) == ["high", "hot", "wet"] else 0.0
         for cell in laid.cells}  # fmt: skip
    read = {one.factors: sum(one.weights[arm] * y[arm] for arm in y) for one in laid.effects}
    assert read["a", "b", "c"] == 1.0
    assert read["a", "b"] == 0.5
    assert read["a",] == 0.25


def test_a_half_keeps_the_control_and_names_every_alias() -> None:
    three, four = factorial(THREE, "half"), factorial(FOUR, "half")
    assert three.cells[0].arm == "low+cold+dry"
    assert {one.factors: one.aliases for one in three.effects} == {
        ("a",): (("b", "c"),), ("b",): (("a", "c"),), ("c",): (("a", "b"),)
    }  # fmt: skip
    assert three.simple_effects == ()
    assert [one.factors for one in four.effects if len(one.factors) == 2] == [
        ("a", "b"), ("a", "c"), ("a", "d")
    ]  # fmt: skip
    assert four.effects[4].aliases == (("c", "d"),)
    # An alias is what the same contrast would read: at every cell their signs agree, or never do.
    for laid in (three, four):
        for one in laid.effects:
            for alias in one.aliases:
                signs = {
                    np.sign(one.weights[cell.arm]) * np.prod(
                        [1 if cell.levels[name] == laid.levels[name][1] else -1 for name in alias]
                    )
                    for cell in laid.cells
                }  # fmt: skip
                assert len(signs) == 1


def test_every_pair_of_factors_has_a_simple_effect_at_each_level() -> None:
    for laid, pairs in ((factorial(THREE, "full"), 3), (factorial(FOUR, "half"), 6)):
        seen = {(one.factor, one.by, one.level) for one in laid.simple_effects}
        assert len(seen) == len(laid.simple_effects) == pairs * 4
        for one in laid.simple_effects:
            at = {arm for arm, weight in one.weights.items() if weight}
            assert {cell.levels[one.by] for cell in laid.cells if cell.arm in at} == {one.level}
            assert sum(map(abs, one.weights.values())) == pytest.approx(2)


def test_every_combination_is_a_cell_of_the_full_factorial() -> None:
    laid = factorial(THREE, "full")
    assert [tuple(cell.levels.values()) for cell in laid.cells] == list(product(A, B, C))
