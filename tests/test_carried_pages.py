"""The pages that the extension carries: each link leads somewhere, and each picture is there."""

import re
from pathlib import Path

from offences import assert_none
from rows import one_test_for
from tools.carried_pages import CARRIED, CONTENTS, carried, write_carried_pages

ROOT = Path(__file__).parent.parent


@one_test_for(
    ("page", "expected"),
    [
        ("see [tokens](tokens.md#counts)", "see [tokens](tokens.md#counts)"),
        ("see [below](#counts)", "see [below](#counts)"),
        ("see [all](https://example.com/a)", "see [all](https://example.com/a)"),
        ("see [the hub](hub.md#keys), then", "see the hub, then"),
        ("see [`code`](../src/a.py)", "see `code`"),
        ("```md\n[the hub](hub.md)\n```\n[the hub](hub.md)", "```md\n[the hub](hub.md)\n```\nthe hub"),
        (
            '<picture>\n<source media="dark" srcset="a-dark.webp">\n<img src="a.webp" alt="A">\n</picture>',
            '<img src="a.webp" alt="A">',
        ),
    ],
)
def test_a_link_to_a_page_that_is_not_carried_becomes_its_text_and_a_picture_is_one_file(page: str, expected: str):
    assert carried(page) == expected


def test_every_link_and_picture_of_the_carried_pages_is_there(tmp_path: Path):
    folder = tmp_path / "docs"
    write_carried_pages(ROOT / "docs", folder)
    assert {path.name for path in folder.glob("*.md")} == {CONTENTS, *CARRIED}
    missing = []
    for path in folder.glob("*.md"):
        text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        targets = re.findall(r'\]\(([^)\s#]+)[^)\s]*\)|src(?:set)?="([^"]+)"', text)
        names = [page or picture for page, picture in targets]
        missing += [
            f"{path.name}: {name}" for name in names if not name.startswith("http") and not (folder / name).exists()
        ]
    assert_none(missing)


def test_pages_of_an_earlier_build_go_away(tmp_path: Path):
    (tmp_path / "gone.md").write_text("old")
    write_carried_pages(ROOT / "docs", tmp_path)
    assert not (tmp_path / "gone.md").exists()
