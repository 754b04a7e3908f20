"""Keeps what repeated studies have read, and writes their pages: docs/reproductions/NAME.md.

    python -m validation.reproductions [FOLDER ...]

A FOLDER is what `steelyard reproduce NAME` left; its steps take the place of those that were kept
in results/reproductions.jsonl, a line a step. Without one only the pages are written.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.cli.views.reproductions.page import Found, claim_row, page, row
from steelyard.cli.weighing.reproduce import REPRODUCE_FILE, completed_outcomes
from steelyard.record.sweep import Swept
from steelyard.record.verdict import Verdict
from steelyard.reproductions.reproduction import (
    Reproduction,
    claim_names,
    machines_words,
    names,
    read_reproduction,
)
from validation.pages import folded, theirs_and_ours
from validation.pages import table as pages
from validation.results import FOLDER, Results
from validation.weigh_command import environment_of, machine_of

RESULTS = Results(FOLDER / "reproductions.jsonl")
PAGES = Path(__file__).parents[1] / "docs" / "reproductions"
README = PAGES / "README.md"
CONTRASTS = "arm against control"
FORM = folded.Form(
    most_cells=8,
    by_topic=True,
    stay=("",),
    leave=("doubt", CONTRASTS, "requests by the second"),
)
_OF_EFFECTS = "\n| effect | change |"
_DOUBTS = re.compile(r"^Doubts: \d+\n\n((?:- \*\*.*\n)+)", re.MULTILINE)
_TOOK = re.compile(r"^(Took [^:;\n]*)[^;\n]*(; seed \d+\.) Repeat:\n\n```\n.*\n```\n", re.MULTILINE)
BEGIN, END = "<!-- repeated -->", "<!-- /repeated -->"
_MACHINE = re.compile(r"^- \d+ processors? \([^)]*\), \d+ GB of memory; ", re.MULTILINE)
"""Of one step; the head of the page has those of all."""
CHECKOUT = re.compile(r"""(?<![^\s"'=])/(?:[^\s"']*/)?(?=python/steelyard/)""")
"""Where a checkout stood, before a file of it."""
HEAD = (
    "| study | the claim | our reading (throughput unless said) | their design could tell |",
    "|---|---|---|---|",
)

PICTURE = PAGES.parent / "pictures" / "theirs-and-ours.svg"
CLAIMS = PAGES / "claims.md"
CLAIMS_HEAD = """\
# Claims that are cited, repeated

Single figures that people decide by. Each was judged first, by its design alone: how often each
side was run, and with what interval. Then comes the command that repeats it as far as a machine of
two processors can, and its reading here, once it was weighed on a quiet machine; of the rest, why
it cannot be told here. `steelyard reproduce` lists them, and with a name prints all that was
published of one. This page is written by `python -m validation.reproductions`.

| claim | figures | its design | ours | our reading (throughput unless said) |
|---|---|---|---|---|"""


def take(folder: Path) -> None:
    """Keep every complete step of a repetition."""
    name = json.loads((folder / REPRODUCE_FILE).read_text(encoding="utf-8"))["name"]
    for step, verdict in completed_outcomes(folder, read_reproduction(name)).items():
        machine = machine_of(environment_of(folder / step))
        RESULTS.replace(f"{name}/{step}", {"machine": machine, **result_of(verdict)})


def result_of(outcome: Verdict | Swept) -> dict[str, Any]:
    """The result of a step: its verdict, with paths of files relative to the checkout that it was
    weighed from, and with the name of its record alone."""
    document = json.loads(CHECKOUT.sub("", json.dumps(outcome.to_json())))
    if "record" in document:
        document["record"] = Path(document["record"]).name
    return {"swept" if isinstance(outcome, Swept) else "verdict": document}


def text_of(study: Reproduction, results: Results) -> str:
    """The page of a study from what was kept."""
    lines = _lines(study, results)
    machines = machines_words(line["machine"] for line in lines.values())
    return page(study, _outcomes_of(lines), machines)


def files(study: Reproduction, results: Results) -> dict[Path, str]:
    """The page of a study and its tables; what was seen of each doubt is a table too. The commands
    of single steps are left out: `steelyard reproduce NAME --only STEP` does the same."""
    text = _MACHINE.sub("- ", text_of(study, results))
    text = _TOOK.sub(r"\1\2\n", _DOUBTS.sub(_as_table, text))
    return folded.files_of(PAGES / f"{study.name}.md", text, _form(text))


def _form(text: str) -> folded.Form:
    """The sentences above a table of contrasts say them all, but those about effects say none."""
    return replace(FORM, stay=("", CONTRASTS)) if _OF_EFFECTS in text else FORM


def _as_table(match: re.Match[str]) -> str:
    doubts = re.findall(r"^- \*\*(.*?)\*\*: (.*)$", match[1], re.MULTILINE)
    titles = ", ".join(dict.fromkeys(name for name, _ in doubts))
    return f"Doubts: {titles}\n\n" + pages.table(["doubt", "seen"], doubts) + "\n"


def table(results: Results) -> str:
    """Every study in a row."""
    studies = map(read_reproduction, names())
    rows = [row(study, _outcomes_of(_lines(study, results))) for study in studies]
    return "\n".join([*HEAD, *rows])


def claims_page(results: Results) -> str:
    """Every claim in a row."""
    claims = map(read_reproduction, claim_names())
    rows = [claim_row(claim, _outcomes_of(_lines(claim, results))) for claim in claims]
    return "\n".join([CLAIMS_HEAD, *rows]) + "\n"


def picture(results: Results) -> str:
    """Every published effect that can be compared, beside ours: an SVG file's text."""
    studies = map(read_reproduction, (*names(), *claim_names()))
    return theirs_and_ours.picture(
        theirs_and_ours.rows_of((study, _outcomes_of(_lines(study, results))) for study in studies)
    )


def with_table(text: str, results: Results) -> str:
    """The README with the table as it is now."""
    before, _, after = text.partition(BEGIN)
    _, _, after = after.partition(END)
    return f"{before}{BEGIN}\n{table(results)}\n{END}{after}"


def _lines(study: Reproduction, results: Results) -> dict[str, Mapping[str, Any]]:
    """Step → what was kept of it."""
    lines = {result["key"]: result for result in results}
    return {
        step.name: lines[key]
        for step in study.steps
        if (key := f"{study.name}/{step.name}") in lines
    }


def _outcomes_of(lines: Mapping[str, Mapping[str, Any]]) -> Found:
    return {name: outcome_of(line) for name, line in lines.items()}


def outcome_of(line: Mapping[str, Any]) -> Verdict | Swept:
    """The outcome of which `result_of` made this line."""
    if "swept" in line:
        return Swept.of_json(line["swept"], line["key"])
    return Verdict.of_json(line["verdict"], line["key"])


def main() -> int:
    """Keep what was named, and write every page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path)
    for folder in parser.parse_args().folders:
        take(folder)
    for name in names():
        folded.write(files(read_reproduction(name), RESULTS))
    PICTURE.write_text(picture(RESULTS), encoding="utf-8")
    CLAIMS.write_text(claims_page(RESULTS), encoding="utf-8")
    README.write_text(with_table(README.read_text(encoding="utf-8"), RESULTS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
