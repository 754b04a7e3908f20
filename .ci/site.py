"""Builds the documentation site: .venv/bin/python .ci/site.py [FOLDER], without a network.

The sources keep the places that they have in the checkout, so that links between pages are the same
on the site. Sphinx refuses a link that leads nowhere; what Sphinx does not read (pages of examples,
links of HTML) is checked afterwards. The site opens from disk, its search included, and nothing of
it is fetched from elsewhere.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
CONFIGURATION = ROOT / "docs" / "site"
RECORDS = ROOT / "tests" / "records"
EXAMPLES = ("checksums", "read-after-insert", "queries", "three-arms", "versions")
"""Kept records of `tests/records`; of the first the report is shown."""
COPIED = {".md", ".png", ".svg", ".csv", ".json", ".ipynb", ".toml", ".yml", ".sql"}
PAGES = ("METHODOLOGY", "BIAS", "SAFETY", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG")
PARTS = (
    ("Start", "docs/tutorial"),
    ("Ask", "docs/reference"),
    ("Results", "docs/results"),
    ("Published studies", "docs/reproductions"),
    ("Method", "docs/method"),
    ("Decisions", "docs/decisions"),
)
NESTED = {
    "docs/decisions": "docs/decisions/README.md",
    "docs/results/validation": "docs/results/validation.md",
}
"""Folder → the page below which its pages stand."""
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#]+)(#[^)\s]*)?\)")
_LOADING = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src")}


def lay_out(source: Path) -> None:
    """Copy the pages, and write those that only the site has."""
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    for path in _tracked():
        if path.suffix in COPIED and (path.parts[0] == "docs" or path.stem in PAGES):
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, source / path)
    for folder in sorted({page.parent for page in source.glob("docs/*/*.md")}):
        if not (folder / "README.md").exists():
            (folder / "README.md").write_text(_listing(folder), encoding="utf-8")
    front = (ROOT / "README.md").read_text(encoding="utf-8")
    (source / "index.md").write_text(front + _contents(source), encoding="utf-8")
    (source / "examples.md").write_text(_EXAMPLES, encoding="utf-8")
    for page in source.rglob("*.md"):
        page.write_text(_linked(page, source), encoding="utf-8")
    shutil.copy(CONFIGURATION / "conf.py", source)
    (source / "_static").mkdir()
    shutil.copy(CONFIGURATION / "steelyard.css", source / "_static")


def _tracked() -> Iterator[Path]:
    """Files of the checkout below docs/ and at its top."""
    yield from (path.relative_to(ROOT) for path in sorted(ROOT.glob("*.md")))
    for path in sorted((ROOT / "docs").rglob("*")):
        if path.is_file() and path.relative_to(ROOT / "docs").parts[0] != CONFIGURATION.name:
            yield path.relative_to(ROOT)


def title_of(page: Path) -> str:
    """The first heading of a page."""
    match = _TITLE.search(page.read_text(encoding="utf-8"))
    return match[1] if match else page.stem


def _listing(folder: Path) -> str:
    """An index of a folder that has none."""
    pages = sorted(folder.glob("*.md"))
    rows = "\n".join(f"- [{title_of(page)}]({page.name})" for page in pages)
    return f"# {folder.name.capitalize()}\n\n{rows}\n"


def _contents(source: Path) -> str:
    """The tree of contents, hidden on the page and shown beside it; long folders open below one of
    their pages."""
    parts = ["\n"]
    for name, folder in PARTS:
        pages = sorted(page for page in (source / folder).glob("*.md") if page.name != "README.md")
        entries = [f"{folder}/README", *(f"{folder}/{page.stem}" for page in pages)]
        parts.append(_tree(name, entries[:1] if folder in NESTED else entries))
    for folder, page in NESTED.items():
        names = sorted(
            file.stem for file in (source / folder).glob("*.md") if file.stem != "README"
        )
        below = folder.removeprefix(str(Path(page).parent)).strip("/")
        entries = [f"{below}/{stem}" if below else stem for stem in names]
        opened = source / page
        text = opened.read_text(encoding="utf-8")
        opened.write_text(f"{text}\n{_tree('', entries)}", encoding="utf-8")
    parts.append(_tree("Project", ["examples", *PAGES]))
    return "\n".join(parts)


def _tree(caption: str, entries: list[str]) -> str:
    listed = "\n".join(entries)
    option = f":caption: {caption}\n" if caption else ""
    return f"```{{toctree}}\n:hidden:\n{option}:maxdepth: 1\n\n{listed}\n```\n"


def _linked(page: Path, source: Path) -> str:
    """A page whose links to folders and to the front page lead to pages of the site; files that are
    not on the site are named without a link."""

    def lead(match: re.Match[str]) -> str:
        before, target, anchor = match[1], match[2], match[3] or ""
        if re.match(r"[a-z]+:", target) or target.startswith("examples/"):
            return match[0]
        path = (page.parent / target).resolve()
        if path == source / "README.md":
            target = f"{'../' * len(page.relative_to(source).parent.parts)}index.md"
        elif (path / "README.md").exists():
            target = target.rstrip("/") + "/README.md"
        elif not path.exists():
            return before.rpartition("](")[0].lstrip("!")[1:]
        return f"{before}{target}{anchor})"

    parts = re.split(r"(^```.*?^```$)", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else _LINK.sub(lead, part) for part in parts)


_EXAMPLES = """# Live examples

Pages as Steelyard writes them, of records that are kept with its tests. Each opens from disk.

- <a href="examples/report/report.html">The report of a weighing</a>: what data checksums cost
- <a href="examples/wall/index.html">The wall</a>: a question a row, with its newest verdict
"""


def show_examples(site: Path, records: Path) -> None:
    """The report of a kept record, and the wall of several, as the program makes them; `records`:
    where they are unpacked."""
    folder = site / "examples"
    for name in EXAMPLES:
        with tarfile.open(RECORDS / f"{name}.tar.xz") as archive:
            archive.extractall(records / name / "2026-11-27T120000Z", filter="data")
    program = [sys.executable, "-m", "steelyard"]
    first = records / EXAMPLES[0] / "2026-11-27T120000Z"
    subprocess.run(
        [*program, "report", str(first)], check=True, cwd=ROOT, stdout=subprocess.DEVNULL
    )
    (folder / "report").mkdir(parents=True)
    shutil.copy(first / "report.html", folder / "report")
    wall = [*program, "site", "-o", str(folder / "wall"), "--records", str(records)]
    subprocess.run(wall, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


class _Links(HTMLParser):
    """What a page leads to, and what it loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.targets.append(value)
                if (tag, name) in _LOADING:
                    self.loaded.append(value)


def faults_of(site: Path) -> Iterator[str]:
    """Links that lead to no file of the site, and what would be fetched from elsewhere."""
    for page in sorted(site.rglob("*.html")):
        links = _Links()
        links.feed(page.read_text(encoding="utf-8"))
        where = page.relative_to(site)
        for target in links.loaded:
            if urlsplit(target).scheme in ("http", "https") or target.startswith("//"):
                yield f"{where}: loads {target}"
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or target.startswith("//") or not parts.path:
                continue
            if not (page.parent / unquote(parts.path)).exists():
                yield f"{where}: leads to {target}, which is not there"
    for style in sorted(site.rglob("*.css")):
        if re.search(r"url\(\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8")):
            yield f"{style.relative_to(site)}: fetches from elsewhere"


def build(site: Path) -> list[str]:
    """The whole site; what is wrong with it."""
    with tempfile.TemporaryDirectory(prefix="steelyard-site-") as name:  # several at once
        folder = Path(name).resolve()
        lay_out(folder / "source")
        shutil.rmtree(site, ignore_errors=True)
        command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q"]
        places = [str(folder / "source"), str(site)]
        done = subprocess.run([*command, "-j", "2", *places], check=False)
        if done.returncode:
            return ["Sphinx refused the pages, as it said above"]
        shutil.rmtree(site / ".doctrees", ignore_errors=True)
        show_examples(site, folder / "records")
    return list(faults_of(site))


if __name__ == "__main__":
    output = Path(sys.argv[1] if sys.argv[1:] else ROOT / "target" / "site").resolve()
    faults = build(output)
    print("\n".join(f"error: {fault}" for fault in faults) or f"site {output}/index.html")
    sys.exit(bool(faults))
