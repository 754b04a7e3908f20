"""Executes docs/notebooks/one-record.ipynb beside a kept record, and writes its outputs into it.

.venv/bin/python .ci/notebook.py
"""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs" / "notebooks" / "one-record.ipynb"
RECORD = "read-after-insert"
"""Of tests/records: what the notebook reads as `records/read-after-insert`."""


def executed(folder: Path) -> nbformat.NotebookNode:
    """The notebook with new outputs, executed in a folder that holds the record."""
    record = folder / "records" / RECORD
    record.mkdir(parents=True)
    with tarfile.open(ROOT / "tests" / "records" / f"{RECORD}.tar.xz") as archive:
        archive.extractall(record, filter="data")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, resources=resources, record_timing=False).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":  # a first call of matplotlib tells of its font cache
            cell.outputs = [x for x in cell.outputs if x.get("name") != "stderr"]
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        nbformat.write(executed(Path(folder)), NOTEBOOK)
