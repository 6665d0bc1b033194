"""What a user could write in a version can be written in the next: a name goes only after it was deprecated for one."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tools.build_vsix import version_of_source

ROOT = Path(__file__).parent.parent

GONE: dict[str, str] = {}
"""Names that went, each with the minor version that deprecated it: `"option partstream chat --x": "0.16"`."""


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "tools")
    import public_names

    yield public_names
    sys.modules.pop("public_names")


def _minor(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")[:2]))


def test_no_public_name_goes_without_a_version_of_warning(names: Any) -> None:
    listed = set(names.NAMES.read_text(encoding="utf-8").splitlines())
    assert listed - names.current_names() - set(GONE) == set(), "see docs/maintainers/releasing.md#names-that-stay"


def test_a_name_that_went_was_deprecated_in_an_earlier_minor_version() -> None:
    assert all(_minor(deprecated) < _minor(version_of_source(ROOT)) for deprecated in GONE.values())


def test_every_kind_of_name_is_listed(names: Any) -> None:
    listed = names.NAMES.read_text(encoding="utf-8").splitlines()
    for name in ("python partstream.connect", "command partstream serve", "option partstream chat --model"):
        assert name in listed
    for name in ("setting baseUrl", "variable PARTSTREAM_CONFIG", "vscode command partstream.addModels"):
        assert name in listed


def test_the_generator_adds_names_and_loses_none(names: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "NAMES", tmp_path / "names.txt")
    names.NAMES.write_text("option partstream chat --of-before\n")
    made = names.public_names().splitlines()
    assert "option partstream chat --of-before" in made
    assert set(made) > names.current_names()
