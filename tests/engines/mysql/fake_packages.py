"""Installations of MySQL and MariaDB made by a test, and an apt on PATH that hands them out."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MYSQL_SAYS = "Ver {} for Linux on x86_64 (MySQL Community Server (GPL))"
MARIADB_SAYS = "Ver {}-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)"
CHANGELOG = b""" mariadb (1:10.11.19-0+deb12u1) bookworm-security; urgency=medium

 -- Somebody <somebody@example.org>  Fri, 18 Sep 2026 08:08:47 +0000

 -- Somebody <somebody@example.org>  Fri, 18 Sep 2020 08:08:47 +0000
"""
MARIADB = "1:10.11.19-0+deb12u1"
OLDER = "1:10.11.18-0+deb12u1"

SCRIPT = '''#!{python} -I
"""Answers as apt-cache, apt-get and dpkg-deb do, from files beside itself."""
import json, pathlib, shutil, sys, tarfile

here = pathlib.Path(__file__).parent
told = json.loads((here / "told.json").read_text())
tool = pathlib.Path(sys.argv[0]).name
with (here / "asked.txt").open("a") as log:
    print(tool, *sys.argv[1:], file=log)
if told["errors"].get(tool):
    print(told["errors"][tool], file=sys.stderr)
    sys.exit(100)
words = [word for word in sys.argv[1:] if not word.startswith("-")]
if tool == "apt-cache" and "madison" in words:
    for name in words[words.index("madison") + 1:]:
        for version in told["versions"].get(name, []):
            print(f" {{name}} | {{version}} | http://mirror.example/debian bookworm/main amd64")
elif tool == "apt-cache":
    for name in words[words.index("show") + 1:]:
        for version in told["versions"].get(name, []):
            depends = told["depends"].get(name, "")
            print(f"Package: {{name}}\\nVersion: {{version}}\\nDepends: {{depends}}\\n")
elif tool == "apt-get" and "indextargets" in words:
    print("\\n".join(told["sources"]))
elif tool == "apt-get" and "download" in words:
    for wanted in words:
        name, equals, version = wanted.partition("=")
        if equals and "::" not in name:
            target = name + "_" + version.replace(":", "%3a") + "_amd64.deb"
            shutil.copyfile(here / f"{{name}}.deb", target)
elif tool == "apt-get":
    pass
else:
    with tarfile.open(sys.argv[2]) as archive:
        archive.extractall(sys.argv[3])
'''


def program(says: str) -> bytes:
    """A server that says this of itself."""
    return f'#!/bin/sh\necho "$0  {says}"\n'.encode()


def debian_files(version: str) -> dict[str, bytes]:
    """What the package of MariaDB's server holds."""
    return {
        "usr/sbin/mariadbd": program(MARIADB_SAYS.format(version)),
        "usr/share/mysql/english/errmsg.sys": b"messages",
        "usr/share/doc/mariadb-server-core/changelog.Debian.gz": gzip.compress(CHANGELOG),
    }


def npm_files(version: str) -> dict[str, bytes]:
    """What the npm package of MySQL's server holds."""
    return {
        "package/package.json": b'{"scripts": {"postinstall": "exit 1"}}',
        "package/server/mysqld": program(MYSQL_SAYS.format(version)),
        "package/server/share/mysql/english/errmsg.sys": b"messages",
    }


def installed(place: Path, files: Mapping[str, bytes]) -> Path:
    """An installation in a directory; programs are executable, and everybody may read it."""
    for name, content in files.items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(0o755 if content.startswith(b"#!") else 0o644)
    return place


@dataclass
class FakeApt:
    """apt-cache, apt-get and dpkg-deb in a directory of PATH."""

    home: Path
    told: dict[str, Any] = field(default_factory=dict)

    def install(self) -> None:
        """Put them there, with MariaDB and libaio1 to hand out."""
        self.home.mkdir()
        for tool in ("apt-cache", "apt-get", "dpkg-deb"):
            (self.home / tool).write_text(SCRIPT.format(python=sys.executable))
            (self.home / tool).chmod(0o755)
        versions = {"mariadb-server-core": [MARIADB, OLDER], "libaio1": ["0.3.113-4"]}
        sources = ["http://mirror.example/debian/"]
        self.tell(versions=versions, errors={}, depends={}, sources=sources)
        self.hand_out("mariadb-server-core", debian_files("10.11.19"))
        self.hand_out("libaio1", {"usr/lib/x86_64-linux-gnu/libaio.so.1.0.2": b"library"})

    def tell(self, **facts: Any) -> None:
        """Change what they answer."""
        self.told |= facts
        (self.home / "told.json").write_text(json.dumps(self.told))

    def hand_out(self, name: str, files: Mapping[str, bytes]) -> str:
        """Hand out a package of these files; its SHA-512."""
        written = io.BytesIO()
        with tarfile.open(fileobj=written, mode="w:gz") as archive:
            for path, content in files.items():
                member = tarfile.TarInfo(path)
                member.size = len(content)
                member.mode = 0o755 if content.startswith(b"#!") else 0o644
                archive.addfile(member, io.BytesIO(content))
        (self.home / f"{name}.deb").write_bytes(written.getvalue())
        return hashlib.sha512(written.getvalue()).hexdigest()

    @property
    def asked(self) -> list[str]:
        """Their command lines so far."""
        log = self.home / "asked.txt"
        return log.read_text().splitlines() if log.exists() else []
