"""Makes the pictures of docs/hub-page.md: the page of a hub in light and dark, and the page of a link to join."""

from __future__ import annotations
import sys
from datetime import UTC
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "packages/partstream-devtools/tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "packages/partstream-hub/tests"))

from webp import picture_as_webp

from benchmarks.pages.measuring import browser
from hub.page_views import admin_view
from partstream.pages.document import Hashes, Nonces
from partstream_hub.page import file_html, join_html

if TYPE_CHECKING:
    from playwright.sync_api import Route

_DOCS: Final = Path(__file__).resolve().parent.parent / "docs"
_PICTURES: Final = (("hub-page", "light"), ("hub-page-dark", "dark"))
"""The name of each picture of the page, and its colours."""
_HUB: Final = "https://hub.example.com"
_CODE: Final = "psj_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8S9t0U1v"


def main() -> None:
    """Makes them all."""
    with TemporaryDirectory() as folder, browser() as running:
        path = Path(folder) / "page.html"
        path.write_text(file_html(admin_view(), UTC, Hashes()), encoding="utf-8")
        for name, scheme in _PICTURES:
            page = running.new_page(viewport={"width": 1280, "height": 1400}, color_scheme=scheme)
            page.goto(path.as_uri())
            (_DOCS / f"{name}.webp").write_bytes(picture_as_webp(page.screenshot()))
            page.close()
        page = running.new_page(viewport={"width": 1000, "height": 740})
        # The address is that of an example: nothing is sent to it.
        page.route("**/*", _answer)
        page.goto(f"{_HUB}/hub/join#{_CODE}")
        (_DOCS / "hub-join.webp").write_bytes(picture_as_webp(page.screenshot()))


def _answer(route: Route) -> None:
    page = join_html(Nonces("0123456789abcdef", connect="'self'"))
    route.fulfill(status=200, content_type="text/html; charset=utf-8", body=page)


if __name__ == "__main__":
    main()
