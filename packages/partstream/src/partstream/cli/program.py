"""How a person starts this program again: the words that a text for people names it by.

A module of its own, because what it looks up costs a start of the command line tens of milliseconds.
"""

from __future__ import annotations
import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

_NAME: Final = "partstream"
_OF_UVX: Final = frozenset({"archive-v0", "environments-v2"})
"""The folders of uv's cache with the environments that `uvx` makes. Their commands are on the path of `uvx` alone."""


def program(*, here: bool = True) -> str:
    """The words of a shell that start this program: its name where the shell finds it, else the way it was started;
    `here` says whether the shell is in the present folder then."""
    if "UV" in os.environ and _OF_UVX & set(Path(sys.prefix).parts):
        source = _source()
        return f"uvx {_NAME}" if source is None else f"uvx --from {shlex.quote(_path(source, here=here))} {_NAME}"
    if "UV_RUN_RECURSION_DEPTH" in os.environ:
        return f"uv run {_NAME}"
    if shutil.which(_NAME):
        return _NAME
    path = Path(sys.argv[0]).absolute()
    if path.name != "__main__.py":
        return shlex.quote(_path(path, here=here))
    is_found = shutil.which("python") == sys.executable
    return f"{'python' if is_found else shlex.quote(_path(Path(sys.executable), here=here))} -m {_NAME}"


def _source() -> Path | None:
    """The folder or the file that this package was installed from; None for an index."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - under `uvx` alone

    try:
        kept = distribution(_NAME).read_text("direct_url.json")
        url = urlsplit(json.loads(kept)["url"]) if kept else None
    except (PackageNotFoundError, json.JSONDecodeError, KeyError):
        return None
    return Path(unquote(url.path)) if url is not None and url.scheme == "file" else None


def _path(path: Path, *, here: bool) -> str:
    """The path, as short as the shell needs it."""
    folder = Path.cwd()
    return str(path.relative_to(folder)) if here and path.is_relative_to(folder) else str(path)
