"""One HTML document around the body of a page, and the two ways in which text gets into it."""

from __future__ import annotations

import zlib
from base64 import b64encode
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from partstream.codec.json_codec import dumps
from partstream.codec.text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.pages.policy import ContentPolicy

__all__ = ["data_script", "document", "packed_data_script", "resource", "text"]


def text(value: object) -> str:
    """A text as HTML: nothing in it is markup, and what acts on its surroundings or hides in it stands as an escape."""
    return escape(visible(str(value)))


def data_script(name: str, value: object) -> str:
    """A value as JSON for the page's script, in an element with the id `name`; no text in it ends the element.

    Source: HTML, "Restrictions for contents of script elements".
    """
    json = dumps(value).decode().replace("<", "\\u003c")
    return f'<script type="application/json" id="{text(name)}">{json}</script>'


def packed_data_script(name: str, value: object) -> str:
    """The same, packed with gzip and as base64: for the script's `DecompressionStream`, where the value is large."""
    packer = zlib.compressobj(level=6, wbits=16 + zlib.MAX_WBITS)
    packed = packer.compress(dumps(value)) + packer.flush()
    return f'<script type="application/gzip" id="{text(name)}">{b64encode(packed).decode()}</script>'


def resource(package: str, name: str) -> str:
    """The text of a file that is part of this package, such as a style or a script."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def document(
    title: str, body: str, policy: ContentPolicy, *, styles: Sequence[str], scripts: Sequence[str] = ()
) -> str:
    """A whole document, which needs no other file and asks for none.

    Args:
        title: The title, as text.
        body: What stands in the body, as HTML.
        policy: How the page names what it allows.
        styles: The texts of its styles; none may hold `</style`.
        scripts: The texts of its scripts, which run once the body is there; none may hold `</script` or `<!--`.
    """
    attribute = policy.attribute
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy.content(scripts, styles)}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{text(title)}</title>\n"
        f"{''.join(f'<style{attribute}>{style}</style>' for style in styles)}\n</head>\n"
        f"<body>\n{body}\n{''.join(f'<script{attribute}>{script}</script>' for script in scripts)}\n</body>\n</html>\n"
    )
