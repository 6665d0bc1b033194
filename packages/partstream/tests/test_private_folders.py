"""What we make for ourselves is for the user alone, whatever the umask: folders, those above them, and no exception."""

from __future__ import annotations
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from offences import assert_none
from partstream.codec.system import make_private_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES = Path(__file__).resolve().parents[2]
OF_THE_USER = {
    "cli/new.py",
    "conformance/fuzzing.py",
    "partstream_devtools/commands_conformance.py",
    "vscode/dialogs.py",
}
"""Where a project or a report is written to a place that the user names, for others to read too."""


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.skipif(os.name != "posix", reason="Windows has no modes")
@pytest.mark.usefixtures("open_umask")
def test_a_folder_and_those_above_it_are_made_for_the_user_alone(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o755)
    make_private_folder(tmp_path / "theirs/a/b/c")
    modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in tmp_path.rglob("*")}
    assert modes == {"theirs": 0o755, "a": 0o700, "b": 0o700, "c": 0o700}
    make_private_folder(tmp_path / "theirs/a/b/c")
    (tmp_path / "file").touch()
    with pytest.raises(OSError):  # noqa: PT011 - of the system
        make_private_folder(tmp_path / "file")


def test_no_module_makes_folders_in_another_way() -> None:
    makes = re.compile(r"\.mkdir\([^)]*parents=True|os\.makedirs\(")
    assert_none(
        str(path.relative_to(SOURCES))
        for path in SOURCES.glob("*/src/**/*.py")
        if makes.search(path.read_text(encoding="utf-8")) and not str(path).endswith(tuple(OF_THE_USER))
    )
