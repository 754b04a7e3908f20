"""Fuzzes the readers of `steelyard judge` with coverage: any bytes end in a judgement or our error.

Needs `pip install atheris` (not a dependency: no test needs it), and runs until it is stopped:

    .venv/bin/python -m validation.fuzz_readers -max_total_time=60 CORPUS_DIRECTORY

A finding is an exception that is no SteelyardError; libFuzzer keeps its input. The real outputs in
tests/golden/numbers are good seeds: name the directory as a second one.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import warnings

from steelyard.errors import SteelyardError


def judge_bytes(content: bytes) -> None:
    """Read bytes in every way they may be meant, and judge what comes of it."""
    from steelyard.readings.foreign.comparison import Asked, compare
    from steelyard.readings.foreign.formats import FORMATS, read_sheet
    from steelyard.readings.foreign.source import source_of
    from steelyard.verdict.judge_numbers import judge_numbers

    with contextlib.suppress(SteelyardError):
        source = source_of(content, "f")
        for form in (None, *FORMATS):
            with contextlib.suppress(SteelyardError):
                sheet = read_sheet(source, form)
                named = [("a", sheet), ("b", sheet)]
                for arms in ([(None, sheet)], named):
                    with contextlib.suppress(SteelyardError):
                        asked = Asked(higher_is_better=True, clients=8)
                        judge_numbers(compare(arms, asked)).to_json()


def main() -> None:
    """Fuzz; the arguments are libFuzzer's."""
    atheris = importlib.import_module("atheris")  # where types are checked it is not there

    with atheris.instrument_imports(include=["steelyard.readings.foreign", "json"]):
        import steelyard.readings.foreign.comparison
        import steelyard.readings.foreign.formats  # noqa: F401
    # Arithmetic that goes astray is a finding too.
    warnings.simplefilter("error", RuntimeWarning)
    atheris.Setup(sys.argv, judge_bytes)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
