"""An option that is a size or a duration says so where its unit was forgotten."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.cli.command_line import load_command
from steelyard.cli.commands import COMMANDS
from steelyard.cli.options.sizes import finite, require_unit, size_option
from steelyard.model.errors import UsageError
from thinned import thinned


@thinned(
    ("words", "said"),
    [
        (("tune", "--memory", "8"), "--memory 8 has no unit: 8GB?"),
        (("tune", "--memory", "8192"), "--memory 8192 has no unit: 8192MB, 8192GB?"),
        (("tune", "--memory", "1023"), "--memory 1023 has no unit: 1023GB?"),
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
    3,
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


@pytest.mark.parametrize("number", ["nan", "-nan", "inf", "Infinity", "1e10", "1e400"])
@thinned(
    "words",
    [
        ("drive", "-S", "-T"),
        ("drive", "-S", "-R"),
        ("drive", "-S", "-L"),
        ("drive", "-S", "-P"),
        ("drive", "-S", "-l", "--sampling-rate"),
        ("drive", "-w", "ours", "--pace"),
        ("weigh", "aa", "--pace"),
        ("doctor", "--seconds"),
        ("judge", "a.csv", "--clients"),
        ("probe", "--seconds"),
        ("fleet", "check", "--machines", "2", "-T"),
    ],
    2,
    ids=" ".join,
)
def test_a_number_that_is_none_or_has_no_end_is_refused_by_its_option(
    refused: Callable[..., str], words: tuple[str, ...], number: str
) -> None:
    shown = refused(*words, number)
    assert f'invalid value for "{words[-1]}"' in shown


def _numbers(command: object) -> Iterator[tuple[str, object]]:
    """Name and callback of every option of a command, or of those of a group, that is a number."""
    for inner in getattr(command, "commands", {}).values():
        yield from _numbers(inner)
    function = getattr(command, "callback", None)
    hints = {} if function is None else get_type_hints(inspect.unwrap(function), None, None, True)
    for name, hint in hints.items():
        if float in (*get_args(hint)[:1], *(get_args(get_args(hint)[0]) if get_args(hint) else ())):
            yield name, getattr(hint.__metadata__[0], "callback", None)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_that_is_a_number_refuses_what_is_none(name: str) -> None:
    assert {called for _, called in _numbers(load_command(name))} <= {finite}


def test_there_are_such_options() -> None:
    numbers = [number for name in COMMANDS for number in _numbers(load_command(name))]
    assert {"seconds", "rate", "pace", "clients", "progress"} <= {name for name, _ in numbers}
