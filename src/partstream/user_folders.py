"""Where the user's system wants programs to keep files, by what they are; makes no folder and opens none.

Source: XDG Base Directory Specification 0.8; Apple, "File System Programming Guide"; Microsoft, "Known Folders".
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["CACHE", "DATA", "UserFolder"]


class UserFolder(NamedTuple):
    """A folder of ours, by system.

    Attributes:
        variable: The environment variable that names another folder.
        mac: Where it is on macOS, below the user's home.
        xdg_variable: The variable of the XDG specification, for all systems but Windows and macOS.
        xdg: Where it is there without that variable, below the user's home.
    """

    variable: str
    mac: str
    xdg_variable: str
    xdg: str

    def path(self) -> Path:
        """The folder, as the environment names it now."""
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
"""What programs remember."""
CACHE: Final = UserFolder("PARTSTREAM_CACHE", "Library/Caches", "XDG_CACHE_HOME", ".cache")
"""What can be fetched again."""
