"""Weighs the same writes on file systems of one disk, and keeps what was read: a page of results.

    python -m validation.places [--records DIR] [--page] [--adopt NAME=RECORD]

As root. ext4, xfs and btrfs are made in files of 12 GB below /var/tmp, by loop devices that pass
the page cache by, and mounted below /mnt/steelyard for as long as the weighing takes. The result
is a line of results/places.jsonl; what has its line is not weighed again. At the end
docs/results/file-systems.md is written. Wants mkfs.xfs and mkfs.btrfs (xfsprogs, btrfs-progs), and
an otherwise idle machine for three quarters of an hour.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from validation.pages.places import page
from validation.results import FOLDER, Results
from validation.weigh_command import Weighings, environment_of, machine_of

RESULTS = Results(FOLDER / "places.jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "results" / "file-systems.md"
WEIGHINGS: Mapping[str, Sequence[str]] = {
    "file systems": ("validation/file-systems.toml", "--seed", "16"),
}
PLACES = Path("/mnt/steelyard")
KINDS = ("ext4", "xfs", "btrfs")
BYTES = 12 * 2**30
_OF_A_CONTRAST = (
    "arm", "control", "estimate_percent", "low_percent", "high_percent", "verdict", "epochs",
)  # fmt: skip


def result_of(words: Sequence[str], verdict: Mapping[str, Any], record: Path) -> dict[str, Any]:
    """The result to write down, from a verdict and its record."""
    contrasts = [*verdict["contrasts"], *verdict["pairs"]]
    return {
        "words": list(words),
        "contrasts": [{key: contrast[key] for key in _OF_A_CONTRAST} for contrast in contrasts],
        "threats": sorted({t["name"] for contrast in contrasts for t in contrast["threats"]}),
        "whole_seconds": verdict["whole_seconds"],
        "machine": machine_of(environment_of(record)),
    }


@contextmanager
def mounted() -> Iterator[None]:
    """The file systems, in their places; all of them are gone with the block."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir="/var/tmp"))
        for kind in KINDS:
            image, place = Path(folder, kind), PLACES / kind
            place.mkdir(parents=True, exist_ok=True)
            with image.open("wb") as file:
                file.truncate(BYTES)
            device = _run("losetup", "--find", "--show", "--direct-io=on", str(image))
            stack.callback(_run, "losetup", "--detach", device)
            _run(f"mkfs.{kind}", "-q", device)
            _run("mount", "-t", kind, device, str(place))
            stack.callback(_run, "umount", str(place))
        yield


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"error: {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.strip()


def main() -> int:
    """Weigh what has no result yet, and write the page."""
    weighings = Weighings(RESULTS, WEIGHINGS, result_of)
    done = set(WEIGHINGS) <= set(RESULTS.answered_keys())
    reads = {"--page", "--adopt", "-h", "--help"}.intersection(sys.argv)
    with ExitStack() as stack:
        if not done and not reads:
            stack.enter_context(mounted())
        weighings.run("file systems of one disk")
    PAGE.write_text(page(list(RESULTS)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
