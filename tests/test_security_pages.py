"""The pages on security: what is promised, each attack with a test that exists, and how to report a hole."""

from __future__ import annotations
import re
import sys
from pathlib import Path

from offences import assert_none
from rows import one_test_for

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from attacks_page import BY_HAND, Attack, attacks, missing_tests  # noqa: E402 - a script, found by the line before

FOLDER = ROOT / "docs/security"


def test_the_index_links_every_page() -> None:
    linked = re.findall(r"\]\(([\w-]+\.md)\)", (FOLDER / "README.md").read_text(encoding="utf-8"))
    assert sorted(linked) == sorted(path.name for path in FOLDER.glob("*.md") if path.name != "README.md")


def test_each_of_the_attacks_has_a_test_that_exists() -> None:
    rows = attacks()
    assert len(rows) >= 209
    assert_none(missing for attack in rows for missing in missing_tests(attack))


def test_no_attack_has_two_rows() -> None:
    rows = [(one.area, one.tried) for one in attacks()]
    assert len(rows) == len(set(rows))


def test_what_was_tried_by_hand_says_when() -> None:
    by_hand = [one for attack in attacks() for one in attack.tests if one.startswith(BY_HAND)]
    assert_none(one for one in by_hand if not re.fullmatch(rf"{BY_HAND}20\d\d-\d\d-\d\d", one))


@one_test_for(
    "named",
    [
        (),
        ("test_security_pages.py::of_nobody",),
        ("of_nobody.py::each_of_the_attacks_has_a_test_that_exists",),
        (f"test_security_pages.py::what_does_not_exist_is_named[{ROOT}]",),
        ("dialogs.test.ts::a sentence of no test",),
    ],
)
def test_what_does_not_exist_is_named(named: tuple[str, ...]) -> None:
    assert len(list(missing_tests(Attack("area", "tried", "result", named)))) == 1
