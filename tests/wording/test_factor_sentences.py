"""A factorial is said in sentences: what depends on what first, then each factor by itself."""

from __future__ import annotations

from evaluation.factors.planted import laid, made
from steelyard.record.factors import FactorEffects, FactorsPlan
from steelyard.study.factors import Factorial
from steelyard.wording.factor_sentences import alias_sentences, parts_of, sentences


def sentences_of(
    design: Factorial, told: FactorEffects, invalid: tuple[str, ...] = ()
) -> tuple[str, ...]:
    return sentences(told, FactorsPlan.of(design), invalid)


def test_what_depends_is_said_of_the_factor_that_does_next_to_nothing_at_a_level() -> None:
    design = laid(2)
    told = made(
        design,
        {"a": (-2.2, "slower"), "b": (-10.0, "slower"), "a × b": (-3.8, "matters")},
        {"a with cold": -0.3, "a with hot": -4.1, "b with low": -8.0, "b with high": -12.0},
    )
    first, a, b = sentences_of(design, told)
    assert first == (
        "a (high against low) depends on b: −4.10 % [−4.60, −3.60] with hot, −0.30 % "
        "[−0.80, +0.20] with cold; difference −3.80 % [−4.30, −3.30] "
        "(throughput; joint 95 % intervals, 12 epochs)"
    )
    assert a == ("a (high against low) is slower, on average over b: −2.20 % [−2.70, −1.70]")
    assert b.startswith("b (hot against cold) is slower, on average over a: ")
    parts = parts_of(told.effects[2], told)
    assert [(one.factor, one.level) for one in parts] == [("a", "cold"), ("a", "hot")]


def test_the_larger_of_two_that_matter_comes_first() -> None:
    design = laid(3)
    told = made(design, {"a × b": (-3.0, "matters"), "b × c": (7.0, "matters")}, {})
    first, second, *_ = sentences_of(design, told)
    assert "difference +7.00 %" in first
    assert "difference −3.00 %" in second


def test_three_factors_that_interact_are_said_by_their_difference() -> None:
    design = laid(3)
    told = made(design, {"a × b × c": (-6.0, "matters")}, {})
    assert sentences_of(design, told)[0].startswith(
        "the interaction of a and b depends on c: difference −6.00 % [−6.50, −5.50]"
    )
    assert parts_of(told.effects[-1], told) == ()


def test_what_is_small_and_what_is_not_told_are_said_apart() -> None:
    design = laid(3)
    told = made(
        design,
        {
            "a": (0.1, "equivalent"), "b": (0.7, "inconclusive"),
            "a × b": (0.9, "nonzero"), "a × c": (0.4, "inconclusive"),
        },
        {},
        left_out=(3, 7),
    )  # fmt: skip
    words = sentences_of(design, told)
    assert words[0].startswith("a (high against low) is equivalent within ±1 %: +0.10 %")
    assert words[1].startswith("b (hot against cold) is not told: +0.70 %")
    assert words[3:] == (
        "not zero, and not shown to be beyond ±1 %: a × b +0.90 % [+0.40, +1.40]",
        "no interaction beyond ±1 %: b × c +0.10 % [−0.40, +0.60], "
        "a × b × c +0.10 % [−0.40, +0.60]",
        "not told: a × c +0.40 % [−0.10, +0.90]",
        "2 epochs are left out, in which a cell could not be measured",
    )


def test_half_of_the_cells_says_what_it_cannot_tell() -> None:
    design = laid(4, "half")
    told = made(design, {"a × b": (5.0, "matters")}, {})
    words = sentences_of(design, told)
    assert ", or c on d, which half of the cells cannot tell" in words[0]
    assert words[-1].startswith("half of the cells cannot tell a from b × c × d, ")
    assert words[-1].endswith("a × d from b × c")
    assert list(alias_sentences(FactorsPlan.of(laid(3)))) == []


def test_an_invalid_weighing_says_nothing_of_effects() -> None:
    design = laid(2)
    words = sentences_of(design, made(design, {}, {}), ("balance's ledger", "unequal drops"))
    assert words == (
        "invalid: nothing can be said of the effects: balance's ledger, unequal drops",
    )
