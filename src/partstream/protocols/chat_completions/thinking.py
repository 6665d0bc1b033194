"""Reads the thinking of an answer from its several fields (docs/wires/chat-completions.md#thinking-fields)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.outputs import StreamOutput, ThinkingMode, Unmapped
from partstream.parts import thinking_part
from partstream.protocols.chat_completions.carried_state import CarriedState
from partstream.protocols.read_response import EmittedPrefix, Wire, objects, text

if TYPE_CHECKING:
    from partstream.outputs import StreamOptions

__all__ = ["REASONING_FIELDS", "REASONING_LISTS", "STATE_FIELDS", "Thinking"]

REASONING_FIELDS: Final = ("reasoning_content", "reasoning", "reasoning_text", "cot_summary", "thinking")
"""The fields of text, in the order in which the first that is not empty is taken: some servers fill two alike.

`reasoning_content`: DeepSeek, Qwen, Moonshot, GLM, xAI, llama.cpp, SGLang. `reasoning`: OpenRouter, Groq, Cerebras,
Ollama, vLLM. `reasoning_text`: GitHub Copilot. `cot_summary`: Azure, through Copilot.
"""

REASONING_LISTS: Final = ("reasoning_details", "thinking_blocks")
"""The fields of lists: OpenRouter, MiniMax and Snowflake; LiteLLM."""

STATE_FIELDS: Final = ("reasoning_opaque", "cot_id", "signature")
"""The fields of state that go back beside a text field, as they came."""

_INNER: Final = ("text", "content", "summary")
"""Where an object in place of a text holds it."""


class Thinking:
    """The thinking of one answer.

    Args:
        options: Whether it is shown.

    Attributes:
        state: What the server wants back.
        field: The field that was shown last, or None.
        is_open: Whether thinking was the last thing that was said.
        said: What was emitted of it.
        empty_field: The first field of thinking that came and was empty, or None.
    """

    __slots__ = ("_closed_once", "_shows", "empty_field", "field", "is_open", "said", "state")

    def __init__(self, options: StreamOptions) -> None:
        self.state = CarriedState(options.thinking)
        self.field: str | None = None
        self.is_open = False
        self.said = EmittedPrefix()
        self._shows = options.thinking is not ThinkingMode.OFF
        self._closed_once = False
        self.empty_field: str | None = None

    def read(self, delta: Wire, outputs: list[StreamOutput]) -> None:
        """Shows the thinking of a delta once, in whichever of its fields it stands."""
        field, said = self._text_of(delta, outputs)
        detailed = "".join([self.state.details.add(one) for one in objects(delta, "reasoning_details")])
        blocked = "".join([self.state.blocks.add(one) for one in objects(delta, "thinking_blocks")])
        for name in STATE_FIELDS:
            if value := text(delta, name):
                self.state.pieces(name)[:] = [value]
        if field is not None:
            self.field = field
            self.show(said, outputs, self.state.pieces(field))
        elif self.field is None and (detailed or blocked):
            self.show(detailed or blocked, outputs)

    def read_whole(self, message: Wire, outputs: list[StreamOutput]) -> None:
        """Shows the thinking of a whole message, as far as no delta has."""
        if self.said.is_empty:
            self.read(message, outputs)
            return
        field, whole = self._text_of(message, outputs)
        if field is not None and self.said.begins(whole) and (missing := whole[self.said.length :]):
            self.show(missing, outputs, self.state.pieces(field))

    def show(self, thought: str, outputs: list[StreamOutput], kept: list[str] | None = None) -> None:
        """Emits a piece of thinking.

        Args:
            thought: The piece.
            outputs: Where it goes.
            kept: Where it is kept for the server, or None.
        """
        self.is_open = True
        self.said.add(thought)
        if kept is not None and self.state.wanted:
            kept.append(thought)
        if self._shows:
            outputs.append(thinking_part(thought))

    def close(self, outputs: list[StreamOutput]) -> None:
        """Text follows. The first time, what the server wants back goes out with the thinking that it belongs to."""
        if self.is_open:
            self.is_open = False
            if not self._closed_once:
                self._closed_once = True
                self.state.hand_out(outputs)

    def finish(self, outputs: list[StreamOutput], *, has_calls: bool) -> None:
        """The answer ends, or its calls follow: hands out what came late.

        A field of thinking that stayed empty goes back only with calls: DeepSeek refuses a turn with calls without it
        (docs/wires/chat-completions.md#sending-reasoning-back).
        """
        if has_calls and self.empty_field is not None and self.said.is_empty:
            self.state.pieces(self.empty_field)
        self.is_open = False
        self.state.hand_out(outputs)

    def _text_of(self, delta: Wire, outputs: list[StreamOutput]) -> tuple[str | None, str]:
        """The first field of thinking that is not empty, and its text; None and an empty text where there is none."""
        for name in REASONING_FIELDS:
            value = delta.get(name)
            said = _said(value)
            if said:
                return name, said
            if value == "":
                self.empty_field = self.empty_field or name
            elif value and said is None:
                outputs.append(Unmapped(f"delta.{name}", {name: value}))
        return None, ""


def _said(value: Any) -> str | None:
    """The text of a field of thinking; None where it holds none."""
    if isinstance(value, dict):
        value = next((value[name] for name in _INNER if isinstance(value.get(name), str)), None)
    return value if isinstance(value, str) else None
