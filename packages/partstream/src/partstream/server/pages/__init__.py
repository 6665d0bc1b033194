"""Pages of HTML that a server or a webview shows, with their styles and scripts."""

from typing import Literal, TypedDict


class ShownFinding(TypedDict):
    """The result of one check: of what, how it is, what was found, and what helps, "" for nothing. No key is in it."""

    subject: str
    verdict: Literal["fine", "warning", "problem"]
    says: str
    advice: str
