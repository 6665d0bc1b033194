"""The one message of an answer, put together from deltas or said whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.outputs import StreamOutput, Unmapped
from partstream.protocols.chat_completions.citations import Sources
from partstream.protocols.chat_completions.images import Images
from partstream.protocols.chat_completions.texts import Texts
from partstream.protocols.chat_completions.thinking import REASONING_FIELDS, REASONING_LISTS, STATE_FIELDS, Thinking
from partstream.protocols.chat_completions.tool_calls import CompleteCall, ToolCalls
from partstream.protocols.read_response import Wire, mapping, objects

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.outputs import StreamOptions

__all__ = ["DELTA", "ELSEWHERE", "Message"]

_Outputs: TypeAlias = list[StreamOutput]


class Message:
    """The message of one answer.

    Args:
        options: How it is rendered.

    Attributes:
        thinking: Its thinking.
        texts: Its visible text.
        images: Its images.
        calls: Its tool calls.
        sources: Its sources.
    """

    __slots__ = ("_counted", "calls", "images", "sources", "texts", "thinking")

    def __init__(self, options: StreamOptions) -> None:
        self.thinking = Thinking(options)
        self.images = Images(options.files)
        self.texts = Texts(options, self.thinking, self.images)
        self.calls = ToolCalls()
        self.sources = Sources(options.citations)
        self._counted: set[str] = set()

    @property
    def is_empty(self) -> bool:
        """Whether no delta has brought anything."""
        return not (
            self.texts.any_shown or not self.thinking.said.is_empty or self.calls.any_open or self.images.any_shown
        )

    def delta(self, delta: Wire, outputs: _Outputs) -> None:
        """Reads a delta: thinking, then text, then calls."""
        self.thinking.read(delta, outputs)
        if not self.texts.is_settled and self.thinking.field is not None:
            self.texts.settle(outputs)
        for name, value in delta.items():
            if value and name not in DELTA and name not in ELSEWHERE:
                self.count(f"delta.{name}", {name: value}, outputs)
        for name, handler in DELTA.items():
            if (value := delta.get(name)) is not None:
                handler(self, value, outputs)

    def whole(self, message: Wire, outputs: _Outputs) -> None:
        """Reads a whole message: what no delta of it has brought."""
        self.thinking.read_whole(message, outputs)
        if not self.texts.is_settled and self.thinking.field is not None:
            self.texts.settle(outputs)
        self.texts.read_whole(message, outputs)
        self.sources.annotations(message, outputs)
        for image in objects(message, "images"):
            self.images.show(image, outputs)
        self.calls.message(objects(message, "tool_calls"), outputs)
        if not self.calls.any_open and (function := mapping(message, "function_call")):
            self.calls.delta([{"function": function}], outputs)

    def settle(self, outputs: _Outputs) -> None:
        """Emits what was held back."""
        self.texts.settle(outputs)

    def complete(self, response_id: str | None, outputs: _Outputs, *, is_cut: bool) -> list[CompleteCall]:
        """Ends the message and returns its calls.

        Args:
            response_id: The server's id of the response, or None.
            outputs: Where all that is left goes.
            is_cut: Whether a limit or a filter ended the answer.

        Raises:
            ToolArgumentsError: A call is not whole.
        """
        self.texts.settle(outputs)
        calls = self.calls.complete(response_id, is_cut=is_cut, outputs=outputs)
        self.sources.hand_out(self.texts.said, outputs)
        for call in calls:
            if call.extra is not None:
                self.thinking.state.add_extra(call.extra, call.call_id)
        self.thinking.finish(outputs, has_calls=bool(calls))
        return calls

    def count(self, name: str, data: Wire, outputs: _Outputs) -> None:
        """Counts what has no part, once for each name."""
        if name not in self._counted:
            self._counted.add(name)
            outputs.append(Unmapped(name, data))


def _show_images(message: Message, value: Any, outputs: _Outputs) -> None:
    for image in objects({"images": value}, "images"):
        message.images.show(image, outputs)


def _tool_calls(message: Message, value: Any, outputs: _Outputs) -> None:
    message.calls.delta(objects({"tool_calls": value}, "tool_calls"), outputs)


def _function_call(message: Message, value: Any, outputs: _Outputs) -> None:
    if isinstance(value, dict):
        message.calls.delta([{"index": 0, "function": value}], outputs)


def _annotations(message: Message, value: Any, outputs: _Outputs) -> None:
    message.sources.annotations({"annotations": value}, outputs)


def _extra_content(message: Message, value: Any, _outputs: _Outputs) -> None:
    if isinstance(value, dict):
        message.thinking.state.add_extra(value)


DELTA: Final[dict[str, Callable[[Message, Any, _Outputs], None]]] = {
    "content": lambda message, value, outputs: message.texts.content(value, outputs),
    "refusal": lambda message, value, outputs: message.texts.refusal(value, outputs),
    "audio": lambda message, value, outputs: message.texts.audio(value, outputs),
    "images": _show_images,
    "annotations": _annotations,
    "extra_content": _extra_content,
    "tool_calls": _tool_calls,
    "function_call": _function_call,
}
"""What is read of a delta behind its thinking, in this order. `function_call` is the older form of one call."""

_NOISE: Final = ("role", "logprobs", "channel", "token_id")
ELSEWHERE: Final = frozenset({*REASONING_FIELDS, *STATE_FIELDS, *REASONING_LISTS, *_NOISE})
"""The fields that thinking reads, and those that say nothing of the answer."""
