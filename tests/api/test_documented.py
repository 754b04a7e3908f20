"""The page and the notebook of the public interface do what they show."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest

import steelyard
from records.conftest import unpack

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "python.md"


def test_the_code_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "records" / "checksums"
    study.mkdir(parents=True)
    unpack("checksums", study).rename(study / "latest")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(block, names)
    assert len(names["frame"]) == 192
    assert "off equivalent -0.078" in capsys.readouterr().out


def test_the_page_names_every_name_and_every_field() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in steelyard.__all__:
        assert name == "__version__" or f"`{name}`" in page or f"`steelyard.{name}(" in page, name
    for kind in ("Weighing", "WeighedArm", "Contrast", "ContrastEpoch", "MeasuredSlice", "Threat"):
        for field in getattr(steelyard, kind).__dataclass_fields__:
            assert f"`{field}`" in page or field == "directory", f"{kind}.{field}"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("notebook", ROOT / ".ci" / "notebook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def printed(notebook: nbformat.NotebookNode) -> list[str]:
    """What the cells print."""
    outputs = [x for cell in notebook.cells for x in cell.get("outputs", ())]
    return [x.text for x in outputs if x.output_type == "stream"]


def pictures(notebook: nbformat.NotebookNode) -> list[int]:
    """The cells that draw."""
    return [
        number
        for number, cell in enumerate(notebook.cells)
        if any("image/png" in x.get("data", ()) for x in cell.get("outputs", ()))
    ]


def test_the_notebook_is_kept_with_its_outputs_and_no_place_of_a_machine() -> None:
    module = generator()
    text = module.NOTEBOOK.read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    assert len(pictures(notebook)) == 2
    assert "slower than off by 18.5 %" in printed(notebook)[0]
    assert not re.search(r"(/root|/home|/tmp|/work|/usr)/", text)


@pytest.mark.long
def test_the_notebook_prints_and_draws_the_same_again(tmp_path: Path) -> None:
    module = generator()
    kept = nbformat.read(module.NOTEBOOK, as_version=4)
    again = module.executed(tmp_path)
    assert printed(again) == printed(kept)
    assert pictures(again) == pictures(kept)
