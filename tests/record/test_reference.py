"""The page on the record says what the code says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from thinned import thinned

ROOT = Path(__file__).parents[2]


@thinned(("options", "name"), [((), "record.md"), (("--schema",), "record.schema.json")], 1)
def test_the_page_on_the_record_and_its_schema_are_generated_from_its_models(
    options: tuple[str, ...], name: str
) -> None:
    made = subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "record_reference.py"), *options],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    kept = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    words = " ".join([".ci/record_reference.py", *options])
    assert kept == made.stdout, f"use .venv/bin/python {words} > docs/reference/{name}"


def test_the_schema_defines_every_file_of_a_record() -> None:
    schema = json.loads((ROOT / "docs/reference/record.schema.json").read_text(encoding="utf-8"))
    assert {"Plan", "Environment", "SliceLine", "Verdict"} <= schema["$defs"].keys()
