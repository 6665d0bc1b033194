"""Reads text, reasoning, files and sources of the AI SDK's chunks; knows no tool call and no end.

Text is shown as it comes, one block after the other: what comes of a block while an earlier one is open waits for the
end of that one. The texts of two steps are paragraphs. Of reasoning the whole text is kept as well, because providers
want it back with its signature, unchanged. Files come in every form in which the SDK and JSON write bytes; nothing is
fetched. Sources are shown by :mod:`partstream.conversation.citations`, each once.
"""

from __future__ import annotations
import re
from functools import partial
from typing import Any, Final, NamedTuple
from urllib.parse import unquote_to_bytes

from partstream.codec.checks import as_count
from partstream.codec.json_codec import JSONDecodeError, is_json, loads
from partstream.conversation.citations import Citation, Citations, linked_file
from partstream.conversation.media import type_of_file
from partstream.lm.outputs import CitationMode, EmitText, FileMode, StreamOptions, StreamOutput, Unmapped
from partstream.lm.parts import DataPart, text_part, thinking_part, unchecked_part
from partstream.protocols.ai_sdk import errors
from partstream.protocols.ai_sdk.provider_state import PROVIDER, REASONING, SUMMARY, CarriedItems
from partstream.protocols.calls import check_number
from partstream.protocols.files import read_base64
from partstream.protocols.read_response import OpenTexts, RecentText, emit_into

# ---- Blocks of text and reasoning ----

SIGNING_PROVIDER: Final = "anthropic"
"""Version 4 does not name the provider of the signatures that it streams; only Anthropic's models have any."""


class _Reasoning(NamedTuple):
    """A block of reasoning that is open."""

    id: str | None
    pieces: list[str]
    options: errors.Chunk


class Blocks:
    """The blocks of one response.

    Attributes:
        shown: Whether a part was given since the step began.
    """

    def __init__(self, options: StreamOptions, carried: CarriedItems, said: RecentText) -> None:
        self._carried = carried
        self._said = said
        self._emit_text = emit_into(said, text_part)
        self._hidden: dict[str | None, tuple[errors.Chunk, list[str]]] = {}
        self._reasoning: dict[str | None, _Reasoning] = {}
        self._texts = OpenTexts()
        self._waiting = self._texts.waiting  # a local name: a look-up less for each delta
        self._has_text = False
        self._breaks = False  # whether the next text is a paragraph of its own
        self.shown = False

    # Text

    def start_text(self, chunk: errors.Chunk, outputs: list[StreamOutput]) -> None:
        """Opens a block. The summary of a compacted conversation is no part of the answer."""
        self.end_unnamed(outputs)
        block_id = errors.identifier(chunk, errors.BLOCK_ID)
        self._end_hidden(block_id, outputs)
        if errors.is_summary(errors.metadata(chunk)):
            self._hidden[block_id] = chunk, []
        elif block_id is not None:
            self._texts.open(block_id)

    def push_text(self, chunk: errors.Chunk, outputs: list[StreamOutput]) -> EmitText | None:
        """Takes a delta; returns the fast path for more of the same block."""
        self.end_unnamed(outputs)
        block_id, delta = errors.identifier(chunk, errors.BLOCK_ID), errors.text(chunk, errors.TEXT)
        hidden = self._hidden.get(block_id)
        if hidden is not None:
            hidden[1].append(delta)
            return None
        if not delta:
            return None
        if self._waiting and block_id is not None and self._texts.holds(block_id, delta):
            return None
        self._show_text(delta, outputs)
        return self._emit_text

    def end_text(self, chunk: errors.Chunk, outputs: list[StreamOutput]) -> None:
        """Closes a block."""
        self.end_unnamed(outputs)
        block_id = errors.identifier(chunk, errors.BLOCK_ID)
        self._end_hidden(block_id, outputs)
        if block_id is not None:
            self._show_texts(self._texts.end(block_id), outputs)

    def end_step(self) -> None:
        """The next text is the one of another step."""
        self._breaks = self._has_text

    def _show_texts(self, pieces: list[str], outputs: list[StreamOutput]) -> None:
        for piece in pieces:
            self._show_text(piece, outputs)

    def _show_text(self, piece: str, outputs: list[StreamOutput]) -> None:
        if self._breaks:
            self._breaks = False
            piece = "\n\n" + piece.lstrip("\n")
        self._said.add(piece)
        self.shown = self._has_text = True
        outputs.append(text_part(piece))

    def _end_hidden(self, block_id: str | None, outputs: list[StreamOutput]) -> None:
        hidden = self._hidden.pop(block_id, None)
        if hidden is not None:
            chunk, pieces = hidden
            summary = "".join(pieces)
            # Without it the provider compacts again.
            carried = self._carried.add({"type": SUMMARY, "text": summary}, errors.metadata(chunk), block_id)
            outputs += carried or [Unmapped("text (compaction)", {**chunk, "text": summary})]

    # Reasoning

    def start_reasoning(self, chunk: errors.Chunk, outputs: list[StreamOutput]) -> None:
        """Opens a block."""
        block_id = errors.identifier(chunk, errors.BLOCK_ID)
        self._end_reasoning(block_id, outputs)
        errors.take_metadata(self._open(block_id).options, chunk)

    def push_reasoning(self, chunk: errors.Chunk, outputs: list[StreamOutput]) -> EmitText | None:
        """Takes a delta; returns the fast path for more of the same block."""
        block_id, delta = errors.identifier(chunk, errors.BLOCK_ID), errors.text(chunk, errors.TEXT)
        block = self._reasoning.get(block_id) or self._open(block_id)
        if errors.METADATA[0] in chunk:
            errors.take_metadata(block.options, chunk)
        if not delta:
            return None
        more = partial(self._show_reasoning, block)
        more(delta, outputs)
        return more

    def _show_reasoning(self, block: _Reasoning, piece: str, outputs: list[StreamOutput]) -> None:
        if self._carried.wanted:
            block.pieces.append(piece)
            self.shown = True
            outputs.append(thinking_part(piece, block.id))

    def end_reasoning(self, chunk: errors.Chunk, outputs: list[StreamOutput]) -> None:
        """Closes a block; what the provider wants back with it comes out as metadata."""
        block_id = errors.identifier(chunk, errors.BLOCK_ID)
        if (block := self._reasoning.get(block_id)) is not None:
            errors.take_metadata(block.options, chunk)
            self._end_reasoning(block_id, outputs)

    def sign(self, chunk: errors.Chunk, outputs: list[StreamOutput]) -> None:
        """`reasoning-signature`: version 4 signs the block that it closes with it."""
        block = self._reasoning.get(None) or self._open(None)
        block.options[SIGNING_PROVIDER] = {"signature": errors.field(chunk, ("signature",))}
        self._end_reasoning(None, outputs)

    def redact(self, chunk: errors.Chunk, outputs: list[StreamOutput]) -> None:
        """`redacted-reasoning`: a block of its own in version 4, which only its provider can read."""
        self._end_reasoning(None, outputs)
        self._open(None).options[SIGNING_PROVIDER] = {"redactedData": errors.field(chunk, ("data",))}
        self._end_reasoning(None, outputs)

    def end_unnamed(self, outputs: list[StreamOutput]) -> None:
        """Closes the block of version 4, which neither names nor closes its blocks: anything else ends it."""
        self._end_reasoning(None, outputs)

    def end_all(self, outputs: list[StreamOutput]) -> None:
        """Closes all open blocks."""
        for block_id in [*self._reasoning]:
            self._end_reasoning(block_id, outputs)
        for block_id in [*self._hidden]:
            self._end_hidden(block_id, outputs)
        self._show_texts(self._texts.end(), outputs)

    def _open(self, block_id: str | None) -> _Reasoning:
        check_number(len(self._reasoning) + 1)
        block = self._reasoning[block_id] = _Reasoning(block_id, [], {})
        return block

    def _end_reasoning(self, block_id: str | None, outputs: list[StreamOutput]) -> None:
        block = self._reasoning.pop(block_id, None)
        if block is not None:
            item = {"type": REASONING, "text": "".join(block.pieces)}
            outputs += self._carried.add(item, block.options, block.id)


# ---- Files ----

_BYTES: Final = ("uint8Array", "uint8ArrayData", "base64", "base64Data", "data", "url")
_WRAPPINGS: Final = 2
_MEDIA_TYPE: Final = "application/vnd.vercel.{}+json"
_DATA: Final = "data-"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&^_.-]*")
"""A name that a media type may hold: RFC 6838, 4.2."""


def file_part(chunk: errors.Chunk, mode: FileMode) -> StreamOutput:
    """The part of a file chunk; an Unmapped if neither bytes nor an address can be read."""
    file = errors.mapping(chunk, ("file",)) or chunk
    media_type = errors.identifier(file, errors.MEDIA_TYPE)
    for name in _BYTES:
        value = errors.field(file, (name,))
        # V4 of the provider's interface wraps: `{"type": "data", "data": …}` and `{"type": "url", "url": …}`; tagged
        # recordings do so too, also inside of that.
        for _ in range(_WRAPPINGS):
            inner = errors.field(value, ("$uint8array", "$url", "data", "url")) if isinstance(value, dict) else None
            value = value if inner is None else inner
        if value is None:
            continue
        address = value if isinstance(value, str) and value.startswith(("data:", "http://", "https://")) else None
        if address is not None and not address.startswith("data:"):
            return linked_file(address, mode) or Unmapped(f"{chunk['type']} (not readable)", chunk)
        data = _from_data_url(address) if address is not None else _bytes(value)
        if data is not None:
            # The stated media type; if it is missing or partial (`image/*`), the type that the first bytes show.
            named = media_type or (address or "").removeprefix("data:").partition(",")[0].partition(";")[0]
            is_whole = "/" in named and not named.endswith("/*")
            return unchecked_part(DataPart, data, type_of_file(data, named if is_whole else None))
    return Unmapped(f"{chunk['type']} (not readable)", chunk)


def data_part(chunk: errors.Chunk) -> StreamOutput:
    """The data part of a `data-NAME` chunk; an Unmapped if its name or value has no form."""
    name, value = chunk["type"].removeprefix(_DATA), chunk.get("data")
    if not _NAME.fullmatch(name) or not is_json(value):
        return Unmapped(chunk["type"], chunk)
    return DataPart.json(value, _MEDIA_TYPE.format(name))


def data_chunk(part: DataPart) -> errors.Chunk | None:
    """The `data-NAME` chunk of a part that came from one, or None."""
    before, after = _MEDIA_TYPE.split("{}")
    name = part.mime_type.removeprefix(before).removesuffix(after)
    if part.mime_type != _MEDIA_TYPE.format(name) or not _NAME.fullmatch(name):
        return None
    try:
        value = loads(part.data)
        is_whole = DataPart.json(value, part.mime_type) == part
    except (JSONDecodeError, TypeError):  # TypeError: a number such as 1e999, which reads as infinite
        return None
    return {"type": _DATA + name, "data": value} if is_whole else None


def _bytes(value: Any) -> bytes | None:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str):
        return read_base64(value) if value.strip() else b""
    if isinstance(value, dict):  # how JSON.stringify writes a Uint8Array: {"0": 137, "1": 80, …}
        value = [value.get(str(place)) for place in range(len(value))]
    if isinstance(value, list) and all(type(byte) is int and 0 <= byte < 256 for byte in value):
        return bytes(value)
    return None


def _from_data_url(url: str) -> bytes | None:
    head, comma, body = url.partition(",")
    data = unquote_to_bytes(body.encode(errors="replace")) if comma else None
    return data if data is None or not head.endswith(";base64") else _bytes(data.decode(errors="replace"))


# ---- Sources ----


class Sources:
    """The sources of one response, each shown once."""

    def __init__(self, options: StreamOptions, said: RecentText) -> None:
        self._citations = Citations(options.citations)
        self._said = said

    def source(self, chunk: errors.Chunk) -> list[StreamOutput]:
        """The outputs of a source chunk at its place."""
        # No version has a place for the span on the source itself; our own servers put it into their metadata.
        source = errors.mapping(chunk, ("source",)) or chunk
        return self._cite(source, errors.mapping(errors.metadata(source), (PROVIDER,)), chunk["type"])

    def of_text(self, chunk: errors.Chunk) -> list[StreamOutput]:
        """The outputs of a text block's citations at its end; version 7 states them beside the sources."""
        outputs: list[StreamOutput] = []
        for citation in errors.sequence(chunk, ("citations",)):
            if isinstance(citation, dict):
                outputs += self._cite(errors.mapping(citation, ("source",)) or citation, citation, "citation")
            else:
                outputs.append(Unmapped("citation", {"type": "citation", "value": citation}))
        return outputs

    def at_end(self) -> list[StreamOutput]:
        """The list of links at the end of the answer, if there is one to show."""
        return self._citations.at_end()

    def _cite(self, source: errors.Chunk, place: errors.Chunk, kind: str) -> list[StreamOutput]:
        # Tagged recordings write a JavaScript URL as `{"$url": …}`.
        tagged = errors.mapping(source, ("url",))
        url, source_id = (
            errors.identifier(source, ("url",)) or errors.identifier(tagged, ("$url",)),
            errors.identifier(source, errors.SOURCE_ID),
        )
        start, end = as_count(errors.field(place, ("startIndex",))), as_count(errors.field(place, ("endIndex",)))
        # As data every place is a citation of its own; as a link one is enough for all of them.
        positions = (start, end) if self._citations.mode is CitationMode.DATA else ()
        title, filename = errors.identifier(source, ("title",)), errors.identifier(source, ("filename",))
        citation = Citation(
            url=url,
            title=title,
            name=f"source:{'document' if url is None else 'url'}",
            data=source,
            source_id=source_id,
            filename=filename,
            media_type=errors.identifier(source, errors.MEDIA_TYPE),
            start=start,
            end=end,
            cited_text=errors.identifier(place, ("citedText",)),
        )
        if citation.payload is None:
            return [Unmapped(kind, source)]
        return self._citations.render(citation, self._said, (url or source_id, *positions))
