"""Makes a request of a coding agent fit to be kept: its form stays, persons, machines and prompts go.

`tests/fixtures/agents` holds requests that passed here. The prompts and the descriptions of tools are other people's
texts and are replaced by their length; identifiers are replaced by made-up ones, the same by the same.
"""

from __future__ import annotations
import json
import re
from itertools import count
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["sanitized"]

_LONGEST_WORD: Final = 80
"""Characters of a text that may stay: names, words of an enumeration and formats are shorter, prompts are not."""
_PROSE: Final = frozenset({"description", "title", "$comment"})
_DROPPED_HEADERS: Final = frozenset({"host", "connection", "content-length", "sec-websocket-key"})
_KEY_HEADERS: Final = frozenset({"authorization", "x-api-key", "x-goog-api-key"})
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SESSION: Final = re.compile(r"\bses_[0-9A-Za-z]{16,}")
_DIGEST: Final = re.compile(r"\b[0-9a-f]{32,}\b")
_PATH: Final = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|work|Users|var|usr)[\w./-]*")
_LENGTH: Final = re.compile(r"\([0-9]+ characters\)")
_TIME: Final = re.compile(r"1[0-9]{12}")


class _Names:
    """Invented identifiers that replace those of a client, the same for the same."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._known: dict[str, str] = {}

    def uuid(self, found: re.Match[str]) -> str:
        return self._known.setdefault(found[0], f"00000000-0000-4000-8000-{next(self._numbers):012}")

    def session(self, found: re.Match[str]) -> str:
        return self._known.setdefault(found[0], f"ses_{next(self._numbers):026}")


def sanitized(request: dict[str, Any], said: str) -> dict[str, Any]:
    """A request as a fixture keeps it.

    Args:
        request: `{"method", "path", "headers": [[name, value], ...], "body"}`.
        said: The person's text in it; it stays, since it was invented for the recording.
    """
    names = _Names()
    return {
        "method": request["method"],
        "path": request["path"],
        "headers": _headers(request["headers"], names, said),
        "body": _value("", request["body"], names, said),
    }


def _headers(headers: Iterable[tuple[str, str]], names: _Names, said: str) -> list[list[str]]:
    kept = []
    for name, value in headers:
        if name.lower() in _KEY_HEADERS:
            kept.append([name, "Bearer TOKEN" if value.startswith("Bearer ") else "TOKEN"])
        elif name.lower() == "user-agent":
            kept.append([name, re.sub(r"\(([^)]*)\)", "(linux; x64)", value, count=1) if "codex" in value else value])
        elif name.lower() not in _DROPPED_HEADERS:
            kept.append([name, _word(value, names) if "{" not in value else _text("", value, names, said)])
    return kept


def _value(key: str, value: Any, names: _Names, said: str) -> Any:
    match value:
        case dict():
            return {_word(name, names): _value(name, one, names, said) for name, one in value.items()}
        case list():
            return [_value(key, one, names, said) for one in value]
        case str():
            return _text(key, value, names, said)
        case int() | float() if not isinstance(value, bool) and _TIME.fullmatch(str(value)):
            return 0
    return value


def _text(key: str, text: str, names: _Names, said: str) -> str:
    if text in {said, f'"{said}"'} or _LENGTH.fullmatch(text):
        return text
    if text.startswith("{") and text.endswith("}"):
        try:
            return json.dumps(_value(key, json.loads(text), names, said), separators=(",", ":"))
        except ValueError:
            pass
    if key in _PROSE or (key not in {"type", "pattern"} and (len(text) > _LONGEST_WORD and " " in text)):
        return f"({len(text)} characters)"
    return _word(text, names)


def _word(text: str, names: _Names) -> str:
    text = _DIGEST.sub(lambda found: "0" * len(found[0]), _UUID.sub(names.uuid, _SESSION.sub(names.session, text)))
    return _PATH.sub("/home/user/project", text)
