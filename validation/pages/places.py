"""What the file system below the data costs or gains work that writes: docs/results/."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.reproductions.reproduction import machine_words
from validation.pages.table import effect, paragraph, table

Json = Mapping[str, Any]
_HEAD = """
    The same writes on three file systems, made anew by their programs' defaults in files of one
    disk, and on the last one without full-page images, where none is needed. Each arm stays in its
    place, so a difference is that of these places, not of file systems anywhere
    ([places](../reference/studies.md#places)). Written by `python -m validation.places` from
    `validation/results/places.jsonl`.
"""


def page(results: Sequence[Json]) -> str:
    """The whole page; `results` as results/places.jsonl has them."""
    parts = ["# ext4, xfs, btrfs", paragraph(_HEAD).strip()]
    if not results:
        return "\n\n".join([*parts, "Not yet weighed."]) + "\n"
    head = ["arm against control", "throughput", "interval, 95 %", "verdict", "epochs"]
    for result in results:
        parts += [
            f"```\nsteelyard weigh {shlex.join(result['words'])}\n```",
            table(head, [_row(contrast) for contrast in result["contrasts"]]),
            f"{result['whole_seconds'] / 60:.0f} minutes. Doubts: "
            f"{', '.join(result['threats']) or 'none'}. "
            f"Measured on {machine_words(result['machine'])}.",
        ]
    return "\n\n".join(parts) + "\n"


def _row(line: Json) -> list[str]:
    arms = f"{line['arm']} against {line['control']}"
    return [arms, *effect(line), line["verdict"], str(line["epochs"])]
