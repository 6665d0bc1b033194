"""What the guides show are the files of the examples, and these run and print what the guides say that they print."""

import asyncio
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from partstream_devtools.testing.upstream import ReplayUpstream

ROOT = Path(__file__).parent.parent
PAGES = ("docs/providers.md", "docs/python.md")
FOLDERS = ("examples/providers", "examples/python")
LOCAL_MODEL = "examples/local_model.py"
"""Run by its own tests: it wants a model."""
SERVER = "http://localhost:1234/v1"
SHOWN = re.compile(r"<!-- example: (\S+) -->\n```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)

EXAMPLES = [match for page in PAGES for match in SHOWN.findall((ROOT / page).read_text(encoding="utf-8"))]
PROGRAMS = [
    (name, printed) for name, code, printed in EXAMPLES if printed or "asyncio.run(main())" in code or "reader" in name
]


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_python_is_an_example(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert text.count("```python\n") == len(SHOWN.findall(text)) > 5


def test_a_guide_shows_each_example_whole_and_as_it_is() -> None:
    assert [name for name, code, _ in EXAMPLES if (ROOT / name).read_text(encoding="utf-8") != code] == []


def test_the_guides_show_every_example() -> None:
    files = {path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).glob("*.py")}
    assert {name for name, _, _ in EXAMPLES} == {*files, LOCAL_MODEL}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The base URL of a model server that runs beside the examples, each of which has an event loop of its own."""
    with _serving() as url:
        yield url


@contextmanager
def _serving() -> Iterator[str]:
    loop = asyncio.new_event_loop()
    urls: list[str] = []
    is_up, stop = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with ReplayUpstream() as upstream:
            urls.append(upstream.base_url)
            is_up.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert is_up.wait(30)
        yield urls[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
        loop.close()


@pytest.mark.parametrize(("name", "printed"), PROGRAMS, ids=[name for name, _ in PROGRAMS])
def test_an_example_prints_what_its_guide_says(
    name: str, printed: str, server: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ROOT / name
    monkeypatch.syspath_prepend(path.parent)
    for beside in path.parent.glob("*.py"):  # another folder may have had a module of that name
        monkeypatch.delitem(sys.modules, beside.stem, raising=False)
    source = path.read_text(encoding="utf-8").replace(SERVER, server)
    exec(compile(source, path, "exec"), {"__name__": "__main__"})  # noqa: S102 - as its readers run it
    lines = capsys.readouterr().out.replace(f"{ROOT}/", "").splitlines()
    assert [line.rstrip() for line in lines] == printed.splitlines()
