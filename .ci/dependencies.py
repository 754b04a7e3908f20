"""Prints the packages that pyproject.toml asks for, one a line, the development ones included."""

import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
print("\n".join(project["dependencies"] + project["optional-dependencies"]["dev"]))
