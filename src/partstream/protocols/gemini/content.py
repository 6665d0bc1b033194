"""The content of one answer: its parts, in the model's order (docs/wires/gemini.md#parts)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.outputs import CitationMode, ExecutedCode, StreamOptions, StreamOutput, ThinkingMode, Unmapped
from partstream.parts import TextPart, text_part, thinking_part, tool_call_part
from partstream.protocols.gemini.calls import ToolCalls
from partstream.protocols.gemini.carried_items import (
    CHECKSUM,
    FILE,
    GIVEN,
    PART,
    SIGNATURE,
    TEXT_LENGTH,
    TOOL_CALL_ID,
    usable_signature,
)
from partstream.protocols.gemini.carried_parts import CarriedParts
from partstream.protocols.gemini.executed_code import shown_code, shown_result
from partstream.protocols.gemini.files import inline_file, named_file
from partstream.protocols.gemini.shown_text import ShownText
from partstream.protocols.gemini.sources import SOURCE_FIELDS, Sources
from partstream.protocols.read_response import Wire, checksum, mapping, objects

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.protocols.gemini.calls import CompleteCall
    from partstream.protocols.gemini.envelope import Envelope

__all__ = ["MODIFIERS", "PARTS", "Content"]

_Outputs: TypeAlias = list[StreamOutput]


class Content:
    """The content of one answer.

    Args:
        options: How it is rendered.
        envelope: What is known of the answer as a whole.
    """

    __slots__ = (
        "_calls",
        "_carried",
        "_counted",
        "_envelope",
        "_files",
        "_options",
        "_said",
        "_sources",
    )

    def __init__(self, options: StreamOptions, envelope: Envelope) -> None:
        self._options = options
        self._envelope = envelope
        self._calls = ToolCalls()
        self._carried = CarriedParts(options.thinking)
        self._said = ShownText(keeps_all=options.citations is CitationMode.DATA)
        self._sources = Sources(options.citations)
        self._files = 0
        self._counted: set[str] = set()

    @property
    def has_calls(self) -> bool:
        """Whether the answer has calls that the client is to make."""
        return self._calls.count > 0

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The server's other facts about the content, by its names."""
        return self._sources.metadata

    def read(self, candidate: Wire, outputs: _Outputs) -> None:
        """Reads what a candidate adds to the content."""
        for part in objects(mapping(candidate, "content"), "parts"):
            self._read_part(part, outputs)
        if not SOURCE_FIELDS.isdisjoint(candidate):
            self._sources.read(candidate)

    def complete(self, outputs: _Outputs, *, is_cut: bool) -> None:
        """Ends the content.

        Args:
            outputs: Where all that is left goes.
            is_cut: Whether a limit or a filter ended the answer.

        Raises:
            ToolArgumentsError: A call is not whole.
        """
        self._sources.hand_out(self._said, outputs)
        calls = self._calls.release(self._envelope.response_id, is_end=True, is_cut=is_cut)
        self._hand_out(calls, outputs)

    def count(self, name: str, data: Wire, outputs: _Outputs) -> None:
        """Counts what has no part, once for each name."""
        if name not in self._counted:
            self._counted.add(name)
            outputs.append(Unmapped(name, data))

    def _read_part(self, part: Wire, outputs: _Outputs) -> None:
        for name, handler in PARTS.items():
            if name in part:
                handler(self, part, outputs)
                return
        if usable_signature(part.get(SIGNATURE)) is not None:  # Go proxies leave an empty text out
            self.text({"text": "", **part}, outputs)
        elif unknown := sorted(part.keys() - MODIFIERS):
            self.count(f"part:{unknown[0]}", part, outputs)

    # The parts; see PARTS

    def text(self, part: Wire, outputs: _Outputs) -> None:
        """A text, or a thought. An empty one may bear a signature."""
        value = part["text"] if isinstance(part["text"], str) else ""
        signature = usable_signature(part.get(SIGNATURE))
        if part.get("thought") is True:
            if value and self._options.thinking is not ThinkingMode.OFF:
                outputs.append(thinking_part(value))
            if signature is not None:
                self._carry({PART: part}, outputs)
            return
        self._show(value, outputs, is_said=True)
        if signature is not None:
            self._carry({**_shown_text(value), SIGNATURE: signature}, outputs)

    def function_call(self, part: Wire, outputs: _Outputs) -> None:
        """A call for the client, unless the server answers it."""
        signature = usable_signature(part.get(SIGNATURE))
        self._calls.take(mapping(part, "functionCall"), signature, outputs)

    def function_response(self, part: Wire, outputs: _Outputs) -> None:
        """The response to a call that the server made itself, such as one of an MCP server."""
        self._calls.answer(mapping(part, "functionResponse"))
        self.count("functionResponse", part, outputs)

    def inline_data(self, part: Wire, outputs: _Outputs) -> None:
        """A file. Images of thoughts are drafts."""
        if part.get("thought") is True:
            self.count("inlineData (of a thought)", part, outputs)
            return
        file = inline_file(mapping(part, "inlineData"))
        if file is None:
            self.count("inlineData (not readable)", part, outputs)
            return
        self._release(outputs)
        outputs.append(file)
        if (signature := usable_signature(part.get(SIGNATURE))) is not None:
            self._carry({FILE: self._files, SIGNATURE: signature}, outputs)
        self._files += 1

    def file_data(self, part: Wire, outputs: _Outputs) -> None:
        """The address of a file."""
        file = named_file(mapping(part, "fileData"), self._options.files)
        if isinstance(file, TextPart):
            self._show(file.value, outputs, is_said=False)
            self._carry({PART: part, **_shown_text(file.value)}, outputs)
        elif file is not None:
            self._release(outputs)
            outputs.append(file)
        else:
            self.count("fileData (no address for a link)", part, outputs)

    def executable_code(self, part: Wire, outputs: _Outputs) -> None:
        """Code that the server runs; never a call of the client."""
        self._show_and_carry(shown_code(mapping(part, "executableCode")), part, outputs)

    def code_execution_result(self, part: Wire, outputs: _Outputs) -> None:
        """What came out of it."""
        self._show_and_carry(shown_result(mapping(part, "codeExecutionResult")), part, outputs)

    def server_tool(self, part: Wire, outputs: _Outputs) -> None:
        """A call of a tool of the server, or its response."""
        self._carry({PART: part}, outputs)
        self.count(next(name for name in PARTS if name in part), part, outputs)

    # What all parts have in common

    def _carry(self, item: Wire, outputs: _Outputs) -> None:
        """Carries an item. Where it comes out is its place, so it waits for the calls before it."""
        self._carried.add(item)
        if not self._calls.any_held:
            self._carried.hand_out(outputs)

    def _show_and_carry(self, block: str, part: Wire, outputs: _Outputs) -> None:
        """Emits a block that stands for a part, unless it is not wanted, and carries the part."""
        if self._options.executed_code is ExecutedCode.OFF:
            block = ""
            self.count(next(name for name in PARTS if name in part), part, outputs)
        self._show(block, outputs, is_said=False)
        self._carry({PART: part, **_shown_text(block)}, outputs)

    def _show(self, value: str, outputs: _Outputs, *, is_said: bool) -> None:
        """Emits visible text.

        Args:
            value: The text; an empty one shows nothing.
            outputs: Where it goes.
            is_said: Whether the model said it.
        """
        if value:
            self._release(outputs)
            self._said.add(value, is_said=is_said)
            outputs.append(text_part(value))

    def _release(self, outputs: _Outputs) -> None:
        """Hands out the calls that were held back: what follows them is no response of the server."""
        if self._calls.any_held:
            self._hand_out(self._calls.release(self._envelope.response_id), outputs)

    def _hand_out(self, calls: list[CompleteCall], outputs: _Outputs) -> None:
        behind = self._carried.take()
        for call in calls:
            if call.is_given or call.signature is not None:
                signed = {} if call.signature is None else {SIGNATURE: call.signature}
                self._carried.add({TOOL_CALL_ID: call.call_id, GIVEN: call.is_given, **signed})
        self._carried.hand_out(outputs)
        prefix = self._options.call_id_prefix
        outputs += (tool_call_part(prefix + one.call_id, one.name, one.input) for one in calls)
        self._carried.add(*behind)
        self._carried.hand_out(outputs)


def _shown_text(value: str) -> Wire:
    """The fields of an item that say which text stands right before it."""
    return {TEXT_LENGTH: len(value)} | ({CHECKSUM: checksum(value)} if value else {})


PARTS: Final[Mapping[str, Callable[[Content, Wire, _Outputs], None]]] = {
    "functionCall": Content.function_call,
    "functionResponse": Content.function_response,
    "inlineData": Content.inline_data,
    "fileData": Content.file_data,
    "executableCode": Content.executable_code,
    "codeExecutionResult": Content.code_execution_result,
    "toolCall": Content.server_tool,
    "toolResponse": Content.server_tool,
    "text": Content.text,
}
"""What is read of a part, by its data field. `text` is last: proxies add an empty one to other parts."""

MODIFIERS: Final = frozenset(
    {
        "audioMetadata",
        "audioTranscription",
        "documentMetadata",
        "mediaProcessing",
        "mediaResolution",
        "partMetadata",
        "speechMetadata",
        "spreadsheetMetadata",
        "thought",
        SIGNATURE,
        "videoMetadata",
    }
)
"""The modifiers of docs/wires/gemini.md#parts."""
