"""What a check of the configuration and the server found, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["CheckStatus", "Finding"]


class CheckStatus(StrEnum):
    """The verdict on one check."""

    FINE = "fine"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    Attributes:
        subject: What.
        verdict: How it is.
        says: What was found, without secrets.
        advice: What to do, or nothing.
    """

    subject: str
    verdict: CheckStatus
    says: str
    advice: str = ""
