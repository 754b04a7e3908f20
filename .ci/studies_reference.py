"""Prints docs/reference/studies.md with its table of studies as it is now; --write keeps it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from validation.pages.questions import page_with_table
from validation.questions import PAGE, all_results

if __name__ == "__main__":
    page = page_with_table(PAGE.read_text(encoding="utf-8"), all_results())
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page, encoding="utf-8")
    else:
        sys.stdout.write(page)
