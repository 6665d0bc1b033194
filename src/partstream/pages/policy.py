"""The Content-Security-Policy of a page: what it runs and draws is in the page itself, and nothing is fetched.

Source: Content Security Policy Level 3; https://code.visualstudio.com/api/extension-guides/webview#content-security-policy
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from partstream.errors import UnexpectedValueError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["ContentPolicy", "Hashes", "Nonces"]

_NONCE: Final = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_SOURCE: Final = re.compile(r"[A-Za-z0-9+.:/*'-]+(?: [A-Za-z0-9+.:/*'-]+)*")


class ContentPolicy(Protocol):
    """How a page names the scripts and the styles that it allows."""

    @property
    def attribute(self) -> str:
        """The attribute that every script and style element of the page needs, with the space before it, or ""."""
        ...

    def content(self, scripts: Sequence[str], styles: Sequence[str]) -> str:
        """The policy for a page with these scripts and styles.

        Args:
            scripts: The whole text of each script element that runs.
            styles: The whole text of each style element.
        """
        ...


@dataclass(frozen=True, slots=True)
class Hashes:
    """The policy of a file: nobody can give each of its readers another nonce, so it names what it holds."""

    @property
    def attribute(self) -> str:
        """No attribute: a hash is that of the element's text."""
        return ""

    def content(self, scripts: Sequence[str], styles: Sequence[str]) -> str:
        """The policy with a hash of each script and style."""
        return _content(_hashes(scripts), _hashes(styles), "'none'")


@dataclass(frozen=True, slots=True)
class Nonces:
    """The policy of a page that is made anew for each reader: by a server, or for a webview.

    Attributes:
        nonce: A text that nobody can guess, made for this one page.
        source: Where else scripts and styles may come from, such as a webview's `cspSource`; "" for nowhere.
        connect: Where the page's script may connect to, such as `'self'`.

    Raises:
        UnexpectedValueError: The nonce is too short or has characters that a nonce cannot have, or a source would end
            the directive it stands in.
    """

    nonce: str
    source: str = ""
    connect: str = "'none'"

    def __post_init__(self) -> None:
        if not _NONCE.fullmatch(self.nonce):
            raise UnexpectedValueError("nonce", f"{len(self.nonce)} characters", "16 or more of the alphabet of base64")
        for where, source in (("source", self.source), ("connect", self.connect)):
            if source and not _SOURCE.fullmatch(source):
                raise UnexpectedValueError(where, repr(source), "sources of a Content-Security-Policy")

    @property
    def attribute(self) -> str:
        """The nonce."""
        return f' nonce="{self.nonce}"'

    def content(self, scripts: Sequence[str], styles: Sequence[str]) -> str:
        """The policy with the nonce, whatever the page holds."""
        allowed = f"'nonce-{self.nonce}' {self.source}".rstrip()
        return _content(allowed if scripts else "'none'", allowed if styles else "'none'", self.connect or "'none'")


def _hashes(texts: Iterable[str]) -> str:
    digests = (b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"


def _content(scripts: str, styles: str, connect: str) -> str:
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; img-src data:; connect-src {connect}; "
        "base-uri 'none'; form-action 'none'"
    )
