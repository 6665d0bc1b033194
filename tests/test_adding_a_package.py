"""The page on adding a package holds: its files are a package, and with it installed there is its command."""

from __future__ import annotations
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commands import call_process, run
from partstream import plugins
from partstream_devtools.testing.upstream import ReplayUpstream

PROJECT = Path(__file__).resolve().parents[1]
PAGE = (PROJECT / "docs" / "maintainers" / "adding-a-package.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))
SECONDS = 60


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder that the package of the page is installed into."""
    folder, place = tmp_path_factory.mktemp("partstream-ping"), tmp_path_factory.mktemp("site-packages")
    for name, content in FILES.items():
        (folder / name).write_text(content, encoding="utf-8")
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    assert uv, "uv is a tool of the development environment"
    command = [uv, "pip", "install", "--quiet", "--no-deps", "--target", str(place), str(folder)]
    subprocess.run(command, check=True, timeout=SECONDS, env={**os.environ, "VIRTUAL_ENV": sys.prefix})
    return str(place)


def test_the_command_is_listed_where_it_is_installed_and_asks_a_server(place: str) -> None:
    async def test() -> None:
        assert " ping " not in (await call_process("--help")).output
        assert " ping  " in (await call_process("--help", PYTHONPATH=place)).output
        async with ReplayUpstream() as server:
            url = server.base_url
            asked = await call_process("ping", url, "scenario:text", PYTHONPATH=place)
        assert (asked.code, asked.errors) == (0, "")
        assert re.fullmatch(r"Hello from Partstream!.*\n\d+\.\d\d s\n", asked.output, re.DOTALL)
        refused = await call_process("ping", url, PYTHONPATH=place)
        assert (refused.code, refused.output) == (1, "")
        assert "nothing listens at 127.0.0.1:" in refused.errors

    run(test())


def test_an_addition_that_cannot_be_loaded_is_named_with_its_package_and_the_reason(place: str) -> None:
    (Path(place) / "partstream_ping.py").rename(Path(place) / "kept.py")

    async def test() -> None:
        broken = await call_process("ping", "http://127.0.0.1:9/v1", PYTHONPATH=place)
        assert broken.code == 2
        assert "partstream-ping adds partstream_ping:command, which cannot be loaded" in broken.errors

    try:
        run(test())
    finally:
        (Path(place) / "kept.py").rename(Path(place) / "partstream_ping.py")


def test_the_page_has_every_group_of_entry_points() -> None:
    groups = set(re.findall(r"^\| `(partstream\.\w+)` \|", PAGE, re.MULTILINE))
    of_plugins = {value for name, value in vars(plugins).items() if name.isupper() and isinstance(value, str)}
    assert groups == of_plugins | {"partstream.protocols"}
