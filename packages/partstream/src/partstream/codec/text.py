"""Texts for people: code in Markdown, whatever marks it holds, counts of things, and what others say made visible."""

from __future__ import annotations
import json
import re
from typing import Any, AnyStr, Final, cast


class _LatePattern:
    def __init__(self, pattern: Any, flags: int) -> None:
        self._of = pattern, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._of), name)
        setattr(self, name, found)  # the next look-up takes no longer than that of a pattern
        return found


def late_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A regular expression that is compiled when it is first used: those that a start would compile for failures, files
    and hostile texts take a thirtieth of it."""
    return cast("re.Pattern[AnyStr]", _LatePattern(pattern, flags))


def code_block(value: Any) -> str:
    """A JSON value as a block of code in Markdown, whatever marks it holds."""
    return code_lines(json.dumps(value, indent=2, ensure_ascii=False), "json")


def code_lines(text: str, language: str) -> str:
    """A text of any lines as a block of code in Markdown, whatever marks it holds."""
    fence = _fence(text, at_least=3)
    return f"{fence}{language}\n{text}\n{fence}"


def inline_code(text: str) -> str:
    """A line as code in Markdown, whatever marks it holds (CommonMark 0.31 section 6.1)."""
    fence = _fence(text, at_least=1)
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


_LINKED: Final = late_pattern(r"(?i)[@#]\w|://|www\.|\bGH-\d")
"""What GitHub makes links and mentions of in any text that is no code, also after an escape."""


def markdown_text(text: str) -> str:
    """A line as text in Markdown: what would be more is escaped, or is code where that does not help."""
    if _LINKED.search(text):
        return inline_code(text).replace("|", "\\|")
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>|#&~" else sign for sign in text)


def counted(count: int, noun: str) -> str:
    """A number of things whose plural ends with `s`, such as `1,000 events`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def plain_html(text: str) -> str:
    """A text of HTML with characters for their names, such as `&` for `&amp;`."""
    from html import unescape  # noqa: PLC0415 - all the names take half a megabyte, and pages are rare

    return unescape(text)


def _fence(text: str, at_least: int) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    return "`" * max(at_least, longest + 1)


# ---- Visible text ----
# What servers, recordings and files say is other people's text. An escape sequence in it may clear the screen or write
# to the clipboard, a bidirectional control may show `exe.gpj` for `jpg.exe`, a character without width may make two
# names look alike.

_RANGES: Final = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # C0 but for tab, line feed and carriage return, DEL, C1
    "\u2028\u2029"  # line and paragraph separators
    "\ufff9-\ufffb"  # interlinear annotations
    "\ud800-\udfff"  # a surrogate alone: no encoding has it
    # Default_Ignorable_Code_Point of Unicode 16 (DerivedCoreProperties.txt): bidirectional controls, characters without
    # width, fillers, tags. Not here: variation selectors 15 and 16, and joiners, see below.
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_JOINERS: Final = "\u200c\u200d"
"""Zero width joiner and non-joiner: letters of many scripts and emoji are written with them, ASCII never."""
_SELECTORS: Final = "\ufe0e\ufe0f"
"""Whether the character before is shown as text or as emoji."""

_NO_BASE: Final = "\\x00-\\x22\\x24-\\x29\\x2b-\\x2f\\x3a-\\x7f"
"""ASCII without the digits, `#` and `*`, which emoji of keys begin with."""

_HIDDEN: Final = late_pattern(
    f"[{_RANGES}]|\\r(?!\\n)"  # a carriage return alone lets one line overwrite another
    f"|[{_JOINERS}](?=[\\x00-\\x7f{_JOINERS}])|(?<=[\\x00-\\x7f{_JOINERS}])[{_JOINERS}]"
    f"|(?<=[{_NO_BASE}{_JOINERS}{_SELECTORS}])[{_SELECTORS}]"
)


def visible(text: str) -> str:
    """The text with such characters as `\\uXXXX`; a text in JSON keeps its meaning. Tabs and line ends stay."""
    plain = text.replace("\n", "")
    is_plain = plain.isascii() and plain.isprintable()  # as nearly all; the pattern is tried at each character
    return text if is_plain else _HIDDEN.sub(_escaped, text)


def on_one_line(text: str) -> str:
    """The text with its line ends as such escapes too: what others say begins no line of a report."""
    return text.replace("\n", "\\u000a")


def visible_record(text: str) -> str:
    """The text of one record of a log: lines after the first are indented, so that none looks like another record."""
    return "\n    ".join(visible(text).replace("\r\n", "\n").split("\n"))


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", errors="surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


# ---- Media types ----


def bare_media_type(text: str) -> str:
    """A media type without its parameters, in small letters (RFC 9110 section 8.3.1): `Text/HTML; charset=utf-8` is
    `text/html`.
    """
    return text.partition(";")[0].strip().lower()
