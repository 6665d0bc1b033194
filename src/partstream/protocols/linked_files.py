"""Files of an answer of which the server gives only the address, as the options want them; fetches nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from partstream.conversation.media import URI_LIST
from partstream.outputs import FileMode
from partstream.parts import DataPart, TextPart
from partstream.protocols.citations import markdown_link

if TYPE_CHECKING:
    from partstream.parts import ResponsePart

__all__ = ["linked_file"]


def linked_file(address: str, mode: FileMode) -> ResponsePart | None:
    """The part for a file, or None for an address that no link can hold.

    A link is a paragraph of its own. It is no image: VS Code's chat shows none from other servers.

    Args:
        address: The `http` or `https` URL of the file.
        mode: What it is to become.
    """
    if mode is not FileMode.LINK:
        return DataPart.text(address, URI_LIST)
    link = markdown_link(address, _name(address))
    return None if link is None else TextPart(f"\n\n{link}\n\n")


def _name(address: str) -> str | None:
    """The last word of the path, or None."""
    try:
        return unquote(urlsplit(address).path.rpartition("/")[2]) or None
    except ValueError:  # no URL after all
        return None
