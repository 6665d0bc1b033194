"""Makes the pictures of docs/inspector.md: the page with a broken answer, in light and dark."""

from __future__ import annotations
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "packages/partstream-devtools/tests"))

from webp import picture_as_webp

from benchmarks.pages.measuring import browser
from inspector import sample_streams as streams
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart
from partstream.pages.document import Hashes
from partstream_devtools.inspector.page.assembly import page_html
from partstream_devtools.inspector.view import ViewedFile, view_of

_DOCS: Final = Path(__file__).resolve().parent.parent / "docs"
_PICTURES: Final = (("inspector", "light"), ("inspector-dark", "dark"))
"""The name of each picture and its colours."""

_SAID: Final = "I look at the file first, then I run its tests, and say what is wrong with the loop in it."


def _page() -> str:
    """The page of an answer with thinking, a gap and a call, which the host got twice."""
    words = [f"{word} " for word in _SAID.split()]
    call = streams.call("call_1", "read_file", '{"path":"/src/main.py"}')
    reads = [
        *streams.paced([streams.created(), *map(streams.thinking, ("The user wants ", "a review. "))], every=60),
        *streams.paced([*map(streams.text, words[:9])], first=520, every=35),
        *streams.paced([*map(streams.text, words[9:])], first=1600, every=35),
        *streams.paced([*call, streams.completed()], first=2050, every=30),
    ]
    got = ToolCallPart("call_1", "read_file", {"path": "/src/main.py"})
    times = [*(520.0 + 35 * at for at in range(9)), *(1600.0 + 35 * at for at in range(len(words) - 9))]
    texts = [(at, TextPart(word)) for at, word in zip(times, words, strict=True)]
    parts = [(420.0, ThinkingPart("The user wants a review. ")), *texts, (2130.0, got), (2140.0, got)]
    made = streams.bundle(streams.exchange(reads, end=2240), answers=[streams.answer(parts)])
    return page_html(view_of([ViewedFile("answer.partstream.zip", "bundle", made)]), Hashes())


def main() -> None:
    """Makes them all."""
    with TemporaryDirectory() as folder, browser() as running:
        path = Path(folder) / "page.html"
        path.write_text(_page(), encoding="utf-8")
        for name, scheme in _PICTURES:
            page = running.new_page(viewport={"width": 1280, "height": 1180}, color_scheme=scheme)
            page.goto(path.as_uri())
            page.locator("#inspector").wait_for()
            (_DOCS / f"{name}.webp").write_bytes(picture_as_webp(page.screenshot()))
            page.close()


if __name__ == "__main__":
    main()
