"""Makes the pictures of VS Code in the README and the docs of what the end-to-end driver took, in light and in dark.

`make pictures` takes them and runs this.
"""

from __future__ import annotations
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent))

from webp import film_as_webp, picture_as_webp

_ROOT: Final = Path(__file__).resolve().parent.parent
TAKEN: Final = _ROOT / "artifacts" / "pictures"
"""What extension/e2e/pictures.js took: a folder a theme."""
PICTURES_FOLDER: Final = _ROOT / "docs" / "pictures"

THEMES: Final = {"light": "", "dark": "-dark"}
"""The themes, and what the name of a picture in each ends with."""
FILM: Final = "film"
"""The moving picture: the folder of its frames, and its name."""
_PLAYS: Final = 3
"""How often the film runs before it rests at its last frame: a reader may look up late, and then wants to read."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of VS Code.

    Attributes:
        name: Its name, without theme and suffix.
        check: The check in extension/e2e/checks/pictures.js that takes it.
        page: The page that shows it, from the root of the project.
    """

    name: str
    check: str
    page: str


_QUESTION: Final = "pictures: a question, thinking, an edit, the answer and its tokens"
_STEPS: Final = "pictures: the steps of an answer, and what it took"
_SERVER: Final = "pictures: the models of a server are added"
_PROVIDER: Final = "pictures: a provider is written from a template, and answers"
_HUB: Final = "pictures: a hub is joined, and the budget is shown"

PICTURES: Final = (
    Picture(FILM, _QUESTION, "README.md"),
    Picture("question", _QUESTION, "README.md"),
    Picture("picker", _QUESTION, "docs/install.md"),
    Picture("steps", _STEPS, "docs/quick-start.md"),
    Picture("usage", _STEPS, "docs/vscode.md"),
    Picture("inspector-in-vscode", "pictures: the last answer in the inspector", "docs/inspector.md"),
    Picture("add-models-server", _SERVER, "docs/quick-start.md"),
    Picture("add-models-models", _SERVER, "docs/quick-start.md"),
    Picture("new-provider-template", _PROVIDER, "docs/providers.md"),
    Picture("new-provider-answer", _PROVIDER, "docs/providers.md"),
    Picture("hub-join-question", _HUB, "docs/hub-joining.md"),
    Picture("hub-budget", _HUB, "docs/hub-joining.md"),
)


PACKED: Final = {("steps", "dark"): _ROOT / "extension" / "media" / "chat-dark.webp"}
"""What the extension shows too, in the walkthrough, beside the light pictures of the pages that it carries."""


def file_of(picture: Picture, theme: str) -> Path:
    """Where a picture is kept, in the theme `light` or `dark`."""
    return PICTURES_FOLDER / f"{picture.name}{THEMES[theme]}.webp"


def main() -> None:
    """Makes them all."""
    PICTURES_FOLDER.mkdir(exist_ok=True)
    for theme in THEMES:
        for picture in PICTURES:
            made = _film(TAKEN / theme / FILM) if picture.name == FILM else _still(TAKEN / theme / picture.name)
            file_of(picture, theme).write_bytes(made)
            if (packed := PACKED.get((picture.name, theme))) is not None:
                packed.write_bytes(made)


def _film(folder: Path) -> bytes:
    frames = json.loads((folder / "frames.json").read_text(encoding="utf-8"))
    return film_as_webp([((folder / one["file"]).read_bytes(), one["milliseconds"]) for one in frames], plays=_PLAYS)


def _still(path: Path) -> bytes:
    return picture_as_webp(path.with_suffix(".png").read_bytes())


if __name__ == "__main__":
    main()
