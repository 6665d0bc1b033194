"""A plain scanner for secrets, written apart from the redaction: it shares no rule and no code with it.

After the ideas of gitleaks (keyword and shape) and detect-secrets (entropy of base64 and hexadecimal texts, names that
say what is assigned). It reads bytes as they are and knows no protocol; it looks at them once more behind JSON, URL and
base64.
"""

from __future__ import annotations
import base64
import binascii
import math
import re
import urllib.parse
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["scan"]

_SHAPES: Final = {
    "key with a prefix": r"\b(?:sk|rk|pk)-[A-Za-z0-9][\w-]{14,}",
    "token with a prefix": r"\b(?:gh[a-z]|github_pat|glpat|hf|gsk|r8|npm|vck|xai|pplx|nvapi)[_-][A-Za-z0-9_-]{14,}",
    "Google": r"AIza[\w-]{25,}",
    "Amazon": r"\b(?:AKIA|ASIA)[0-9A-Z]{12,}",
    "Slack": r"xox[baprs]-[\w-]{8,}",
    "token of JSON": r"eyJhbGci[\w-]{8,}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}",
    "private key": r"PRIVATE KEY-----\s*[A-Za-z0-9+/=]{16,}",
    "bearer": r"(?i)\bbearer\s+[\w.~+/-]{12,}",
    "assignment": (
        r"""(?i)\b\w*(?:password|passwd|secret|api_?key|access_?token)["'\\]*\s*[:=]\s*"""
        r"""["'\\]*([^\s"'\\,;&]{8,})"""
    ),
    "password in a URL": r"://[^\s/:@\"']{1,80}:([^\s/@\"']{4,80})@",
    "key in a URL": r"(?i)[?&](?:key|token|secret|sig|signature|code)=([^&\s\"'\\]{8,})",
    "mail": r"\b[\w.+-]{2,}@[\w-]{2,}(?:\.[\w-]{2,})+\b",
    "home folder": r"(?:/home/|/Users/|C:\\+Users\\+)(?!x+\b|X+\b)[A-Za-z][\w.-]+",
    "address": r"\b(?!0{1,3}\.)(?:[1-9]\d{0,2})(?:\.\d{1,3}){3}\b",
}
_COMPILED: Final = {name: re.compile(pattern) for name, pattern in _SHAPES.items()}

_SIGNS: Final = re.compile(r"[^A-Za-z0-9]")
_FEW_LETTERS: Final = 3
"""Different letters and digits of a text that consists of stand-ins: a capital, a small letter and a digit."""
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{20,}")
_HEX: Final = re.compile(r"\b[0-9a-f]{24,}\b|\b[0-9A-F]{24,}\b")
_MOST_BASE64_ENTROPY: Final = 4.5
_MOST_HEX_ENTROPY: Final = 3.0
"""The limits of detect-secrets 1.5.0."""
_WORDY: Final = re.compile(
    r"(?:[a-z]+|[A-Z]+|[A-Z][a-z]+|[0-9]{1,8})(?:[_/.+-](?:[a-z]+|[A-Z]+|[A-Z][a-z]+|[0-9]{1,8}))*"
)
"""Words joined by signs, such as the names of fields and models."""


def scan(data: bytes) -> list[tuple[str, str]]:
    """What looks like a secret in some bytes: what it is, and how it begins."""
    found = [(name, text[:60]) for view in _views(data) for name, text in _found(view)]
    return sorted(set(found))


def _views(data: bytes) -> Iterator[str]:
    text = re.sub(r"\\+[nrt]", " ", data.decode("utf-8", "replace"))
    yield text
    plain = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text)
    plain = urllib.parse.unquote(plain)
    if plain != text:
        yield plain
    for run in _BASE64.findall(plain):
        decoded = _decoded(run)
        if decoded.isprintable() and decoded.isascii():
            yield decoded


def _decoded(run: str) -> str:
    run = run.replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(run[: len(run) // 4 * 4]).decode("latin-1")
    except binascii.Error:
        return ""


def _found(text: str) -> Iterator[tuple[str, str]]:
    for name, pattern in _COMPILED.items():
        for match in pattern.finditer(text):
            said = match[match.lastindex or 0]
            if len(set(_SIGNS.sub("", said))) > _FEW_LETTERS:
                yield name, match[0]
    for run in _BASE64.findall(text):
        if _entropy(run) > _MOST_BASE64_ENTROPY and not _WORDY.fullmatch(run):
            yield "random base64", run
    for run in _HEX.findall(text):
        if _entropy(run) > _MOST_HEX_ENTROPY and not run.isdecimal():
            yield "random hexadecimal digits", run


def _entropy(text: str) -> float:
    counts = Counter(text)
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts.values())
