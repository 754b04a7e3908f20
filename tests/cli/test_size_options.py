"""An option that is a size or a duration says so where its unit was forgotten."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.cli.options.sizes import require_unit, size_option
from steelyard.model.errors import UsageError


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tune", "--memory", "8"), "--memory 8 has no unit: 8GB?"),
        (("tune", "--memory", "0.5"), "--memory 0.5 has no unit: 0.5GB?"),
        (("tune", "--data", "100"), "--data 100 has no unit: 100GB?"),
        (("tune", "--disk", "50"), "--disk 50 has no unit: 50GB?"),
        (("tune", "--ablate", "--memory", "2"), "--memory 2 has no unit: 2GB?"),
        (("tune", "--search", "--memory", "2"), "--memory 2 has no unit: 2GB?"),
        (("tune", "--ablate", "--budget", "30"), "--budget 30 has no unit: 30s, 30m?"),
        (("probe", ".", "--size", "500"), "--size 500 has no unit: 500MB?"),
        (("scrub", ".", "--max-rate", "200"), "--max-rate 200 has no unit: 200MB?"),
        (("scrub", ".", "--max-rate", "200/s"), "--max-rate 200 has no unit: 200MB?"),
        (("weigh", "checksums", "--budget", "30"), "--budget 30 has no unit: 30s, 30m?"),
        (
            ("weigh", "checksums", "--set", "budget.measuring=30"),
            'invalid value for "budget.measuring": 30 has no unit: 30s, 30m',
        ),
        (
            ("weigh", "checksums", "--set", "decision.margin=1"),
            'invalid value for "decision.margin": 1 has no unit: 1%',
        ),
        (
            ("weigh", "checksums", "--set", "memory=8"),
            'invalid value for "memory": 8 has no unit: 8MB, 8GB',
        ),
        (
            ("workloads", "capture", "--listen", "1", "--to", "host=x", "--for", "10", "-o", "x"),
            "--for 10 has no unit: 10s, 10m?",
        ),
        (("drive", "-c", "8k"), 'invalid value for "-c" / "--client": a whole number alone'),
        (("drive", "-T", "5s"), 'invalid value for "-T" / "--time": a number alone, without a'),
    ],
)
def test_a_value_whose_unit_was_forgotten_is_refused_with_the_likely_one(
    refused: Callable[..., str], words: tuple[str, ...], said: str
) -> None:
    assert said in refused(*words)


@given(st.integers(1, 10**15), st.sampled_from(("GB", "MB", "s")))
def test_no_bare_number_but_zero_is_taken_for_a_size(number: int, unit: str) -> None:
    with pytest.raises(UsageError, match=rf"--x {number} has no unit: {number}{unit}\?"):
        require_unit("--x", str(number), unit)
    require_unit("--x", f"{number}{unit}", unit)
    assert size_option("--memory", f"{number}kB") == number << 10


def test_zero_needs_no_unit_and_an_option_that_was_not_given_has_no_value() -> None:
    require_unit("--max-rate", "0", "MB")
    assert size_option("--memory", None) is None
