"""Comments, docstrings and pages cite pages of the docs, and every citation names a page and a heading that exist."""

from __future__ import annotations
import os
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from offences import assert_none

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "packages/partstream/src/partstream"
SUFFIXES = {".py", ".ts", ".js", ".md"}
BUILT = {"node_modules", "dist", "out", "build"}
"""Folders with code of others or made by a build, wherever they are; folders with a dot are never ours."""

MADE_UP = {"docs/a.md", "docs/of-nobody.md", "docs/contract.md#of-nobody"}
"""What tests of other rules cite."""
CITATION = re.compile(r"(?<![\w/.-])docs/[\w/.-]+\.md(?:#[\w-]+)?")
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)

OUTSIDE = re.compile(
    r"\bfacts (?:\d|[\w-]+\.md|(?:of|on) [\w ]{1,30},? \d|(?:of|on) [\w ]{1,30}, section)|\bfacts, section",
    re.IGNORECASE,
)
"""Citations of documents that are not in the repository: `facts 7.6`, `facts on agents, section 3`."""


def _files(top: Path) -> Iterator[Path]:
    for folder, names, files in os.walk(top):
        names[:] = sorted(name for name in names if name not in BUILT and not name.startswith((".", "__pycache__")))
        yield from (Path(folder, name) for name in sorted(files) if Path(name).suffix in SUFFIXES)


def _slug(heading: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w -]", "", text.strip().lower()).replace(" ", "-")


def _slugs(text: str) -> set[str]:
    """The anchors of a page, as Git forges and the site make them: a repeated heading gets a number."""
    found: set[str] = set()
    seen: Counter[str] = Counter()
    for heading in HEADING.findall(FENCED.sub("", text)):
        slug = _slug(heading)
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


@cache
def _anchors(page: str) -> set[str] | None:
    path = ROOT / page
    return _slugs(path.read_text(encoding="utf-8")) if path.is_file() else None


def _broken(citation: str) -> bool:
    page, _, anchor = citation.partition("#")
    anchors = _anchors(page)
    return anchors is None or bool(anchor and anchor not in anchors)


def _cited_outside(text: str) -> list[str]:
    """The citations of a source, also those that a line break divides."""
    return [found[0] for found in OUTSIDE.finditer(re.sub(r"\s+(?:# )?", " ", text))]


def test_every_citation_names_a_page_and_a_heading_that_exist() -> None:
    cited = [(path, one) for path in _files(ROOT) for one in CITATION.findall(path.read_text(encoding="utf-8"))]
    assert len(cited) > 100
    assert_none(f"{path.relative_to(ROOT)}: {one}" for path, one in cited if one not in MADE_UP and _broken(one))


def test_the_package_cites_nothing_that_is_not_in_the_repository() -> None:
    files = list(_files(SOURCE))
    assert len(files) > 100
    assert_none(
        f"{path.relative_to(ROOT)}: {one}" for path in files for one in _cited_outside(path.read_text(encoding="utf-8"))
    )


@pytest.mark.parametrize(
    ("heading", "slug"),
    [
        ("Usage", "usage"),
        ("When a call is whole", "when-a-call-is-whole"),
        ("The `think` field, and what it costs", "the-think-field-and-what-it-costs"),
        ("See [the contract](contract.md)", "see-the-contract"),
    ],
)
def test_the_anchor_of_a_heading_is_made_as_git_forges_make_it(heading: str, slug: str) -> None:
    assert _slugs(f"# {heading}\n\n```toml\n# no heading\n```\n## {heading}\n") == {slug, f"{slug}-1"}


@pytest.mark.parametrize(
    "comment",
    [
        "(facts 7.6)",
        "Facts 1: lines",
        "facts gemini.md 5",
        "(serving facts 1.3)",
        "facts of Chat Completions 6.4",
        "facts on agents,\n# section 3",
        "facts on VS Code 2.7",
    ],
)
def test_a_citation_of_a_document_outside_is_seen(comment: str) -> None:
    assert len(_cited_outside(f"# Why: {comment}.")) == 1


@pytest.mark.parametrize("code", ["enumerate(facts, 2)", "(*facts, 0, 0)", "the facts about an answer", "facts.status"])
def test_the_word_alone_is_no_citation(code: str) -> None:
    assert _cited_outside(code) == []
