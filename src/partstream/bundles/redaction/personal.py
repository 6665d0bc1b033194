"""Tells what names a person or a machine by its form: addresses of mail, folders, hosts and networks, universal ids.

Words of protocols, versions and names of models stay in a redacted recording; one of these forms among them does not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["names_a_person", "without_personal"]

_PERSONAL: Final = re.compile(
    r"""
      [^\s@<>()"'=,;]{1,100} @ [^\s@<>()"',;]{1,100}                              # mail, and user@host
    | (?: ~ | \b[A-Za-z]: | \\ )? [\\/]+
      (?: home|users|root|var|opt|srv|mnt|data|tmp|private|volumes|documents\ and\ settings ) [\\/] [^\s"'<>()]*
    | \b [a-z][a-z0-9+.-]{1,15} :// [^\s"'<>()]+
    | (?<![\d.]) \d{1,3} (?: \.\d{1,3} ){3} (?![\d.]*\d)                          # IPv4
    | (?<![\w:]) (?: [0-9a-f]{1,4} : ){1,7} (?: : [0-9a-f]{0,4} (?: : [0-9a-f]{1,4} ){0,6} )   # IPv6, shortened
    | (?<![\w:]) (?: [0-9a-f]{1,4} : ){7} [0-9a-f]{1,4}
    | \b [0-9a-f]{8} (?: -[0-9a-f]{4} ){3} -[0-9a-f]{12}
    | \b (?: [a-z0-9-]{1,63} \. ){1,8} (?: internal|local|corp|lan|intranet|home|localdomain )\b
    | \b (?: [a-z0-9-]{1,63} \. ){2,8} (?: com|net|org )\b
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_AT_THE_ROOT: Final = re.compile(r"(?:/|~|[A-Za-z]:[\\/]|\\\\)")


def names_a_person(text: str) -> bool:
    """Whether a text names a person or a machine, or is a path from the root of a file system."""
    return _AT_THE_ROOT.match(text) is not None or _PERSONAL.search(text) is not None


def without_personal(text: str, hidden: Callable[[str], str]) -> str:
    """The text, with a stand-in of the same length for what names a person or a machine.

    Args:
        text: The text.
        hidden: Gives the stand-in.
    """
    return _PERSONAL.sub(lambda found: hidden(found[0]), text)
