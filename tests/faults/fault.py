"""Reads the seeded faults: small mutations of the product that the suite must notice."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Fault:
    """A mutation: in `file`, `text` becomes `replacement`, and `tests` notice it. Paths begin at
    the root."""

    name: str
    file: str
    text: str
    replacement: str
    tests: tuple[str, ...]

    @property
    def room(self) -> str:
        """The stage of the package or the crate that it is in: "analysis", "crates/wire"."""
        parts = Path(self.file).parts
        return "/".join(parts[:2]) if parts[0] == "crates" else parts[2].removesuffix(".py")

    @property
    def is_rust(self) -> bool:
        return self.file.endswith(".rs")

    def applied(self, source: str) -> str:
        """The source with the fault in it. ValueError where the text does not occur once."""
        if source.count(self.text) != 1:
            times = source.count(self.text)
            raise ValueError(
                f'fault "{self.name}": its text occurs {times} times in {self.file}, not once: '
                "change the text in tests/faults/ to what stands there now"
            )
        return source.replace(self.text, self.replacement)


def read_faults(folder: Path = HERE) -> tuple[Fault, ...]:
    """All faults of a folder's TOML files, by file."""
    faults: list[Fault] = []
    for path in sorted(folder.glob("*.toml")):
        rows: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["fault"]
        faults += [Fault(**{**row, "tests": tuple(row["tests"])}) for row in rows]
    return tuple(faults)
