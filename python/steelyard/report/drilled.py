"""Writes what a drill saw as one page that opens without a network."""

from __future__ import annotations

import html
from pathlib import Path

from steelyard.errors import RecordError

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Steelyard drill</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 110rem; padding: 0 1rem;
  color: #1b1b1b; background: #fff }}
pre {{ font: 13px/1.45 ui-monospace, monospace; overflow-x: auto }}
p {{ max-width: 60rem; font-size: 1.15rem }}
@media (prefers-color-scheme: dark) {{ body {{ color: #e6e6e6; background: #161616 }} }}
</style>
<h1>What checksums catch</h1>
<p>{sentence}</p>
<pre>{rest}</pre>
</html>
"""


def write_page(words: str, path: Path) -> None:
    """Write the page; its first line is the sentence. RecordError: it cannot be written."""
    sentence, _, rest = words.partition("\n")
    page = _PAGE.format(sentence=html.escape(sentence), rest=html.escape(rest.strip("\n")))
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise RecordError(f'could not write "{path}": {error.strerror}') from error
