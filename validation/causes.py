"""Weighs studies whose cause is known beforehand, and keeps what was named, and by which figures.

    python -m validation.causes [--records DIR] [--only NAME] [--adopt NAME=RECORD] [--page]

Every weighing is the command that its page shows, with a fixed seed; its result is a line of
results/causes.jsonl, and what has its line is not weighed again. `--adopt` takes the result from a
record that this very command made. At the end docs/causes.md is written of the lines. Wants an
otherwise idle machine: three minutes each, a quarter of an hour in turns.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from validation.live import revision
from validation.pages.causes import page
from validation.results import FOLDER, Results
from validation.weighed import machine_of, weighed

RESULTS = Results(FOLDER / "causes.jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "causes.md"
SEED = 16


@dataclass(frozen=True)
class Known:
    """A weighing, and what its cause must be where the arms differ."""

    words: Sequence[str]
    causes: Sequence[str]
    """Parts of a transaction's time, any of which is right."""
    why: str


IN_TURNS = ("--budget", "12m")
IN_SLICES = ("--set", "layout=slices")
"""Where turns at this disk's pace take half an hour and more; the cause must be the same."""
WEIGHINGS: Mapping[str, Known] = {
    "checksums": Known(
        ("checksums",), ("processor", "read"), "every page that is read is summed by the backend"
    ),
    "track-io-timing": Known(
        ("track-io-timing",), ("processor", "read"), "the clock is read before and after each block"
    ),
    "shared-buffers": Known(
        ("shared-buffers",), ("read", "processor"), "blocks that are in the pool are not read"
    ),
    "synchronous-commit": Known(
        ("synchronous-commit", *IN_TURNS),
        ("wal",),
        "a commit does not wait for the log to reach the disk",
    ),
    "wal-compression": Known(
        ("wal-compression", *IN_SLICES), ("processor", "wal"), "images are compressed, and smaller"
    ),
    "full-page-writes": Known(
        ("full-page-writes", *IN_SLICES), ("wal",), "no images are written to the log"
    ),
    "wal-log-hints": Known(
        ("wal-log-hints", *IN_SLICES), ("wal",), "hint bits make images, which are logged"
    ),
    "checksums-rw": Known(
        ("checksums-rw", *IN_SLICES), ("wal", "processor"), "hint bits are logged, pages summed"
    ),
    "telemetry": Known(
        ("telemetry", "--budget", "5m"), ("processor",), "sessions are looked at, blocks timed"
    ),
}
_OF_A_CONTRAST = (
    "arm",
    "control",
    "estimate_percent",
    "low_percent",
    "high_percent",
    "verdict",
    "epochs",
    "nonzero",
)
_OF_THE_PROCESSOR = (
    "control_value", "arm_value", "estimate_percent", "low_percent", "high_percent",
)  # fmt: skip
_NO_PARTS: dict[str, Any] = {
    "cause": None,
    "control_us": None,
    "arm_us": None,
    "parts": [],
    "bottlenecks": [],
}
"""Where one arm is not watched, as that of `telemetry`."""


def kept(
    words: Sequence[str], verdict: Mapping[str, Any], environment: Mapping[str, Any]
) -> dict[str, Any]:
    """What is kept of a verdict."""
    [contrast] = verdict["contrasts"]
    [time] = verdict.get("time") or [_NO_PARTS]
    [processor] = [one for one in verdict["causes"] if one["metric"].startswith("server_cpu")]
    return {
        "words": list(words),
        **{one: contrast[one] for one in _OF_A_CONTRAST},
        "epoch_sd_percent": contrast["details"]["epoch_sd_percent"],
        "threats": [threat["name"] for threat in contrast["threats"]],
        "layout": verdict["layout"],
        "sentence": verdict["sentence"],
        "seconds": verdict["seconds"],
        "cause": None if time["cause"] is None else time["cause"]["part"],
        "control_us": time["control_us"],
        "arm_us": time["arm_us"],
        "parts": time["parts"],
        "bottlenecks": time["bottlenecks"],
        "processor": {key: processor[key] for key in _OF_THE_PROCESSOR},
        "machine": machine_of(environment),
    }


def weigh(name: str, records: Path) -> dict[str, Any]:
    """Weigh one; what is kept of it."""
    words = [*WEIGHINGS[name].words, "--seed", str(SEED)]
    verdict, _, environment = weighed(name, words, records / name / "record")
    return {**kept(words, verdict, environment), "revision": revision()}


def adopt(name: str, record: Path) -> dict[str, Any]:
    """What is kept of a record; ValueError: it was made by another command."""
    verdict = json.loads((record / "verdict.json").read_text())
    words = [*WEIGHINGS[name].words, "--seed", str(SEED)]
    ran = [word for word in verdict["command"].split()[2:] if word != "--json"]
    if sorted(ran) != sorted(words):
        raise ValueError(f"{record} was made by: {verdict['command']}")
    environment = json.loads((record / "environment.json").read_text())
    return {**kept(words, verdict, environment), "revision": revision()}


def main() -> int:
    """Weigh what has no result yet, and write the page."""
    parser = argparse.ArgumentParser(description="known causes, named or not; resumable")
    parser.add_argument("--records", type=Path, default=Path("records/causes"))
    parser.add_argument("--only", choices=list(WEIGHINGS), default=None)
    parser.add_argument("--adopt", metavar="NAME=RECORD", action="append", default=[])
    parser.add_argument("--page", action="store_true", help="only write the page")
    asked = parser.parse_args()
    for given in asked.adopt:
        name, _, record = given.partition("=")
        RESULTS.replace(name, adopt(name, Path(record)))
    done = RESULTS.done()
    for name in () if asked.adopt or asked.page else WEIGHINGS:
        if name not in done and asked.only in (None, name):
            result = weigh(name, asked.records)
            RESULTS.add(name, result)
            print(f"{name}: {result['sentence']}; {result['seconds']:.0f} s", flush=True)
    told = {name: (known.causes, known.why) for name, known in WEIGHINGS.items()}
    PAGE.write_text(page(list(RESULTS), told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
