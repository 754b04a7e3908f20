"""Gives each worker of a run whole files, and one worker all files that share what takes long."""

from __future__ import annotations

import re

from xdist.scheduler import LoadFileScheduling

TOGETHER = re.compile(r"tests/tidy/(?!test_start_up)")
"""Rules that read the same syntax trees. What starts programs is another worker's."""


def unit_of(test: str) -> str:
    """What one worker runs of a test's neighbours: their file, or their folder."""
    together = TOGETHER.match(test)
    return together[0] if together else test.partition("::")[0]


class WholeUnits(LoadFileScheduling):
    """`--dist loadfile` with larger units where files belong together."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)
