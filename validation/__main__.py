"""Works through the validation that needs no server: `make validate`.

    python -m validation [--most-seconds S] [--only SUITE]

Results are kept as they come in validation/results/; what has one is not done again. With
--most-seconds it stops after a while and says what is left. docs/results/validation.md is written
from the results at the end.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from functools import partial

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # one case a processor; before numpy is imported


def main() -> int:
    """Do what has no result yet; 1 when something is left."""
    from validation.suites import SUITES
    from validation.work import work_through

    parser = argparse.ArgumentParser(description="the validation by simulation and replay")
    parser.add_argument("--most-seconds", type=float, default=None, metavar="S")
    parser.add_argument("--only", choices=[suite.name for suite in SUITES], default=None)
    options = parser.parse_args()
    began, complete = time.monotonic(), True
    for suite in SUITES:
        if options.only not in (None, suite.name):
            continue
        left = None
        if options.most_seconds is not None:
            left = options.most_seconds - (time.monotonic() - began)
        say = partial(_say, suite.name)
        complete &= work_through(list(suite.cases()), suite.results, suite.code, say, left)
    if not complete:
        print("not complete yet: call again to go on", flush=True)
        return 1
    return 0


def _say(suite: str, message: str) -> None:
    print(f"{suite:<11} {message}", flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("stopped: call again to go on", flush=True)
        sys.exit(130)
