"""The exit codes of all commands: one table, so that scripts can rely on them."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ExitCode"]


class ExitCode(IntEnum):
    """How a command ended."""

    FINE = 0
    """It did what it was asked to."""
    FOUND = 1
    """It found what it looks for: a broken rule (`check`), a problem (`doctor`); or it could not do its own work."""
    UNUSABLE = 2
    """It cannot start: a wrong option, a setting or a file of no use, a recording of no known protocol."""
    FAILED = 3
    """A model server or a recorded stream failed: an error, no connection, an answer without text."""
    TRUNCATED = 4
    """A recorded stream has no end: whoever recorded it lost the rest, or the server died."""
    INTERRUPTED = 130
    """Ctrl-C, as shells report it."""
    NO_READER = 141
    """Whoever read its output has gone, as shells report it."""
