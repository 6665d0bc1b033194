"""Lists of models that come page by page: which page is next, and all pages as one list.

Sources: Anthropic (`has_more`, `last_id`), Google (`nextPageToken`; docs/wires/gemini.md#models-and-counting).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["MOST_PAGES", "joined_pages", "next_page"]

_LARGE_PAGE: Final = "1000"
"""Google's largest page; without a size, it gives 50 models at once (docs/wires/gemini.md#models-and-counting)."""
MOST_PAGES: Final = 50
"""The most pages of one list: a server that names the same next page for ever must not be asked for ever."""


def next_page(document: Any) -> str | None:
    """The query of the next page of a list, such as `after_id=claude-haiku-4-5`; None behind the last page."""
    if not isinstance(document, dict):
        return None
    query = _after_last(document) or _by_token(document)
    return None if query is None else urlencode(query)


def _after_last(document: Mapping[str, Any]) -> Mapping[str, str] | None:
    last = document.get("last_id")
    return {"after_id": last} if document.get("has_more") is True and isinstance(last, str) and last else None


def _by_token(document: Mapping[str, Any]) -> Mapping[str, str] | None:
    token = document.get("nextPageToken")
    return {"pageSize": _LARGE_PAGE, "pageToken": token} if isinstance(token, str) and token else None


def joined_pages(pages: Iterable[Any]) -> Any:
    """The first page with the entries of all; its marks of further pages are gone."""
    first, *others = pages
    if not others:
        return first
    joined = {name: value for name, value in first.items() if name not in _MARKS}
    for name in _LISTS:
        if isinstance(first.get(name), list):
            joined[name] = [
                entry
                for page in (first, *others)
                if isinstance(page, dict) and isinstance(page.get(name), list)
                for entry in page[name]
            ]
    return joined


_LISTS: Final = ("data", "models")
_MARKS: Final = frozenset({"has_more", "first_id", "last_id", "nextPageToken"})
