"""The values of a recording as JSON documents, and back: one table for the file and for a recording that still grows.

A file may come from a stranger: :class:`JSONFields` reads each value as its place demands, or raises an error with the
place, what was got and what was expected. docs/maintainers/bundle-format.md describes each document for other programs.
"""

from __future__ import annotations
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, TypeVar

from partstream.codec.checks import fields
from partstream.codec.json_codec import JSONDecodeError, dumps, find_non_json, loads, nests_too_deeply, shorten
from partstream.errors import UnexpectedValueError
from partstream.lm.outputs import CitationMode, ExecutedCode, FileMode, StreamOptions, ThinkingMode, ThinkTags
from partstream.lm.parts import part_json, part_of_json
from partstream_devtools.bundles import exchange as exchanges

if TYPE_CHECKING:
    from enum import StrEnum

    from partstream.settings.kinds import Choice


# ---- Errors ----


class BundleError(UnexpectedValueError):
    """A file with recorded exchanges cannot be read, or cannot be written.

    Attributes:
        where: The place: `the file`, or an entry of it, with the field where it is JSON.
        got: What is there, shortened.
        expected: What is valid there.
    """


class NotABundleError(BundleError):
    """The bytes are no bundle: no zip, or a zip without a manifest."""


class UnknownFormError(BundleError):
    """The name of a file or its content is of no known form, or of a newer version of one."""


class BrokenArchiveError(BundleError):
    """The zip is cut, contradicts itself, or uses what no bundle needs, such as another compression."""


class BrokenFlowError(BundleError):
    """A file of mitmproxy's flows has a value that is none, or a flow without what every flow has."""


class UnsafeEntryError(BundleError):
    """An entry is encrypted or no plain file, or its name leads out of its folder or is that of another one."""


class BundleTooLargeError(BundleError):
    """The file holds more than is read: entries, bytes of one entry, or bytes of all."""

    def __init__(self, where: str, size: int, limit: int, unit: str) -> None:
        super().__init__(where, f"{size:,} {unit}", f"at most {limit:,}")
        self.size = size
        self.limit = limit


class BundleContentError(BundleError):
    """An entry is not what its place in the format or the manifest demands, or a value cannot be written."""


# ---- Reading fields ----

_Choice = TypeVar("_Choice", bound="StrEnum")
_MOST_SHOWN: Final = 60


def read_object(data: bytes, where: str) -> JSONFields:
    """The JSON object in an entry.

    Raises:
        BundleContentError: It holds no JSON object, or one that nests too deep.
    """
    try:
        value = None if nests_too_deeply(data) else loads(data)
    except JSONDecodeError as error:
        raise BundleContentError(where, f"no JSON ({error.msg})", "a JSON object") from error
    if not isinstance(value, dict):
        raise BundleContentError(where, _shown(value), "a JSON object")
    return JSONFields(value, where)


class JSONFields:
    """The fields of one JSON object, at a place in a file."""

    def __init__(self, value: dict[str, Any], where: str) -> None:
        self._value = value
        self.where = where

    def text(self, name: str) -> str:
        """A text."""
        value: str = self._read(name, "a text", lambda value: isinstance(value, str))
        return value

    def optional_text(self, name: str) -> str | None:
        """A text, or None for null or a field that is not there."""
        value: str | None = self._read(name, "a text or null", lambda value: value is None or isinstance(value, str))
        return value

    def number(self, name: str) -> int:
        """A number from 1."""
        value: int = self._read(name, "a whole number from 1", lambda value: _is_integer(value) and value >= 1)
        return value

    def time(self, name: str) -> int | None:
        """Nanoseconds, or None for null or a field that is not there."""
        value: int | None = self._read(
            name,
            "nanoseconds as a whole number from 0, or null",
            lambda value: value is None or (_is_integer(value) and 0 <= value < 1 << 63),
        )
        return value

    def status(self, name: str) -> int:
        """A status of HTTP."""
        value: int = self._read(
            name, "a number of three digits", lambda value: _is_integer(value) and 100 <= value <= 999
        )
        return value

    def choice(self, name: str, values: type[_Choice]) -> _Choice:
        """One of the values of an enumeration."""
        known = ", ".join(values)
        said = self._read(name, f"one of {known}", lambda value: isinstance(value, str) and value in set(values))
        return values(said)

    def pairs(self, name: str) -> tuple[tuple[str, str], ...]:
        """A list of pairs of texts."""
        return tuple((left, right) for left, right in self._read(name, "a list of pairs of texts", _are_pairs))

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(self._read(name, "a list of texts", _are_texts))

    def text_by_name(self, name: str) -> dict[str, str]:
        """An object of texts."""
        value: dict[str, str] = self._read(name, "an object of texts", lambda value: _is_object_of(value, str))
        return value

    def count_by_name(self, name: str) -> dict[str, int]:
        """An object of whole numbers."""
        value: dict[str, int] = self._read(name, "an object of whole numbers", lambda value: _is_object_of(value, int))
        return value

    def object(self, name: str) -> JSONFields:
        """An object."""
        value = self._read(name, "an object", lambda value: isinstance(value, dict))
        return JSONFields(value, self._place(name))

    def optional_object(self, name: str) -> JSONFields | None:
        """An object, or None for null or a field that is not there."""
        return None if self._value.get(name) is None else self.object(name)

    def objects(self, name: str) -> list[JSONFields]:
        """A list of objects."""
        rows = self._read(name, "a list of objects", lambda value: isinstance(value, list))
        for index, row in enumerate(rows):
            if not isinstance(row, dict):
                raise BundleContentError(f"{self._place(name)}[{index}]", _shown(row), "an object")
        return [JSONFields(row, f"{self._place(name)}[{index}]") for index, row in enumerate(rows)]

    def content(self, name: str, *, is_base64: bool) -> bytes:
        """The bytes of a text, which may be in base64; none for null or a field that is not there."""
        said = self.optional_text(name) or ""
        try:
            return b64decode(said, validate=True) if is_base64 else said.encode(errors="surrogatepass")
        except ValueError as error:
            raise BundleContentError(self._place(name), f"a text that is not ({error})", "base64") from error

    def read(self, names: Iterable[str]) -> dict[str, Any]:
        """The fields of these names, each of which has one form in all documents."""
        return {name: _FORMS[name](self, name) for name in names}

    def raw(self, name: str) -> Any:
        """The value as it is; None for a field that is not there."""
        return self._value.get(name)

    def _read(self, name: str, expected: str, accepts: Callable[[Any], bool]) -> Any:
        value = self._value.get(name)
        if not accepts(value):
            got = _shown(value) if name in self._value else "nothing"
            raise BundleContentError(self._place(name), got, expected)
        return value

    def _place(self, name: str) -> str:
        return f"{self.where}, field {name!r}"


_FORMS: Final[Mapping[str, Callable[[JSONFields, str], Any]]] = {
    **dict.fromkeys(("number", "answer"), JSONFields.number),
    **dict.fromkeys(("method", "path", "query", "reason", "type", "message"), JSONFields.text),
    **dict.fromkeys(("protocol", "started_at", "host", "model", "outcome"), JSONFields.optional_text),
    **dict.fromkeys(("at", "offset", "sent_at"), JSONFields.time),
    **dict.fromkeys(("headers", "fields"), JSONFields.pairs),
    "status": JSONFields.status,
}
"""What reads a field, by its name."""


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_pairs(value: object) -> bool:
    return isinstance(value, list) and all(_are_texts(pair) and len(pair) == 2 for pair in value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_object_of(value: object, kind: type) -> bool:
    return isinstance(value, dict) and all(type(one) is kind for one in value.values())


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


# ---- Documents ----

_CHUNK: Final = Struct(">QI")
"""The time in nanoseconds, and the number of bytes that follow."""
_NO_TIME: Final = (1 << 64) - 1
_SHOWN: Final[Mapping[str, type[Choice]]] = {
    "thinking": ThinkingMode,
    "citations": CitationMode,
    "files": FileMode,
    "think_tags": ThinkTags,
    "executed_code": ExecutedCode,
}
"""The fields of :class:`partstream.lm.outputs.StreamOptions` that say what a host shows, and their values."""


_OF_EXCHANGE: Final = ("number", "answer", "protocol", "started_at", "offset")
_OF_REQUEST: Final = ("method", "path", "query", "headers")
_OF_HEAD: Final = ("at", "status", "reason", "headers")
_OF_ERROR: Final = ("type", "message", "fields")
_OF_ANSWER: Final = ("number", "host", "model", "started_at", "offset", "outcome")


def _facts(value: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


# ---- Exchanges ----


def exchange_json(exchange: exchanges.RecordedExchange, end: exchanges.ExchangeEnd | None) -> dict[str, Any]:
    """What is known of an exchange as a whole; without an end, of one that still runs."""
    facts = _facts(exchange, _OF_EXCHANGE)
    if exchange.left_out is not None:
        facts["left_out"] = asdict(exchange.left_out)
    if exchange.shown is not None:
        facts["shown"] = _facts(exchange.shown, _SHOWN)
    return facts if end is None else {**facts, "end": end_json(end)}


def read_exchange(
    said: JSONFields,
    request: exchanges.RecordedRequest | None,
    head: exchanges.ResponseHead | None,
    chunks: tuple[exchanges.Chunk, ...],
    end: exchanges.ExchangeEnd | None = None,
) -> exchanges.RecordedExchange:
    """The exchange, of its own document and of what else belongs to it."""
    shown = said.optional_object("shown")
    modes: dict[str, Any] = {} if shown is None else {name: shown.choice(name, words) for name, words in _SHOWN.items()}
    return exchanges.RecordedExchange(
        **said.read(_OF_EXCHANGE),
        request=request,
        head=head,
        chunks=chunks,
        end=read_end(said.object("end")) if end is None else end,
        left_out=None if said.raw("left_out") is None else _read_left_out(said.count_by_name("left_out")),
        shown=None if shown is None else StreamOptions(**modes),
    )


def _read_left_out(counts: dict[str, int]) -> exchanges.LeftOut:
    return exchanges.LeftOut(**{field.name: counts.get(field.name, 0) for field in fields(exchanges.LeftOut)})


def request_json(request: exchanges.RecordedRequest) -> dict[str, Any]:
    """A request; its body as text where it is UTF-8, else in base64."""
    try:
        body = {"body": request.body.decode()}
    except UnicodeDecodeError:
        body = {"body_base64": b64encode(request.body).decode()}
    return {**_facts(request, _OF_REQUEST), **body, "sent_at": request.sent_at}


def read_request(said: JSONFields) -> exchanges.RecordedRequest:
    """The request of its document."""
    name = "body" if said.raw("body_base64") is None else "body_base64"
    said.text(name)
    body = said.content(name, is_base64=name == "body_base64")
    return exchanges.RecordedRequest(**said.read((*_OF_REQUEST, "sent_at")), body=body)


def head_json(head: exchanges.ResponseHead) -> dict[str, Any]:
    """The head of a response."""
    return _facts(head, _OF_HEAD)


def read_head(said: JSONFields) -> exchanges.ResponseHead:
    """The head of its document."""
    return exchanges.ResponseHead(**said.read(_OF_HEAD))


def end_json(end: exchanges.ExchangeEnd) -> dict[str, Any]:
    """The end of an exchange."""
    return {"at": end.at, "how": end.how.value, "error": _error_json(end.error)}


def read_end(said: JSONFields) -> exchanges.ExchangeEnd:
    """The end of its document."""
    error = _read_error(said.optional_object("error"))
    return exchanges.ExchangeEnd(said.time("at"), said.choice("how", exchanges.HowEnded), error)


def _error_json(error: exchanges.RecordedError | None) -> dict[str, Any] | None:
    return None if error is None else _facts(error, _OF_ERROR)


def _read_error(said: JSONFields | None) -> exchanges.RecordedError | None:
    return None if said is None else exchanges.RecordedError(**said.read(_OF_ERROR))


# ---- Reads ----


def chunk_bytes(chunk: exchanges.Chunk) -> bytes:
    """One read: its time in 8 bytes, its length in 4, both with the highest byte first, and what came."""
    at = _NO_TIME if chunk.at is None else chunk.at
    return _CHUNK.pack(at, len(chunk.data)) + chunk.data


def read_chunk(data: bytes, where: str, place: int = 0) -> tuple[exchanges.Chunk, int]:
    """The read that begins at a place, and the place after it.

    Raises:
        BundleContentError: It goes on after the end, or is empty, or its time is none.
    """
    if len(data) - place < _CHUNK.size:
        raise BundleContentError(f"{where}, byte {place}", f"{len(data) - place} bytes", "a read, of 12 bytes or more")
    at, size = _CHUNK.unpack_from(data, place)
    begin = place + _CHUNK.size
    if not 0 < size <= len(data) - begin:
        left = len(data) - begin
        raise BundleContentError(f"{where}, byte {place}", f"a read of {size:,} bytes", f"one of 1 to {left:,} bytes")
    if at != _NO_TIME and at >> 63:
        raise BundleContentError(f"{where}, byte {place}", f"the time {at}", "nanoseconds below 2**63")
    return exchanges.Chunk(None if at == _NO_TIME else at, data[begin : begin + size]), begin + size


def read_chunks(data: bytes, where: str) -> tuple[exchanges.Chunk, ...]:
    """All reads of a body."""
    chunks: list[exchanges.Chunk] = []
    place = 0
    while place < len(data):
        chunk, place = read_chunk(data, where, place)
        chunks.append(chunk)
    return tuple(chunks)


# ---- Answers ----


def answer_json(answer: exchanges.RecordedAnswer) -> dict[str, Any]:
    """An answer without its parts."""
    facts = {**_facts(answer, _OF_ANSWER), "error": _error_json(answer.error)}
    if answer.left_out:
        facts["left_out"] = answer.left_out
    return {**facts, "dropped": list(answer.dropped)} if answer.dropped else facts


def read_answer(said: JSONFields, reported: Iterable[exchanges.ReportedPart]) -> exchanges.RecordedAnswer:
    """The answer of its document and its parts."""
    return exchanges.RecordedAnswer(
        **said.read(_OF_ANSWER),
        reported=tuple(reported),
        error=_read_error(said.optional_object("error")),
        left_out=0 if said.raw("left_out") is None else said.number("left_out"),
        dropped=() if said.raw("dropped") is None else said.texts("dropped"),
    )


def reported_lines(reported: Iterable[exchanges.ReportedPart]) -> bytes:
    """The parts that a host got, a line each.

    A field that JSON cannot represent, such as arguments with an infinite number, is replaced by what shows it, and the
    line says so with `"inexact": true`.
    """
    return b"".join(_reported_line(one) for one in reported)


def _reported_line(reported: exchanges.ReportedPart) -> bytes:
    part = part_json(reported.part)
    if find_non_json(part, "part") is None:
        return dumps({"at": reported.at, "part": part}) + b"\n"
    shown = {name: _as_json(value) for name, value in part.items()}
    return dumps({"at": reported.at, "part": shown, "inexact": True}) + b"\n"


def _as_json(value: Any) -> Any:
    if find_non_json(value, "value") is None:
        return value
    return {"shown": shorten(value)} if isinstance(value, Mapping) else shorten(value)


def read_reported(data: bytes, where: str) -> Iterator[exchanges.ReportedPart]:
    """The parts of their lines."""
    for number, line in enumerate(data.splitlines(), start=1):
        place = f"{where}, line {number}"
        said = read_object(line, place)
        try:
            yield exchanges.ReportedPart(said.time("at"), part_of_json(said.raw("part"), f"{place}, field 'part'"))
        except BundleContentError:
            raise
        except UnexpectedValueError as error:
            raise BundleContentError(error.where, error.got, error.expected) from error


# ---- Redaction ----


def redaction_json(redaction: exchanges.Redaction | None) -> dict[str, Any] | None:
    """What was replaced."""
    if redaction is None:
        return None
    counts = dict(sorted(redaction.counts.items()))
    return {"level": redaction.level.value, "counts": counts, "kept": list(redaction.kept)}


def read_redaction(said: JSONFields | None) -> exchanges.Redaction | None:
    """The redaction of its document."""
    if said is None:
        return None
    level = said.choice("level", exchanges.RedactionLevel)
    return exchanges.Redaction(level, said.count_by_name("counts"), said.texts("kept"))
