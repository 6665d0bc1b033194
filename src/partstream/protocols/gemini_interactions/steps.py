"""The steps of an interaction, by their index: what each kind shows, carries and hands out.

Source: docs/wires/gemini.md#interactions, and the types of `google-genai` 3.4.0 (`_gaos/types/interactions`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.json_codec import is_json
from partstream.conversation.reasoning import ITEMS, MOST_ITEMS
from partstream.errors import ToolArgumentsError
from partstream.outputs import StreamOptions, StreamOutput, ThinkingMode, Unmapped
from partstream.parts import text_part, thinking_part, tool_call_part
from partstream.protocols.citations import Citation, Citations, RecentText
from partstream.protocols.gemini.read_response import inline_file, named_file
from partstream.protocols.gemini_interactions.carried_items import ITEM_TYPE, SIGNATURE, STEP, TOOL_CALL_ID
from partstream.protocols.read_response import Wire, identifier, index, mapping, objects, read_arguments, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["DELTAS", "Steps"]

_Outputs: TypeAlias = list[StreamOutput]
_NOT_CARRIED: Final = f"step (more than {MOST_ITEMS} of one answer, or no JSON)"


class _Step:
    """A step that is open.

    Attributes:
        wire: The step as it began, with what deltas brought.
        kind: Its type.
        texts: The pieces of its summary, or of the arguments of a call.
    """

    __slots__ = ("kind", "texts", "wire")

    def __init__(self, wire: Wire) -> None:
        self.wire = dict(wire)
        self.kind = text(wire, "type")
        self.texts: list[str] = []


class Steps:
    """The steps of one interaction.

    Args:
        options: How they are rendered.

    Attributes:
        calls: The ids of the calls that were handed out.
        error: The first call that cannot be read, or None.
    """

    __slots__ = ("_citations", "_counted", "_items", "_open", "_options", "_said", "calls", "error")

    def __init__(self, options: StreamOptions) -> None:
        self._options = options
        self._open: dict[int | None, _Step] = {}
        self._items: list[dict[str, Any]] = []
        self._said = RecentText()
        self._citations = Citations(options.citations)
        self._counted: set[str] = set()
        self.calls: set[str] = set()
        self.error: ToolArgumentsError | None = None

    def start(self, event: Wire, outputs: _Outputs) -> None:
        """Opens a step, with what it says in its first state. A step of the same index ends."""
        place = index(event, "index")
        self._close(place, outputs)
        step = _Step(mapping(event, "step") or mapping(event, "content"))
        self._open[place] = step
        for content in objects(step.wire, "content"):
            self._delta(step, content, outputs)
        for content in objects(step.wire, "summary"):
            self._delta(step, {"type": "thought_summary", "content": content}, outputs)

    def delta(self, event: Wire, outputs: _Outputs) -> None:
        """Adds to a step; one that nobody opened opens."""
        place, delta = index(event, "index"), mapping(event, "delta")
        step = self._open.get(place)
        if step is None:
            step = self._open[place] = _Step({"type": _KIND_OF_DELTA.get(text(delta, "type"), text(delta, "type"))})
        self._delta(step, delta, outputs)

    def stop(self, event: Wire, outputs: _Outputs) -> None:
        """Closes a step: a call is whole now."""
        self._close(index(event, "index"), outputs)

    def whole(self, steps: list[Wire], outputs: _Outputs) -> None:
        """Takes all steps of a document."""
        for place, step in enumerate(steps):
            self.start({"index": place, "step": step}, outputs)
            self._close(place, outputs)

    def end(self, outputs: _Outputs) -> None:
        """Ends the answer. A call that nobody closed was cut off, and is none."""
        for place, step in list(self._open.items()):
            if step.kind != "function_call":
                self._close(place, outputs)
        outputs += self._citations.at_end()

    def _delta(self, step: _Step, delta: Wire, outputs: _Outputs) -> None:
        kind = text(delta, "type")
        reader = DELTAS.get(kind)
        if reader is not None:
            reader(self, step, delta, outputs)
        elif kind.endswith(("_call", "_result")):
            step.wire |= delta  # what the server runs comes whole, in its step or in a delta
        else:
            self._count(f"delta:{kind or 'unknown'}", delta, outputs)

    def _close(self, place: int | None, outputs: _Outputs) -> None:
        step = self._open.pop(place, None)
        if step is None:
            return
        if step.kind == "function_call":
            self._call(step, outputs)
        elif step.kind == "thought":
            summary = "".join(step.texts)
            said = {"summary": [{"type": "text", "text": summary}]} if summary else {}
            self._carry({STEP: {**step.wire, **said}}, outputs, is_wanted=bool(text(step.wire, SIGNATURE)))
        elif step.kind.endswith(("_call", "_result")):
            self._count(f"step:{step.kind}", step.wire, outputs)
            self._carry({STEP: step.wire}, outputs)
        elif step.kind not in _SHOWN:
            self._count(f"step:{step.kind or 'unknown'}", step.wire, outputs)

    def _call(self, step: _Step, outputs: _Outputs) -> None:
        call_id, name = identifier(step.wire, "id"), identifier(step.wire, "name")
        pieces = "".join(step.texts)
        said: Any = pieces if pieces.strip() else step.wire.get("arguments") or {}
        arguments = read_arguments(said)
        if call_id is None or name is None or arguments is None:
            expected = "a JSON object" if call_id and name else "an id and a name"
            self.error = self.error or ToolArgumentsError(
                call_id=call_id or "", name=name, arguments=str(said), expected=expected
            )
            return
        if call_id in self.calls:
            self._count("function_call (an id for the second time)", step.wire, outputs)
            return
        signature = text(step.wire, SIGNATURE)
        self._carry({TOOL_CALL_ID: call_id, SIGNATURE: signature}, outputs, is_wanted=bool(signature))
        self.calls.add(call_id)
        outputs.append(tool_call_part(self._options.call_id_prefix + call_id, name, arguments))

    def _carry(self, item: Mapping[str, Any], outputs: _Outputs, *, is_wanted: bool = True) -> None:
        """Hands an item out with all before it; only thinking parts can carry it."""
        if not is_wanted or self._options.thinking is not ThinkingMode.PART:
            return
        if len(self._items) == MOST_ITEMS or not is_json(item):
            outputs.append(Unmapped(_NOT_CARRIED, item))
            return
        self._items.append({"type": ITEM_TYPE, **item})
        outputs.append(thinking_part("", None, {ITEMS: list(self._items)}))

    def _count(self, name: str, data: Wire, outputs: _Outputs) -> None:
        if name not in self._counted:
            self._counted.add(name)
            outputs.append(Unmapped(name, data))

    # The deltas; see DELTAS

    def _text(self, _step: _Step, delta: Wire, outputs: _Outputs) -> None:
        if value := text(delta, "text"):
            self._said.add(value)
            outputs.append(text_part(value))
        self._annotations(_step, delta, outputs)

    def _summary(self, step: _Step, delta: Wire, outputs: _Outputs) -> None:
        if value := text(mapping(delta, "content"), "text"):
            step.texts.append(value)
            if self._options.thinking is not ThinkingMode.OFF:
                outputs.append(thinking_part(value))

    def _signature(self, step: _Step, delta: Wire, _outputs: _Outputs) -> None:
        step.wire[SIGNATURE] = text(step.wire, SIGNATURE) + text(delta, SIGNATURE)

    def _arguments(self, step: _Step, delta: Wire, _outputs: _Outputs) -> None:
        step.texts.append(text(delta, "arguments"))

    def _annotations(self, _step: _Step, delta: Wire, outputs: _Outputs) -> None:
        for cited in objects(delta, "annotations"):
            url = identifier(cited, "url") or identifier(cited, "document_uri")
            title = identifier(cited, "title") or identifier(cited, "file_name") or identifier(cited, "name")
            citation = Citation(url, title, f"annotation:{text(cited, 'type') or 'unknown'}", cited)
            outputs += self._citations.render(citation, self._said, url or title)

    def _file(self, _step: _Step, delta: Wire, outputs: _Outputs) -> None:
        blob = {"data": delta.get("data"), "mimeType": delta.get("mime_type")}
        file = inline_file(blob) or named_file({"fileUri": delta.get("uri")}, self._options.files)
        if file is None:
            self._count(f"{text(delta, 'type')} (not readable)", delta, outputs)
        else:
            outputs.append(file)


_SHOWN: Final = frozenset({"model_output", "user_input", "text"})
"""The kinds of steps that are no more than their content."""

DELTAS: Final[Mapping[str, Callable[[Steps, _Step, Wire, _Outputs], None]]] = {
    "text": Steps._text,  # noqa: SLF001 - the table of the class
    "thought_summary": Steps._summary,  # noqa: SLF001
    "thought_signature": Steps._signature,  # noqa: SLF001
    "arguments_delta": Steps._arguments,  # noqa: SLF001
    "text_annotation": Steps._annotations,  # noqa: SLF001
    "text_annotation_delta": Steps._annotations,  # noqa: SLF001
    **dict.fromkeys(("image", "audio", "document", "video"), Steps._file),  # noqa: SLF001
}
"""What is read of a delta, and of the content of a whole step, by its type."""

_KIND_OF_DELTA: Final = {
    **dict.fromkeys(("text", "text_annotation", "text_annotation_delta", "image", "audio"), "model_output"),
    **dict.fromkeys(("document", "video"), "model_output"),
    **dict.fromkeys(("thought_summary", "thought_signature"), "thought"),
    "arguments_delta": "function_call",
}
"""The step that a delta belongs to which no step was opened for."""
