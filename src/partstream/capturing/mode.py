"""Whether the last answers are kept in memory: the setting `capture`."""

from __future__ import annotations

import os
from typing import Final

from partstream.settings.kinds import Choice

__all__ = ["CaptureMode", "is_off_here"]

_VARIABLE: Final = "PARTSTREAM_CAPTURE"
"""The environment variable of the setting. It counts for providers without settings too."""


class CaptureMode(Choice):
    """What is kept of the last answers."""

    MEMORY = "memory", "The last 20 answers, in at most 20 MB of memory; written nowhere until somebody asks"
    OFF = "off", "Nothing, but for answers that somebody wants to be recorded"


def is_off_here() -> bool:
    """Whether the environment says that nothing is kept."""
    return os.environ.get(_VARIABLE, "").strip().lower() == CaptureMode.OFF.value
