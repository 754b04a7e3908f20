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

from steelyard.model.errors import SteelyardError


def judge_bytes(content: bytes) -> None:
    """Read bytes in every way they may be meant, and judge what comes of it."""
    from steelyard.foreign.comparison import Options, compare
    from steelyard.foreign.formats import format_names, read_sheet
    from steelyard.foreign.judgement.judge_numbers import judge_numbers
    from steelyard.foreign.source import source_of

    with contextlib.suppress(SteelyardError):
        source = source_of(content, "f")
        for form in (None, *format_names()):
            with contextlib.suppress(SteelyardError):
                sheet = read_sheet(source, form)
                pair = [("a", sheet), ("b", sheet)]
                for arms in ([(None, sheet)], pair):
                    with contextlib.suppress(SteelyardError):
                        options = Options(higher_is_better=True, clients=8)
                        judge_numbers(compare(arms, options)).to_json()


def main() -> None:
    """Fuzz; the arguments are libFuzzer's."""
    atheris = importlib.import_module("atheris")  # where types are checked it is not there

    with atheris.instrument_imports(include=["steelyard.foreign", "json"]):
        import steelyard.foreign.comparison
        import steelyard.foreign.formats  # noqa: F401
    # Arithmetic that goes astray is a finding too.
    warnings.simplefilter("error", RuntimeWarning)
    atheris.Setup(sys.argv, judge_bytes)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
