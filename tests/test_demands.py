"""Each demand of the documents has a test that shows it or a page that says why something else was built."""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from offences import assert_none
from rows import one_test_for

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from demands_page import Demand, documents  # noqa: E402 - a script, found by the line before

DEMANDS = [(document.name, demand) for document in documents() for demand in document.demands]


@cache
def _names(path: Path) -> frozenset[str]:
    """The tests of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return frozenset(node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    return frozenset(match[2] for match in re.finditer(r"""^\s*(?:test|it)\((["'`])(.*?)\1""", text, re.MULTILINE))


@cache
def _anchors(path: Path) -> frozenset[str]:
    """The headings of a page, as links name them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return frozenset(re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings)


def _missing(demand: Demand) -> Iterator[str]:
    """What a row names and does not exist."""
    for test in demand.tests:
        path, _, name = test.partition("::")
        if not (ROOT / path).is_file() or (name and name not in _names(ROOT / path)):
            yield f"{demand.section} {demand.text}: no test {test}"
    for page in demand.decisions:
        path, _, anchor = page.partition("#")
        if not (ROOT / path).is_file() or (anchor and anchor not in _anchors(ROOT / path)):
            yield f"{demand.section} {demand.text}: no page {page}"


def test_all_182_demands_of_the_five_documents_have_a_row():
    numbers = [sum(name == document.name for name, _ in DEMANDS) for document in documents()]
    assert numbers == [53, 30, 22, 47, 30]


def test_each_row_has_a_test_or_a_decision():
    assert_none(f"{name}: {demand.text}" for name, demand in DEMANDS if not demand.tests and not demand.decisions)


def test_what_a_row_names_exists():
    assert_none(missing for _, demand in DEMANDS for missing in _missing(demand))


@one_test_for(
    ("tests", "decisions"),
    [
        (("tests/test_demands.py::test_of_nobody",), ()),
        (("tests/of_nobody.py",), ()),
        (("extension/test/pacing.test.ts::nobody's",), ()),
        ((), ("docs/of-nobody.md",)),
        ((), ("docs/contract.md#of-nobody",)),
    ],
)
def test_what_does_not_exist_is_named(tests: tuple[str, ...], decisions: tuple[str, ...]):
    assert len(list(_missing(Demand("1", "Something.", tests, decisions)))) == 1
