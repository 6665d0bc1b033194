"""The site of the docs: built strictly, whole, and sufficient to itself."""

from __future__ import annotations
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

import pytest

import partstream
from offences import assert_none
from tools.docs_site import navigation, public_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PROJECT = Path(__file__).resolve().parents[2]
DOCS = PROJECT / "docs"
REFERENCE = (DOCS / "reference/python.md").read_text(encoding="utf-8")
HOME = (DOCS / "index.md").read_text(encoding="utf-8")
BUILD_SECONDS = 540
"""How long building may take at most; on two processors with nothing else to do, it takes a quarter of a minute."""
LOADING = {
    ("script", "src"),
    ("img", "src"),
    ("source", "srcset"),
    ("link", "href"),
    ("iframe", "src"),
    ("use", "href"),
}


def test_the_reference_names_every_public_name_once() -> None:
    assert sorted(public_names.names_of(REFERENCE)) == sorted(partstream.__all__)


def test_a_name_that_is_no_class_and_no_function_has_a_docstring_below_its_assignment() -> None:
    directives = {name: public_names.directive(name) for name in partstream.__all__}
    names = {name: text.splitlines() for name, text in directives.items() if "py:data" in text}
    assert {"Chunk", "PROTOCOLS", "ToolLoopEvent", "__version__"} <= set(names)
    assert_none(name for name, lines in names.items() if not "".join(lines[3:]).strip())


def test_the_home_page_leads_to_every_page_of_the_docs_by_its_lists() -> None:
    entries = [entry for _, pages in navigation.sections(HOME) for entry in pages]
    listed = {(DOCS / f"{re.search('<(.*)>', entry)[1]}.md").resolve() for entry in entries}  # type: ignore[index]
    folders = {(PROJECT / page).parent / folder for page, folder in navigation.FOLDERS.items()}
    in_folders = {page.resolve() for folder in folders for page in folder.glob("*.md")}
    wanted = {PROJECT / name for name in ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md")}
    wanted |= set(DOCS.rglob("*.md")) - {DOCS / "index.md"}
    assert_none(str(page.relative_to(PROJECT)) for page in sorted(wanted - listed - in_folders))


def test_pages_of_a_folder_stand_in_the_navigation_in_the_order_of_the_links_to_them() -> None:
    text = "[Second](b.md), [first](folder/a.md#part), [second again](b.md), [elsewhere](../c.md)"
    assert navigation.in_order_of_links({"a", "b", "not-linked", "c"}, text) == ["b", "a", "c", "not-linked"]


def test_the_list_of_decisions_is_whole_and_has_their_titles() -> None:
    listed = re.findall(
        r"^- \[(.+)\]\((.+)\)$", (DOCS / "decisions/README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    pages = sorted((DOCS / "decisions").glob("0*.md"))
    assert listed == [
        (page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# "), page.name) for page in pages
    ]


class _Page(HTMLParser):
    """What one page of the site names: its anchors, what it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name in {"id", "name"}:
                self.anchors.add(value)
            if (tag, name) == ("a", "href"):
                self.links.append(value)
            elif (tag, name) in LOADING:
                self.loads.append(value)


class _Site(NamedTuple):
    """The built site: its folder, and its pages by their files."""

    folder: Path
    pages: dict[Path, _Page]


def _built(folder: Path) -> _Site:
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-j",
        "auto",
        "-c",
        "tools/docs_site",
        "-d",
        folder / "read",
    ]
    command += [".", folder / "site"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    files = (folder / "site").rglob("*.html")
    return _Site(folder / "site", {path: _Page(path.read_text(encoding="utf-8")) for path in files})


def _broken(path: Path, target: str, pages: dict[Path, _Page]) -> bool:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return False
    file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if parts.fragment and file in pages:
        return unquote(parts.fragment) not in pages[file].anchors
    return not file.is_file()


def _leads_nowhere(site: _Site) -> Iterator[str]:
    assert len(site.pages) > 100
    for path, page in site.pages.items():
        for target in {*page.links, *page.loads}:
            if _broken(path, target, site.pages):
                yield f"{path.relative_to(site.folder)}: {target}"


def _loaded_from_another_host(site: _Site) -> Iterator[str]:
    far = re.compile(r"^(?:https?:)?//")
    named = re.compile(r"(?:url\(\s*|@import\s+)['\"]?([^'\")\s;]+)")
    styles = {path: named.findall(path.read_text(encoding="utf-8")) for path in site.folder.rglob("*.css")}
    loaded = {path: page.loads for path, page in site.pages.items()} | styles
    assert any(styles.values())
    for path, loads in loaded.items():
        yield from (f"{path.relative_to(site.folder)}: {target}" for target in loads if far.match(target))


def _not_in_the_search(site: _Site) -> Iterator[str]:
    index = (site.folder / "searchindex.js").read_text(encoding="utf-8")
    assert re.search(r'"?cancel"?:', index)
    names = [page.relative_to(PROJECT).with_suffix("").as_posix() for page in DOCS.rglob("*.md")]
    yield from (name for name in names if f'"{name}"' not in index)


def _out_of_reach_from_the_home_page(site: _Site) -> Iterator[str]:
    waiting, reached = [site.folder / "index.html"], set()
    while waiting:
        path = waiting.pop()
        if path in reached or path not in site.pages:
            continue
        reached.add(path)
        links = [urlsplit(target) for target in site.pages[path].links]
        waiting += [(path.parent / unquote(to.path)).resolve() for to in links if to.path and not to.scheme]
    wanted = {site.folder / page.relative_to(PROJECT).with_suffix(".html") for page in DOCS.rglob("*.md")}
    yield from (str(page.relative_to(site.folder)) for page in sorted(wanted - reached))


class _Described(HTMLParser):
    """The text below each public name of the reference."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}
        self._name = ""
        self._body = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        name = dict(attrs).get("id") or ""
        if tag == "dt" and name.startswith("partstream."):
            self._name, self._body = name, False
        elif tag == "dd":
            self._body = True

    def handle_data(self, data: str) -> None:
        if self._name and self._body:
            self.texts[self._name] = self.texts.get(self._name, "") + data.strip()


def _not_described_in_the_reference(site: _Site) -> Iterator[str]:
    described = _Described((site.folder / "docs/reference/python.html").read_text(encoding="utf-8")).texts
    yield from (name for name in partstream.__all__ if not described.get(f"partstream.{name}"))


def _described_as_a_dictionary(site: _Site) -> Iterator[str]:
    anchors = site.pages[site.folder / "docs/reference/python.html"].anchors
    assert {"partstream.ConnectSettings.protocol", "partstream.SelectorFields.vendor"} <= anchors
    yield from (anchor for anchor in anchors if anchor.endswith(".popitem"))


RULES: Mapping[str, Callable[[_Site], Iterator[str]]] = {
    "a link or an anchor leads nowhere": _leads_nowhere,
    "a page loads something from another host": _loaded_from_another_host,
    "the search does not find a page": _not_in_the_search,
    "no way leads from the home page to a page": _out_of_reach_from_the_home_page,
    "the reference does not describe a public name": _not_described_in_the_reference,
    "the reference describes an object of settings as a dictionary": _described_as_a_dictionary,
}
"""What must not be in the built site, each with who finds it."""


@pytest.mark.timeout(BUILD_SECONDS + 60)
def test_the_built_site_is_whole_and_breaks_no_rule(tmp_path: Path) -> None:
    """One test for all rules: workers of xdist would each build the site for those that they get."""
    site = _built(tmp_path)
    assert_none(f"{rule}: {offence}" for rule, find in RULES.items() for offence in find(site))
