"""Secrets that tests put into recordings, the forms in which they stand there, and a search for what is left."""

from __future__ import annotations
import io
import json
import re
import zipfile
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WINDOW: Final = 6
"""Bytes of a secret that must not remain (docs/wires/practice.md#proof-of-the-redaction)."""

_ODD: Final = "bcdfghjkmnpqtvwyzBCDFGHJKMNPQTVWYZ23456789"
"""Letters of no word and of no stand-in, so that what is found can only be a secret."""


def _tails(least: int, most: int | None = None) -> st.SearchStrategy[str]:
    tails = st.text(st.sampled_from(_ODD), min_size=least, max_size=most or least + 12)
    return tails.filter(lambda tail: len(set(tail)) > least // 2)


def _after(prefix: str, least: int = 24) -> st.SearchStrategy[str]:
    return _tails(least).map(lambda tail: prefix + tail)


_PEM: Final = "-----BEGIN PRIVATE KEY-----\n{}\n{}\n-----END PRIVATE KEY-----"

_ISSUED: Final = (
    "sk-ant-api03-", "sk-proj-", "sk-or-v1-", "sk-", "AIzaSy", "gsk_", "xai-", "hf_", "r8_", "pplx-", "vck_", "ghp_",
    "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "npm_", "nvapi-",
)  # fmt: skip
PREFIXES: Final = (*_ISSUED, "AKIA", "eyJ", "BEGIN PRIVATE", "Bearer ", "password=", "://me:", "&key=")
"""What tells a key from anything else that is secret."""

KEYS: Final = st.one_of(
    *map(_after, _ISSUED),
    st.text(st.sampled_from("BCDFGHJKMNPQTVWYZ23456789"), min_size=16, max_size=16).map("AKIA".__add__),
    st.tuples(_tails(20), _tails(30), _tails(30)).map(lambda parts: "eyJhbGciOiJ" + ".".join(parts)),
    st.tuples(_tails(64, 64), _tails(20)).map(lambda lines: _PEM.format(*lines)),
    _tails(16).map("Bearer ".__add__),
    _tails(12).map("password=".__add__),
    _tails(12).map(lambda tail: f"https://me:{tail}@example.com/x"),
    _tails(20).map(lambda tail: f"https://example.com/v1?alt=sse&key={tail}"),
)  # fmt: skip
"""Keys of every kind of docs/wires/practice.md#secrets-in-recordings, each with the sign that marks it."""

PERSONAL: Final = st.one_of(
    _tails(12).map(lambda name: f"/home/{name}/src/{name}.py"),
    _tails(12).map(lambda name: f"{name}@example.com"),
    _tails(12).map(lambda name: f"{name}.corp.internal"),
    _tails(20).map(lambda said: f"I said {said} to nobody"),
    st.text(st.sampled_from("жщюбДЯ"), min_size=12, max_size=20),
    st.text(st.sampled_from("漢語日本海山川"), min_size=12, max_size=20),
    st.text(st.sampled_from("🎷🦑🧭🪐"), min_size=12, max_size=20),
)
"""What says something of a person or a machine, and content: gone at the level of structure."""


def _every_letter(text: str) -> str:
    units = text.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


FORMS: Final[dict[str, Callable[[str], str]]] = {
    "plain": str,
    "JSON": json.dumps,
    "JSON in JSON": lambda said: json.dumps(json.dumps({"said": said})),
    "escapes": _every_letter,
    "URL": lambda said: quote(said, safe=""),
    "base64": lambda said: b64encode(said.encode()).decode(),
    "base64 with a name": lambda said: b64encode(f"me:{said}".encode()).decode(),
}
"""A secret as a text has it, whose own JSON escapes it once more."""


def pieces(draw: st.DrawFn, text: str, most: int = 6) -> list[str]:
    """A text cut into some pieces, anywhere."""
    places = sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=most)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True) if start < end]


def cut(draw: st.DrawFn, data: bytes, most: int = 12) -> list[bytes]:
    """Bytes cut into some reads, anywhere: inside of characters and escapes too."""
    places = sorted(draw(st.sets(st.integers(1, max(1, len(data) - 1)), max_size=most)))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True) if start < end]


def unzipped(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The files of a zip, by name."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            yield name, archive.read(name)


def left_of(secret: str, data: bytes) -> list[str]:
    """The windows of a secret that are left in some bytes, also when they are unescaped, or decoded from base64."""
    texts = _readings(data.decode(errors="replace"))
    joined = "\0".join(texts)
    windows = {secret[at : at + WINDOW] for at in range(len(secret) - WINDOW + 1)}
    return sorted(window for window in windows if _says_something(window) and window in joined)


def _says_something(window: str) -> bool:
    """Whether a window is of the secret itself: not of the words that make it one, such as `Bearer`."""
    return sum(letter in _ODD or not letter.isascii() for letter in window) >= WINDOW - 1


def _readings(text: str) -> set[str]:
    texts = {text}
    for _ in range(3):
        texts |= {_ESCAPE.sub(_letter, one) for one in texts}
        texts |= {one.replace("\\\\", "\\") for one in texts} if len(texts) < _MOST else set()
        texts |= {unquote(one) for one in texts if "%" in one}
    decoded = {_decoded(run[0][offset:]) for one in texts for run in _BASE64.finditer(one) for offset in range(4)}
    return {_PAIR.sub(_joined, one) for one in texts | decoded}


_MOST: Final = 40
_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{12,}")


def _letter(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16))


def _joined(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


def _decoded(digits: str) -> str:
    digits = digits.replace("-", "+").replace("_", "/")
    digits = digits[: len(digits) - (len(digits) % 4 == 1)]
    return b64decode(digits + "=" * (-len(digits) % 4)).decode(errors="replace")
