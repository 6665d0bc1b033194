"""What of a recorded stream a parser got right, aspect by aspect, as the conformance kit judges it."""

from __future__ import annotations
from typing import TYPE_CHECKING, Any

from partstream_devtools.conformance.parsing import ASPECTS
from partstream_devtools.conformance.parsing import judged as judged_by_kit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interop.parsers.recorded import Recorded

__all__ = ["ASPECTS", "judged"]


def judged(stream: Recorded, told: Mapping[str, Any], unread: tuple[str, ...]) -> dict[str, bool]:
    """By aspect, whether a parser got it right; without what the recording leaves open or the package cannot tell."""
    return judged_by_kit(stream.expected, told, unread)
