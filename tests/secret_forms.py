"""The forms in which a server can repeat a key, and a plain search for them that shares no code with the redactor."""

from __future__ import annotations
import html
import json
import re
from base64 import b64encode, urlsafe_b64encode
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Callable


def _every_letter(template: str) -> Callable[[str], str]:
    return lambda key: "".join(template.format(ord(letter)) for letter in key)


def _basic(before: str) -> Callable[[str], str]:
    return lambda key: b64encode(f"{before}{key}".encode()).decode()


FORMS: dict[str, Callable[[str], str]] = {
    "plain": lambda key: key,
    "with a scheme": lambda key: f"Bearer {key}",
    "JSON of PHP": lambda key: key.replace("/", "\\/"),
    "JSON of Go": lambda key: key.replace("&", "\\u0026").replace("<", "\\u003C"),
    "JSON in JSON": lambda key: json.dumps(json.dumps(key).replace("/", "\\/"))[1:-1],
    "every letter for JSON": _every_letter("\\u{:04x}"),
    "every letter for C": _every_letter("\\x{:02X}"),
    "a letter for JSON": lambda key: f"{key[:5]}\\u{ord(key[5]):04X}{key[6:]}",
    "a URL": lambda key: quote(key, safe=""),
    "every letter for a URL": _every_letter("%{:02x}"),
    "a URL in a URL": lambda key: quote(quote(key, safe=""), safe=""),
    "a URL in JSON": lambda key: json.dumps(quote(key, safe="").replace("%", "\\u0025"))[1:-1],
    "JSON in a URL": lambda key: quote(json.dumps(key.replace("/", "\\/"))),
    "HTML": html.escape,
    "every letter for HTML": _every_letter("&#{};"),
    "every letter for HTML in hexadecimal digits": _every_letter("&#x{:x};"),
    "base64": _basic(""),
    "base64 behind one byte": _basic(":"),
    "base64 behind two bytes": _basic("a:"),
    "base64 of a scheme and more": lambda key: b64encode(f"Bearer {key}, refused".encode()).decode(),
    "base64url": lambda key: urlsafe_b64encode(f"me?:{key}".encode()).decode().rstrip("="),
    "base64 in a URL": lambda key: quote(_basic("me:")(key), safe=""),
    "small letters": str.lower,
    "capitals": str.upper,
    "hexadecimal digits": lambda key: key.encode().hex(),
    "hexadecimal digits in capitals": lambda key: key.encode().hex().upper(),
}
"""By name: a key in that form. What reads UTF-8 as UTF-16, and keys that were cut off, have tests of their own."""


def finds(key: str, text: str) -> list[str]:
    """The forms in which a text, or what its escapes stand for, holds a key or most of it."""
    texts = {text, html.unescape(text)}
    texts |= {_ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), one) for one in [*texts]}
    texts |= {_unquoted(one) for one in [*texts]}
    texts |= {one.replace("\\", "") for one in [*texts]}
    texts |= {one.translate(_BASE64URL) for one in [*texts]}
    joined = "\0".join(texts)
    return [name for name, form in _wanted(key) if form in joined]


_ESCAPE = re.compile(r"\\+(?:u00|x)([0-9a-fA-F]{2})")
_BASE64URL = str.maketrans("-_", "+/")


@cache
def _wanted(key: str) -> tuple[tuple[str, str], ...]:
    middle = key[2:-2]
    wanted = {name: form(middle) for name, form in FORMS.items() if "base64" not in name}
    for before in range(3):
        encoded = b64encode(b" " * before + middle.encode()).decode().rstrip("=")
        wanted[f"base64 behind {before}"] = encoded[before + 2 : -2]
    return tuple(wanted.items())


def _unquoted(text: str) -> str:
    for _ in range(2):
        text = re.sub("%([0-9a-fA-F]{2})", lambda escape: chr(int(escape[1], 16)), text)
    return text
