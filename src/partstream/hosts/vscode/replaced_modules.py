"""Frees the modules of provider files that were replaced by an edit."""

from __future__ import annotations

import asyncio
import gc
from typing import Final

__all__ = ["COLLECT_SECONDS", "ReplacedModules"]

COLLECT_SECONDS: Final = 0.1
"""The seconds after a load in which further loads need no collection of their own."""


class ReplacedModules:
    """Collects replaced modules soon after they were replaced, once for all that are replaced at about the same time.

    A module and its functions refer to each other, so only the collector of cycles frees them. It counts objects and
    not bytes, and by itself would let dozens of large modules pile up.
    """

    def __init__(self) -> None:
        self._is_scheduled = False

    def collect_soon(self) -> None:
        """Schedules a collection, which takes about 20 milliseconds."""
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_later(COLLECT_SECONDS, self._collect)

    def _collect(self) -> None:
        self._is_scheduled = False
        gc.collect()
