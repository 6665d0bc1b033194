"""The kinds of values of settings: how each is read, its JSON Schema for editors, and the errors of settings.

A check returns the value in the package's own types, or raises an error that says what was expected. No message shows a
secret.
"""

from __future__ import annotations
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

from partstream.codec.checks import MOST_SECONDS, MOST_TOKENS, dataclass
from partstream.errors import CallerError

_ALIKE: Final = 0.7
"""How much of two names must be the same (`difflib`) for one to be taken for a slip of the other."""
_MOST_LISTED: Final = 20
_LONGEST_NAME: Final = 40
HIDDEN: Final = "***"
KEY_IN_A_NAME: Final = re.compile(
    r"(?<![A-Za-z0-9])(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{12,}|^(?:sk|pk|rk|gsk|xai|vck|psk|psj)[-_]"
)
"""The look of a key instead of a name: a long word with a digit, or an issuer's first letters."""


class ConfigurationError(CallerError):
    """A setting is not usable.

    Attributes:
        where: The setting, such as `models[0].id`.
        got: The value, without secrets.
        expected: The possible values.
    """

    def __init__(self, where: str, got: str, expected: str) -> None:
        super().__init__(f"setting {where}: got {got}, expected {expected}")
        self.where = where
        self.got = got
        self.expected = expected


class SeveralFaultsError(ConfigurationError):
    """Several settings of one place are not usable.

    Attributes:
        faults: Each of them; `where`, `got` and `expected` are those of the first.
    """

    def __init__(self, faults: Sequence[ConfigurationError]) -> None:
        super().__init__(faults[0].where, faults[0].got, faults[0].expected)
        self.faults = tuple(faults)

    def __str__(self) -> str:
        return "\n".join(map(str, self.faults))


class PlainHttpError(ConfigurationError):
    """The base URL is plain http to another machine, and nothing allows that.

    Attributes:
        host: The other machine, with its port.
        has_key: Whether requests hold a key, or headers that may be one.
        allowed_by: What allows it, such as an option.
    """

    def __init__(self, where: str, host: str, *, has_key: bool, allowed_by: str = "the setting allowInsecureHttp"):
        super().__init__(where, f"plain HTTP to {host}", f"https://, or {allowed_by}")
        self.host = host
        self.has_key = has_key
        self.allowed_by = allowed_by

    def __str__(self) -> str:
        texts = "prompts, answers and the key" if self.has_key else "prompts and answers"
        return (
            f"{self.where}: refusing plain HTTP to {self.host}: {texts} would be readable on the network; "
            f"use https://, or allow plain HTTP by {self.allowed_by}"
        )


class UnknownSettingError(ConfigurationError):
    """No setting has this name.

    Attributes:
        name: The name, its first 40 characters; hidden where it may be a key.
        place: Its place, such as `request` or `the VS Code group`.
        suggestion: The setting that is probably meant, or None.

    Args:
        known: The names of the settings of that place.
        inside: The setting there that has one of this name inside, or None.
    """

    def __init__(self, where: str, name: str, place: str, known: Iterable[str], inside: str | None = None) -> None:
        names = tuple(known)
        if (shown := shown_name(name)) == HIDDEN:
            where = where.removesuffix(name) + shown
        super().__init__(where, "an unknown setting", f"one of {', '.join(names)}")
        self.name = shown
        self.place = place
        self.suggestion = closest_name(name, names) if inside is None else f"{inside}.{name}"
        self._known = names

    def __str__(self) -> str:
        if self.suggestion is not None:
            rest = f"; did you mean {self.suggestion!r}?"
        elif len(self._known) <= _MOST_LISTED:
            rest = f"; known settings: {', '.join(self._known)}"
        else:
            is_outside = "request" in self._known
            rest = "; a field that the server reads in requests goes into `request.extraBody`" if is_outside else ""
        return f"unknown setting {self.name!r} in {self.place}{rest}"


class MisplacedSettingError(ConfigurationError):
    """A request setting belongs to another protocol than the upstream's."""

    def __init__(self, where: str, name: str, protocol: str) -> None:
        super().__init__(
            where, f"a setting of {protocol}", "none, or `extraBody` for a server that takes it in the body"
        )
        self.name = name
        self.protocol = protocol

    def __str__(self) -> str:
        return f"setting {self.where} belongs to {self.protocol}; this protocol has no place for it"


def shown_name(name: str) -> str:
    """A name from settings, its first 40 characters; hidden where it may be a key instead of a name."""
    return HIDDEN if KEY_IN_A_NAME.search(name) else name[:_LONGEST_NAME]


def closest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that is closest to a name, ignoring case and separators; None if none is close."""
    from difflib import get_close_matches  # noqa: PLC0415 - needed only when something is wrong

    def fold(name: str) -> str:
        return name.casefold().replace("_", "").replace("-", "")

    folded = {fold(one): one for one in known}
    found = get_close_matches(fold(name), folded, 1, _ALIKE)
    return folded[found[0]] if found else None


# ---- Checks ----

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""RFC 9110 section 5.1."""
_MOST_SHOWN: Final = 100


def shortened(value: Any) -> str:
    """A value that is not secret, shortened for errors."""
    if isinstance(value, str) and KEY_IN_A_NAME.search(value):
        return "what looks like a key"
    try:
        return "nothing" if value is None else repr(value)[:_MOST_SHOWN]
    except ValueError:
        return "a number of thousands of digits"


def string(value: Any, where: str) -> str:
    """A value that is a string; the message does not show what is none.

    Raises:
        ConfigurationError: It is none.
    """
    if not isinstance(value, str):
        raise ConfigurationError(where, type(value).__name__, "a string")
    return value


def boolean(value: Any, where: str) -> bool:
    """A value that is true or false.

    Raises:
        ConfigurationError: It is neither.
    """
    if not isinstance(value, bool):
        raise ConfigurationError(where, shortened(value), "true or false")
    return value


def whole_number(value: Any, where: str, least: int = 1) -> int:
    """A value that is a whole number.

    Raises:
        ConfigurationError: It is none, or below `least`, or above a billion.
    """
    if type(value) is not int or value < least:
        raise ConfigurationError(where, shortened(value), f"a whole number from {least}")
    if value > MOST_TOKENS:
        raise ConfigurationError(where, "a larger number", f"a whole number from {least} to {MOST_TOKENS:,}")
    return value


def number(value: Any, where: str, fits: Callable[[float], bool], expected: str) -> float:
    """A value that is a number within limits.

    Args:
        fits: Whether a number is within the limits.

    Raises:
        ConfigurationError: It is no number, or beyond the limits.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not fits(value):
        raise ConfigurationError(where, shortened(value), expected)
    return float(value)


def strings(value: Any, where: str) -> tuple[str, ...]:
    """A value that is a list of strings.

    Raises:
        ConfigurationError: It is none.
    """
    if not isinstance(value, list | tuple):
        raise ConfigurationError(where, type(value).__name__, "a list of strings")
    return tuple(string(item, f"{where}[{index}]") for index, item in enumerate(value))


def json_object(value: Any, where: str) -> dict[str, Any]:
    """A value that is a JSON object; the message does not show what is none.

    Raises:
        ConfigurationError: It is none.
    """
    if not isinstance(value, Mapping):
        raise ConfigurationError(where, type(value).__name__, "an object")
    return dict(value)


def headers(value: Any, where: str) -> dict[str, str]:
    """A value that is an object of header names and values; the message shows no value.

    Raises:
        ConfigurationError: It is none, or HTTP cannot hold one of the headers.
    """
    if not isinstance(value, Mapping):
        raise ConfigurationError(where, type(value).__name__, "an object of header names and values")
    read = {name: string(text, f"{where}.{shown_name(name)}") for name, text in value.items()}
    check_headers(read, where)
    return read


def check_headers(headers: Mapping[str, str], where: str) -> None:
    """Refuses headers that HTTP cannot hold; the message shows no value.

    Raises:
        ConfigurationError: A name is not the name of a header, or a header cannot hold its value.
    """
    for name, text in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise ConfigurationError(
                f"{where}.{shown_name(name)!r}", "an invalid header name", "letters, digits, hyphens"
            )
        if not fits_header(text):
            raise ConfigurationError(
                f"{where}.{shown_name(name)}", "characters that no header can hold", "printable ASCII"
            )


def fits_header(text: str) -> bool:
    """Whether a header can hold the text."""
    return text.isascii() and text.isprintable() and text == text.strip()


_PLAIN_URL: Final = re.compile(
    r"https?://(?=[a-z0-9.-]*[a-z])[a-z0-9.-]{1,255}(:\d{1,5})?(/[!-~]{0,2000})?", re.IGNORECASE | re.ASCII
)


def is_http_url(url: str) -> bool:
    """Whether a text is an http or https URL with a host that can be asked.

    Raises:
        ValueError: It has a port that is no number, or a bracket that is not closed.
    """
    address = urlsplit(url)
    if address.scheme not in ("http", "https") or not address.hostname or address.port == 0:
        return False
    return _PLAIN_URL.fullmatch(url) is not None or (url.isprintable() and _may_be_a_host(address.hostname))


def _may_be_a_host(host: str) -> bool:
    from ipaddress import ip_address  # noqa: PLC0415 - most URLs have a plain name

    try:
        if ":" in host or not host.strip("0123456789."):
            ip_address(host)
        elif not host.isascii():
            import idna  # noqa: PLC0415 - the same

            idna.encode(host.lower(), uts46=True)
    except ValueError:  # also that of idna
        return False
    return True


def http_url(value: Any, where: str, example: str) -> str:
    """A value that is an http or https URL; the message does not show it, because it may hold a password.

    Raises:
        ConfigurationError: It is none.
    """
    url = string(value, where)
    try:
        usable = is_http_url(url)
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(where, "an invalid URL", f"an http or https URL such as {example}")
    return url


# ---- Kinds ----


class ValueForm(StrEnum):
    """The form of a value; in an environment variable, every form but text is JSON."""

    TEXT = "text"
    BOOLEAN = "true or false"
    NUMBER = "number"
    LIST = "list"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class Kind:
    """The kind of a setting's value."""

    form: ValueForm  # what it is in a word, for people
    # gives the value in our own types, from JSON's types or from our own; raises a
    # `ConfigurationError` that names the given place
    read: Callable[[Any, str], Any]
    schema: Mapping[str, Any]  # the keywords of JSON Schema (draft 7) that say the same


class Choice(StrEnum):
    """The words that a setting accepts, each with a sentence that explains it.

    A member is written as `NAME = "word", "What it means."`.
    """

    _value_: str
    says: str  # what the word means, in Markdown

    def __new__(cls, word: str, says: str = "") -> Choice:
        """The member for a word."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.says = says
        return member


def text(check: Callable[[str, str], Any] | None = None, **schema: Any) -> Kind:
    """A string; `check` returns the value or refuses the string."""

    def read(value: Any, where: str) -> Any:
        given = string(value, where)
        return given if check is None else check(given, where)

    return Kind(ValueForm.TEXT, read, {"type": "string", **schema})


def text_of(fits: Callable[[str], object], expected: str, got: str = "", **schema: Any) -> Kind:
    """A string that fits; errors show it, or say what was `got` of one that may be secret, and what was expected."""

    def check(value: str, where: str) -> str:
        if not fits(value):
            raise ConfigurationError(where, got or shortened(value), expected)
        return value

    return text(check, **schema)


def choice(words: type[Choice]) -> Kind:
    """One of several words."""

    def read(value: Any, where: str) -> Choice:
        found = next((word for word in words if word == value), None)
        if found is None:
            raise ConfigurationError(where, shortened(value), f"one of {', '.join(words)}")
        return found

    names, meanings = [word.value for word in words], [word.says for word in words]
    return Kind(ValueForm.TEXT, read, {"type": "string", "enum": names, "enumDescriptions": meanings})


def whole(least: int = 1) -> Kind:
    """A whole number from `least`."""
    return Kind(ValueForm.NUMBER, partial(whole_number, least=least), {"type": "integer", "minimum": least})


def fraction() -> Kind:
    """A number above 0 and at most 1."""
    read = partial(number, fits=lambda value: 0 < value <= 1, expected="a number above 0 and at most 1")
    return Kind(ValueForm.NUMBER, read, {"type": "number", "exclusiveMinimum": 0, "maximum": 1})


TEXT: Final = text()
BOOLEAN: Final = Kind(ValueForm.BOOLEAN, boolean, {"type": "boolean"})
SECONDS: Final = Kind(
    ValueForm.NUMBER,
    partial(number, fits=lambda value: 0 < value <= MOST_SECONDS, expected="a number of seconds above 0"),
    {"type": "number", "exclusiveMinimum": 0},
)
STRINGS: Final = Kind(ValueForm.LIST, strings, {"type": "array", "items": {"type": "string"}})
HEADERS: Final = Kind(ValueForm.OBJECT, headers, {"type": "object", "additionalProperties": {"type": "string"}})
BODY: Final = Kind(ValueForm.OBJECT, json_object, {"type": "object"})
