"""ARCHITECTURE.md is the house: its rooms, its walks and its numbers are those of the code."""

import re
from functools import cache
from pathlib import Path

import pytest

from test_architecture import PACKAGE, PACKAGES, RATCHETS, ROOMS
from trips import TRIPS, Walk

PROJECT = Path(__file__).resolve().parents[1]
PAGE = (PROJECT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PICTURE = (PROJECT / "docs/rooms.svg").read_text(encoding="utf-8")
OTHERS = [name for name in PACKAGES if name != "partstream"]
IN_THE_CORE = [room for room in ROOMS if room[0] != "_" and f"partstream_{room}" not in OTHERS]
WALKS = {
    "The walk of a response": "read_stream of a text, Chat Completions",
    "The walk of a request": "write_request of Anthropic Messages, from messages to body",
}


def _section(title: str) -> str:
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def _rows(title: str) -> list[str]:
    return re.findall(r"^\| (`[^|]+) \|", _section(title), re.MULTILINE)


@cache
def _files(trip: str) -> frozenset[str]:
    walk = Walk()
    TRIPS[trip](walk)
    return frozenset(walk.files)


def test_the_page_can_be_read_in_one_sitting() -> None:
    assert len(PAGE.encode()) <= 12_288


def test_its_table_of_rooms_is_the_order_of_the_house() -> None:
    assert [row.strip("`") for row in _rows("The rooms")] == IN_THE_CORE


def test_its_table_of_packages_names_each_folder_and_what_it_is_imported_as() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| `(\w+)` \|", _section("The packages"), re.MULTILINE)
    assert rows == [(folder.parents[1].name, name) for name, folder in PACKAGES.items()]


def test_its_picture_shows_every_room_and_package() -> None:
    shown = set(re.findall(r'font-weight="600"[^>]*>([\w-]+)<', PICTURE))
    assert shown == {*IN_THE_CORE, *(name.replace("_", "-") for name in OTHERS)}


@pytest.mark.parametrize(("title", "trip"), WALKS.items(), ids=WALKS)
def test_a_walk_names_the_files_that_a_request_enters(title: str, trip: str) -> None:
    named = {file for row in _rows(title) for file in re.findall(r"`([\w/]+\.py)`", row)}
    assert named == _files(trip)


def test_it_says_how_long_the_walks_are() -> None:
    said = re.search(r"(\d+) files for the first, (\d+) for the second, (\d+) for `serve`, (\d+) for", PAGE)
    assert said is not None
    walks = [number for row, number in RATCHETS.items() if row.startswith("files of")]
    assert [int(number) for number in said.groups()] == walks


def test_every_module_that_it_names_exists() -> None:
    named = set(re.findall(r"`((?:\w+/)+\w+\.py)`", PAGE))
    assert len(named) > 20
    assert [name for name in sorted(named) if not (PACKAGE / name).exists() and not (PROJECT / name).exists()] == []
