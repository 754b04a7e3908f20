"""A folder with a workload of one table, for tests to change."""

from __future__ import annotations

from pathlib import Path

DESCRIPTION = """
name = "mine"
title = "a workload of one table"
scale_is = "rows"
bytes_per_scale = 100
[[tables]]
name = "things"
[scripts.look]
rows = 1
writes = false
"""


def write_folder(folder: Path, **files: str) -> Path:
    """Write it; a keyword is a file of SQL, which replaces that one or is added; `toml` goes on."""
    (folder / "scripts").mkdir(exist_ok=True)
    (folder / "checks").mkdir(exist_ok=True)
    texts = {
        "schema": "CREATE TABLE things (n int);\n",
        "load": "INSERT INTO things SELECT generate_series(1, :scale);\n",
        "scripts/look": "SELECT :scale;\n",
        **files,
    }
    (folder / "workload.toml").write_text(DESCRIPTION + texts.pop("toml", ""))
    for name, text in texts.items():
        (folder / f"{name}.sql").write_text(text)
    return folder
