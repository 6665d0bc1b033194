"""Makes the extension's icon of its drawing: VS Code shows a PNG in its lists of extensions, and no SVG."""

from __future__ import annotations
import sys
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "packages/partstream-devtools/tests"))

from benchmarks.pages.measuring import browser

_EXTENSION: Final = Path(__file__).resolve().parent.parent / "extension"
_PIXELS: Final = 256
"""Of each side: twice what VS Code shows, for screens that are twice as fine."""


def main() -> None:
    """Writes media/icon.png of icon.svg."""
    drawing = (_EXTENSION / "icon.svg").read_text(encoding="utf-8")
    with browser() as running:
        page = running.new_page(viewport={"width": _PIXELS, "height": _PIXELS})
        page.set_content(f"<style>body {{ margin: 0 }} svg {{ display: block; width: 100vw }}</style>{drawing}")
        page.screenshot(path=_EXTENSION / "media" / "icon.png", omit_background=True)


if __name__ == "__main__":
    main()
