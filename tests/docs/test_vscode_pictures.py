"""The pictures of VS Code: each is taken by a check, shown by its page with words for who cannot see it, and small."""

from __future__ import annotations
import re
from itertools import product
from pathlib import Path

import pytest
from PIL import Image

from offences import assert_none
from tools.vscode_pictures import FILM, PACKED, PICTURES, PICTURES_FOLDER, THEMES, Picture, file_of

PROJECT = Path(__file__).resolve().parents[2]
CHECKS = (PROJECT / "extension/e2e/checks/pictures.js").read_text(encoding="utf-8")

MOST_PIXELS_WIDE = 1200
MOST_BYTES = 100_000
MOST_BYTES_OF_A_FILM = 1_000_000
SECONDS_OF_A_FILM = range(10, 21)
FEWEST_LETTERS_OF_AN_ALTERNATIVE = 40

FILES = [pytest.param(file_of(*pair), id=file_of(*pair).stem) for pair in product(PICTURES, THEMES)]
ROWS = [pytest.param(picture, id=picture.name) for picture in PICTURES]


def test_the_folder_holds_the_pictures_of_the_table_and_no_other() -> None:
    wanted = {file_of(picture, theme).name for picture, theme in product(PICTURES, THEMES)}
    assert {path.name for path in PICTURES_FOLDER.iterdir()} == wanted


@pytest.mark.parametrize("picture", ROWS)
def test_the_check_of_the_table_takes_it(picture: Picture) -> None:
    checks = dict(re.findall(r'\n    name: "(pictures: .+?)",\n(.*?)\n  \},', CHECKS, re.DOTALL))
    assert f'"{picture.name}"' in checks[picture.check]


@pytest.mark.parametrize("picture", ROWS)
def test_its_page_shows_it_in_both_themes_and_says_what_is_seen(picture: Picture) -> None:
    page = PROJECT / picture.page
    elements = re.findall(r"<picture>.*?</picture>", page.read_text(encoding="utf-8"), re.DOTALL)
    light, dark = (file_of(picture, theme).relative_to(page.parent).as_posix() for theme in THEMES)
    (shown,) = [element for element in elements if f'"{light}"' in element]
    assert re.search(rf'prefers-color-scheme: dark\)" srcset="{re.escape(dark)}"', shown)
    (words,) = re.findall(r'alt="(.+?)"', shown)
    assert len(words) >= FEWEST_LETTERS_OF_AN_ALTERNATIVE


@pytest.mark.parametrize("theme", THEMES)
def test_the_extension_shows_the_pictures_of_the_docs(theme: str) -> None:
    shown = {(picture.name, theme): file_of(picture, theme).read_bytes() for picture in PICTURES}
    assert_none(key for key, packed in PACKED.items() if key[1] == theme and packed.read_bytes() != shown[key])


def test_the_readme_shows_no_motion_to_who_wants_none() -> None:
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    still = re.findall(r'<source media="\(prefers-reduced-motion: reduce\).*?" srcset="(.+?)">', readme)
    assert still
    assert_none(path for path in still if _frames(PROJECT / path) != 1)


@pytest.mark.parametrize("path", FILES)
def test_it_is_small_enough_to_load_and_to_fit_a_page(path: Path) -> None:
    with Image.open(path) as picture:
        assert picture.format == "WEBP"
        assert picture.width <= MOST_PIXELS_WIDE
    assert path.stat().st_size <= (MOST_BYTES_OF_A_FILM if _frames(path) > 1 else MOST_BYTES)


@pytest.mark.parametrize("theme", THEMES)
def test_the_film_is_as_long_as_a_stranger_looks_and_ends_at_rest(theme: str) -> None:
    (film,) = [picture for picture in PICTURES if picture.name == FILM]
    path = file_of(film, theme)
    milliseconds = _shown_for(path)
    assert round(sum(milliseconds) / 1000) in SECONDS_OF_A_FILM
    assert milliseconds[-1] == max(milliseconds)
    with Image.open(path) as picture:
        assert picture.info["loop"] > 0, "it never rests"


def _frames(path: Path) -> int:
    return len(_shown_for(path))


def _shown_for(path: Path) -> list[int]:
    """For how many milliseconds each frame is shown."""
    with Image.open(path) as picture:
        durations = []
        for frame in range(getattr(picture, "n_frames", 1)):
            picture.seek(frame)
            picture.load()
            durations.append(picture.info.get("duration", 0))
        return durations
