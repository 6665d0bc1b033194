"""The site of the docs: built strictly, whole, and sufficient to itself; what is for users is short, and found."""

from __future__ import annotations
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

import pytest

import partstream
from inspector.browser import axe_findings, browser_path
from offences import assert_none
from tools.docs_site import navigation, public_names, readers

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
    wanted = {PROJECT / name for name in ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")}
    wanted |= set(DOCS.rglob("*.md")) - {DOCS / "index.md"}
    assert_none(str(page.relative_to(PROJECT)) for page in sorted(wanted - listed - in_folders))


FOR_USERS = [page for page in sorted(DOCS.rglob("*.md")) if readers.is_for_users(page.relative_to(PROJECT).as_posix())]
MOST_PAGES = 60
MOST_WORDS = 65_000


def test_the_pages_for_users_are_few_and_short() -> None:
    """Words as `wc -w` counts them; tables and code count too."""
    words = {page.name: len(page.read_text(encoding="utf-8").split()) for page in FOR_USERS}
    assert len(words) <= len(FOR_USERS) <= MOST_PAGES
    assert sum(words.values()) <= MOST_WORDS, sorted(words.items(), key=lambda one: -one[1])[:10]


def test_a_page_that_moved_is_gone_and_the_page_that_took_its_place_is_there() -> None:
    assert_none(old for old in readers.MOVED if old != "README" and (PROJECT / f"{old}.md").exists())
    assert_none(new for new in readers.MOVED.values() if not (PROJECT / f"{new}.md").is_file())


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


FOUND = {
    "self-signed certificate": "docs/tls-and-proxies",
    "jupyter": "docs/jupyter",
    "rename a model": "docs/models",
    "structured output": "docs/structured-output",
    "rate limit": "docs/questions",
    "Ollama": "docs/ollama",
    "proxy": "docs/tls-and-proxies",
    "windows": "docs/windows",
    "budget": "docs/hub",
    "ghost text": "docs/completions",
    "completion": "docs/completions",
}
"""What a user types into the search, and the page that has to be among its first three results."""
SEARCH = Path(__file__).parent / "search_site.js"


def _searched(site: _Site, queries: list[str], **environment: str) -> list[list[str]]:
    """The pages that the search of the site finds, the best first, as its own script does in a browser."""
    node = shutil.which("node")
    assert node is not None
    command = [node, SEARCH, site.folder, json.dumps(queries)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return [[page for page, _ in results] for results in json.loads(done.stdout)]


def _not_found_by_a_user(site: _Site) -> Iterator[str]:
    if shutil.which("node") is None:
        return
    for (query, page), results in zip(FOUND.items(), _searched(site, [*FOUND]), strict=True):
        if page not in results[:3]:
            yield f"{query}: {results[:3]}"
        yield from (f"{query}: {one}" for one in results if not readers.is_for_users(f"{one}.md"))
    [everything] = _searched(site, ["glossary"], ALL="1")
    if "docs/maintainers/glossary" not in everything:
        yield f"the glossary, with the pages for maintainers: {everything[:3]}"


def _not_served_as_markdown(site: _Site) -> Iterator[str]:
    yield from (
        str(page.relative_to(PROJECT))
        for page in DOCS.rglob("*.md")
        if (site.folder / page.relative_to(PROJECT)).read_bytes() != page.read_bytes()
    )
    contents = (site.folder / "llms.txt").read_text(encoding="utf-8")
    links = re.findall(r"\]\((.+)\)", contents)
    assert len(links) >= MOST_PAGES * 2 // 3
    yield from (f"llms.txt: {link}" for link in links if not (site.folder / link).is_file())
    whole = (site.folder / "llms-full.txt").read_text(encoding="utf-8")
    yield from (f"llms-full.txt: {page.name}" for page in FOR_USERS if page.read_text(encoding="utf-8") not in whole)


def _former_address_is_gone(site: _Site) -> Iterator[str]:
    for old, new in readers.MOVED.items():
        page = site.folder / f"{old}.html"
        links = site.pages[page].links if page in site.pages else []
        if [(page.parent / link).resolve() for link in links] != [(site.folder / f"{new}.html").resolve()]:
            yield old


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


def _not_accessible(site: _Site) -> Iterator[str]:
    """What axe finds on pages of every kind, and pages that are wider than their window."""
    path = browser_path()
    if path is None:
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name in ("docs/index", "docs/quick-start", "docs/custom-endpoint", "docs/configuration", "search"):
            for width, scheme in ((1400, "light"), (400, "dark")):
                page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
                page.goto((site.folder / f"{name}.html").as_uri())
                yield from (f"{name} at {width} px, {scheme}: {finding}" for finding in axe_findings(page))
                if page.evaluate("document.documentElement.scrollWidth") > width:
                    yield f"{name}: wider than {width} px"
                page.close()
        browser.close()


RULES: Mapping[str, Callable[[_Site], Iterator[str]]] = {
    "a link or an anchor leads nowhere": _leads_nowhere,
    "a page loads something from another host": _loaded_from_another_host,
    "the search does not find a page": _not_in_the_search,
    "no way leads from the home page to a page": _out_of_reach_from_the_home_page,
    "a search by a user does not lead to its page, or leads to one for maintainers": _not_found_by_a_user,
    "a page is not there as Markdown": _not_served_as_markdown,
    "a former address leads nowhere": _former_address_is_gone,
    "a page is not for everybody": _not_accessible,
    "the reference does not describe a public name": _not_described_in_the_reference,
    "the reference describes an object of settings as a dictionary": _described_as_a_dictionary,
}
"""What must not be in the built site, each with who finds it."""


@pytest.mark.timeout(BUILD_SECONDS + 60)
def test_the_built_site_is_whole_and_breaks_no_rule(tmp_path: Path) -> None:
    """One test for all rules: workers of xdist would each build the site for those that they get."""
    site = _built(tmp_path)
    assert_none(f"{rule}: {offence}" for rule, find in RULES.items() for offence in find(site))
