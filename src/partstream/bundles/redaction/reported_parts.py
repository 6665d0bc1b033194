"""The parts of an answer as its host got them, redacted by the same rules as the bytes that they came from."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from partstream.bundles.redaction.collecting import collect_value
from partstream.bundles.redaction.fragments import Meaning
from partstream.bundles.redaction.json_fields import FieldPath
from partstream.bundles.redaction.opaque import hidden_bytes
from partstream.bundles.redaction.texts import ValuePiece
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, text_part, thinking_part, tool_call_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from partstream.bundles.redaction.texts import BundleTexts, SplitText
    from partstream.lm.parts import ResponsePart

__all__ = ["PartTexts"]

_FREE: Final = "input"
_JSON: Final = ("json", "usage")
_LINKS: Final = "text/uri-list"
_TEXTS: Final = ("text/", "+xml", "/xml")


class PartTexts:
    """The texts of the parts of one answer.

    Args:
        parts: The parts, in order.
        texts: Takes their texts.
        name: What the answer is called, for people.
    """

    def __init__(self, parts: Iterable[ResponsePart], texts: BundleTexts, name: str) -> None:
        self._texts = texts
        self._name = name
        self._is_whole = True
        self._open: tuple[object, SplitText] | None = None
        self._made: list[Callable[[], ResponsePart]] = [self._collect(part) for part in parts]

    def replaced(self, *, whole: bool) -> tuple[ResponsePart, ...]:
        """The parts with what stands for their texts; `whole` says whether files are replaced too."""
        self._is_whole = whole
        return tuple(make() for make in self._made)

    def _collect(self, part: ResponsePart) -> Callable[[], ResponsePart]:
        if isinstance(part, TextPart):
            said = self._piece("text", "text", part.value)
            return lambda: text_part(said.text)
        if isinstance(part, ThinkingPart):
            return self._thinking(part)
        self._open = None
        return self._call(part) if isinstance(part, ToolCallPart) else self._data(part)

    def _piece(self, key: object, place: str, value: str) -> ValuePiece:
        """A piece of the text that goes on while parts of one kind follow each other."""
        piece = ValuePiece(value)
        if self._open is not None and self._open[0] == key:
            self._open[1].pieces.append(piece)
        else:
            self._open = key, self._texts.add(Meaning.TEXT, f"{self._name}: {place}", piece)
        return piece

    def _thinking(self, part: ThinkingPart) -> Callable[[], ResponsePart]:
        said = self._piece(("thinking", part.id), "thinking", part.value)
        item = self._alone(Meaning.ID, part.id)
        metadata = None if part.metadata is None else self._json(part.metadata, "metadata", FieldPath())
        return lambda: thinking_part(
            said.text, None if item is None else item.text, None if metadata is None else json.loads(metadata)
        )

    def _call(self, part: ToolCallPart) -> Callable[[], ResponsePart]:
        call_id = cast("ValuePiece", self._alone(Meaning.ID, part.call_id))
        name = cast("ValuePiece", self._alone(Meaning.TOOL, part.name))
        arguments = self._json(part.input, "arguments", FieldPath("input.", _FREE))
        return lambda: tool_call_part(call_id.text, name.text, json.loads(arguments))

    def _data(self, part: DataPart) -> Callable[[], ResponsePart]:
        kind = part.mime_type.lower()
        said = cast("ValuePiece", self._alone(Meaning.WORD, part.mime_type))
        make = self._content(part, kind)
        return lambda: replace(make(), mime_type=said.text)

    def _content(self, part: DataPart, kind: str) -> Callable[[], DataPart]:
        if kind.endswith(_JSON) and _is_json(part.data):
            data = bytearray(part.data)
            collect_value(self._texts, data, f"{self._name}: data")
            return lambda: replace(part, data=bytes(data))
        return self._bytes(part, is_text=any(one in kind for one in _TEXTS))

    def _bytes(self, part: DataPart, *, is_text: bool) -> Callable[[], DataPart]:
        """Bytes that nobody reads as JSON: text becomes text, everything else a file without its content."""
        try:
            said = part.data.decode()
        except UnicodeDecodeError:
            is_text = False
        if is_text:
            is_link = part.mime_type.lower() == _LINKS
            piece = ValuePiece(said)
            self._texts.add(Meaning.LINK if is_link else Meaning.TEXT, f"{self._name}: data", piece)
            return lambda: replace(part, data=piece.text.encode())
        searched = ValuePiece(part.data.decode("latin-1"))
        self._texts.add(Meaning.OPAQUE, f"{self._name}: data", searched)
        return lambda: replace(
            part, data=hidden_bytes(part.data) if self._is_whole else searched.text.encode("latin-1", errors="replace")
        )

    def _alone(self, meaning: Meaning, value: str | None) -> ValuePiece | None:
        if value is None:
            return None
        piece = ValuePiece(value)
        self._texts.add(meaning, f"{self._name}: {meaning}", piece)
        return piece

    def _json(self, value: Any, place: str, root: FieldPath) -> bytearray:
        data = bytearray(json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass"))
        collect_value(self._texts, data, f"{self._name}: {place}", root)
        return data


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data.decode())
    except ValueError:
        return False
    return True
