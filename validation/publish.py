"""Writes docs/results/validation.md from the results: `python -m validation.publish`.

The few figures that docs/method/ quotes are written anew with it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from validation.pages import (
    alternated,
    compared,
    covaried,
    cycled,
    digest,
    folded,
    judged,
    killed,
    lived,
    paired,
    pooled,
    rates,
    raylet,
    replayed,
    searched,
    settled,
    shares,
    simulated,
    turned,
)
from validation.pages.shares import Simulated
from validation.pages.table import paragraph
from validation.results import FOLDER, Results
from validation.suites import SUITES
from validation.traces import FOLDER as TRACES
from validation.traces import traces
from validation.worlds.atlas import WORLDS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "results" / "validation.md"
FORM = folded.Form(most_cells=36, apart=True, leave=("kind", "% of weighings that raise it"))
METHOD = ROOT / "docs" / "method"

_HEAD = """
    A verdict is worth its error rate. This page is written by `python -m validation.publish` from
    `validation/results/`; nothing on it was typed. [METHODOLOGY.md](../../METHODOLOGY.md) says what
    the method is and why, [BIAS.md](../../BIAS.md) how it could still be wrong.

    A share is given in percent with its exact 95 % interval (Clopper & Pearson 1934): `3.9 [3.1,
    4.8]`. A bound counts as missed only where the whole interval lies beyond it. A cell of 2,000
    weighings tells 5 % from about 6.5 %, not from 5.5 %, and the worst of many cells lies above its
    own truth; many cells share one draw.
"""
_SHORT = """
    In simulated weighings of N = 8 to 30 epochs (open-ended: 10, and up to 100). The assumption of
    the method is that nothing but the treatment is tied to an arm; {holding} worlds keep it,
    {breaking} break it on purpose.
"""
_REPEAT = """
    `make validate` does everything on this page that needs no server, on all processors; it can be
    stopped at any time and goes on where it was (`make validate ARGS="--most-seconds 60"`).
    `make validate-live` weighs on real servers: hours, three of them cycles and turns in
    alternation (`-m validation.alternated`). `.venv/bin/python -m validation.kills` and
    `-m validation.raylet` need Ray: an hour and half an hour. `-m validation.traces RECORDS…`
    makes traces of the records that live weighings leave, and `-m validation.paired_pgbench`
    and `-m validation.pools_by_hand` measure the last two sections; `-m validation.searches`
    simulates searches, `-m validation.races` rounds of `tune --search`.
"""


def page(folder: Path = FOLDER, traced: Path = TRACES) -> str:
    """The whole page."""
    results = {name: Results(folder / f"{name}.jsonl") for name in _FILES}
    every = Simulated.read(results["simulation"], results["alarms"])
    parts = [
        "# Validation: how often Steelyard is wrong",
        paragraph(_HEAD).strip(),
        "## In short",
        _short(every, results),
        simulated.section(every),
        turned.section(results["turns"]),
        cycled.section(results["cycles"]),
        rates.section(results["capacity"]),
        settled.section(results["settling"]),
        replayed.control_section(results["controls"]),
        replayed.replay_section(results["replay"], traces(traced)),
        covaried.section(results["covariates"]),
        compared.section(results["comparison"]),
        judged.section(results["judge"]),
        lived.section(results["live"]),
        alternated.section(results["alternated"], results["by_hand"]),
        killed.section(results["kills"]),
        raylet.section(results["raylet"]),
        searched.section(results["searches"]),
        paired.section(results["paired_pgbench"]),
        pooled.section(results["pools_by_hand"]),
        "## How to repeat this",
        paragraph(_REPEAT).strip(),
    ]
    return "\n\n".join(parts) + "\n"


def files() -> dict[Path, str]:
    """The page, a page a section, and their tables."""
    return folded.files_of(PAGE, page(), FORM)


def methodology(folder: Path = FOLDER) -> dict[Path, str]:
    """Pages of the method with the figures of the results, by their paths."""
    every = Simulated.read(Results(folder / "simulation.jsonl"), Results(folder / "alarms.jsonl"))
    figures = {
        "error-rates.md": (digest.VALIDATED, digest.figures(every)),
        "other-numbers.md": (digest.JUDGED, judged.digest(Results(folder / "judge.jsonl"))),
    }
    return {
        METHOD / name: digest.replaced((METHOD / name).read_text(encoding="utf-8"), *marked)
        for name, marked in figures.items()
    }


_FILES = (
    *("simulation", "alarms", "turns", "cycles", "capacity", "settling", "controls", "replay"),
    "covariates",
    *("comparison", "judge", "live", "alternated", "by_hand", "kills", "raylet", "searches"),
    *("paired_pgbench", "pools_by_hand"),
)


def _short(every: Simulated, results: dict[str, Results]) -> str:
    done = [
        result
        for result in results["controls"]
        if result["weighings"] and replayed.must_fail(result["control"])
    ]
    failing = replayed.failing(done)
    holding = sum(world.symmetric for world in WORLDS)
    lines = [
        paragraph(_SHORT.format(holding=holding, breaking=len(WORLDS) - holding)).strip(),
        shares.summary(every),
        f"Negative controls that fail, as they must: {failing} of {len(done)}.",
        judged.summary(results["judge"]),
    ]
    beyond = shares.beyond(every)
    if beyond:
        cells = "; ".join(
            f"{cell['world']}, N = {cell['epochs']}: {cell['what']} {cell['share']} %"
            for cell in beyond
        )
        lines.append(f"Beyond their bound: {cells}.")
    return "\n\n".join(lines)


def main() -> int:
    """Write the page; say what is missing or out of date."""
    for suite in SUITES:
        codes = {result["code"] for result in suite.results}
        if codes - {suite.code}:
            print(f"note: {suite.name}: made by other code or traces; make validate does it again")
    folded.write(files())
    for path, text in methodology().items():
        path.write_text(text, encoding="utf-8")
    print(f"wrote docs/results/{PAGE.name}, and figures into docs/method/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
