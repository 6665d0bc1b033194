"""What a check found, as every page and text shows it."""

from typing import Literal, TypedDict

__all__ = ["ShownFinding"]


class ShownFinding(TypedDict):
    """The result of one check: of what, how it is, what was found, and what helps, "" for nothing. No key is in it."""

    subject: str
    verdict: Literal["fine", "warning", "problem"]
    says: str
    advice: str
