"""Weighs the built-in studies, and keeps what was read: the table of docs/reference/studies.md.

    python -m validation.questions [--records DIR] [--only NAME] [--budget TIME] [--page]

Every weighing is a command that a user would give, with a fixed seed; its result is a line of
results/questions.jsonl, and what has its line is not weighed again. A study whose arms cannot be
had here keeps the words of its refusal. With --budget it is a trial: told, and not kept. At the end
the table is written. Wants an otherwise idle machine: an hour and a half, two thirds in turns.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.study.read import builtin_studies
from validation.causes import RESULTS as CAUSES
from validation.pages.questions import page_with_table
from validation.results import FOLDER, Results
from validation.weigh_command import STEELYARD, machine_of, revision

RESULTS = Results(FOLDER / "questions.jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "reference" / "studies.md"
SEED = 16
ASKED_OF_A_USER = (
    *("addresses", "builds", "calibrate", "queries", "sessions", "settings"),
    "page-verify-sqlserver",
)
"""Studies whose arms or servers a user names, or that have no answer of their own."""
_OF_15 = ("--set", "control.version=15", "--set", "arm.version=15")
_OF_NPM = ("--set", "control.version=npm-18.4", "--set", "arm.version=npm-18.4")
WORDS: Mapping[str, Sequence[str]] = {
    "jit": _OF_15,
    "default-toast-compression": _OF_15,
    "ssl": _OF_NPM,
    "autovacuum": ("--budget", "35m"),
    "versions": ("--set", "layout=slices", "--budget", "5m"),
}
"""What is said besides the study's name, where its own arms cannot be had on the machine that the
table is of, or would take long."""
_OF_A_CONTRAST = ("arm", "control", "estimate_percent", "low_percent", "high_percent", "verdict")
_WRONG, _FAILED = 2, 3


def names() -> list[str]:
    """The studies that are weighed here."""
    return [name for name in builtin_studies() if name not in ASKED_OF_A_USER]


def result_of(verdict: Mapping[str, Any], environment: Mapping[str, Any]) -> dict[str, Any]:
    """The result to write down, from a verdict and its environment."""
    return {
        "contrasts": [
            {key: contrast[key] for key in _OF_A_CONTRAST} for contrast in verdict["contrasts"]
        ],
        "threats": sorted(
            {t["name"] for contrast in verdict["contrasts"] for t in contrast["threats"]}
        ),
        "flips": [flip for plan in verdict.get("plans", ()) for flip in plan["flips"]],
        "layout": verdict["layout"],
        "sentence": verdict["sentence"],
        "seconds": verdict["whole_seconds"],
        "machine": machine_of(environment),
    }


def refusal(stderr: str) -> str:
    """The primary line of an error, without the words that every error begins with."""
    lines = [line for line in stderr.splitlines() if line.lower().startswith("error: ")]
    return (lines[-1] if lines else stderr.strip().splitlines()[-1])[len("error: ") :]


def weigh(name: str, records: Path, more: Sequence[str] = ()) -> dict[str, Any]:
    """Run one weighing and return its result or its refusal. SystemExit: it failed otherwise."""
    arguments = [name, *WORDS.get(name, ()), *more, "--seed", str(SEED)]
    record = records / name / "record"
    command: list[str | Path] = [STEELYARD, "weigh", *arguments, "--json", "--record", record]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    facts: dict[str, Any] = {"words": arguments, "revision": revision()}
    if done.returncode in (_WRONG, _FAILED):
        return {**facts, "refused": refusal(done.stderr)}
    if done.returncode != 0:
        raise SystemExit(f"error: {name} ended with {done.returncode}\n{done.stderr[-2000:]}")
    environment = json.loads((record / "environment.json").read_text())
    return {**facts, **result_of(json.loads(done.stdout), environment)}


def all_results() -> list[dict[str, Any]]:
    """Every result: what was weighed for its cause is an answer too, until it is weighed here."""
    return [*CAUSES, *RESULTS]


def main() -> int:
    """Weigh what has no result yet, and write the table."""
    parser = argparse.ArgumentParser(description="the built-in studies, answered; resumable")
    parser.add_argument("--records", type=Path, default=Path("records/questions"))
    parser.add_argument("--only", choices=names(), default=None)
    parser.add_argument("--budget", default=None, help="a trial of this length: told, not kept")
    parser.add_argument("--page", action="store_true", help="only write the table")
    options = parser.parse_args()
    done = set() if options.budget else RESULTS.answered_keys()
    for name in () if options.page else names():
        if name in done or options.only not in (None, name):
            continue
        result = weigh(
            name, options.records, ("--budget", options.budget) if options.budget else ()
        )
        if not options.budget:
            RESULTS.add(name, result)
        print(f"{name}: {result.get('sentence') or result['refused']}", flush=True)
    text = page_with_table(PAGE.read_text(encoding="utf-8"), all_results())
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
