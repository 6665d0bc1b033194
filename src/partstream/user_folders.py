"""The folders where the user's system wants programs to keep files, by purpose; creates and opens none of them.

Source: XDG Base Directory Specification 0.8; Apple, "File System Programming Guide"; Microsoft, "Known Folders".
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["CACHE", "DATA", "UserFolder"]


class UserFolder(NamedTuple):
    """One of Partstream's folders, on each system.

    Attributes:
        variable: The environment variable that names another folder.
        mac: The parent folder on macOS, relative to the user's home.
        xdg_variable: The variable of the XDG specification, for all systems except Windows and macOS.
        xdg: The parent folder on those systems without that variable, relative to the user's home.
    """

    variable: str
    mac: str
    xdg_variable: str
    xdg: str

    def path(self) -> Path:
        """The folder in the current environment."""
        if named := os.environ.get(self.variable):
            return Path(named)
        if sys.platform == "win32":
            base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            base = Path.home() / self.mac
        else:
            base = Path(os.environ.get(self.xdg_variable) or Path.home() / self.xdg)
        return base / "partstream"


DATA: Final = UserFolder("PARTSTREAM_DATA", "Library/Application Support", "XDG_DATA_HOME", ".local/share")
"""Data that programs keep."""
CACHE: Final = UserFolder("PARTSTREAM_CACHE", "Library/Caches", "XDG_CACHE_HOME", ".cache")
"""Files that can be fetched again."""
