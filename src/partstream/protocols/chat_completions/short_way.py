"""The short way of the chunks that come by the thousand: a piece of text, of thinking, or of one call's arguments.

docs/decisions/0006-the-sink.md tells how it works. A sink takes a chunk only if the long way would do nothing else with
it: one choice, one delta, and nothing in either that says more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import make_event_decoder
from partstream.outputs import StreamOutput, ThinkingMode
from partstream.parts import text_part, thinking_part
from partstream.protocols.chat_completions.thinking import REASONING_FIELDS
from partstream.protocols.citations import FOLD_AT
from partstream.protocols.read_response import make_chunk_template

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.outputs import FastPath, StreamOptions
    from partstream.protocols.chat_completions.envelope import Envelope
    from partstream.protocols.chat_completions.message import Message
    from partstream.protocols.chat_completions.thinking import Thinking

__all__ = ["FREQUENT", "ChunkFastPath"]

FREQUENT: Final[Mapping[str, Mapping[str, str]]] = {"": {}}
"""Every chunk may come by the thousand, and its sink takes the bytes."""

_FIELDS: Final = {
    "choices": "choices",
    **{
        name: f"{name}?"
        for name in ("usage", "error", "object", "x_groq", "base_resp", "citations", "search_results", "provider")
    },
}
"""The fields of a chunk that the short way reads: the choices, and those that send a chunk the long way."""

_decode = make_event_decoder(None, "", _FIELDS)

_QUIET: Final = frozenset(
    {"delta", "logprobs", "content_filter_results", "content_filter_offsets", "matched_stop", "token_ids", "seed"}
)
"""The fields of a choice that may hold something without saying anything. An index of 0 holds nothing."""

_WATCHED: Final = frozenset(REASONING_FIELDS)


class ChunkFastPath:
    """Offers a sink for more of what a chunk brought.

    Args:
        options: How the answer is rendered.
        envelope: What is known of the answer as a whole.
        message: The message that the chunks fill.
    """

    __slots__ = ("_envelope", "_message", "_shows_thinking", "_text")

    def __init__(self, options: StreamOptions, envelope: Envelope, message: Message) -> None:
        self._envelope = envelope
        self._message = message
        self._shows_thinking = options.thinking is not ThinkingMode.OFF
        self._text: FastPath | None = None

    def after(self, choices: Any) -> FastPath | None:
        """The sink for more chunks like the one with these choices, or None."""
        if not self._envelope.is_known or type(choices) is not list or len(choices) != 1:
            return None
        delta = choices[0].get("delta") if type(choices[0]) is dict else None
        if type(delta) is not dict:
            return None
        thinking = self._message.thinking
        if delta.get("content"):
            if not self._message.texts.is_settled or thinking.is_open:
                return None
            self._text = self._text or self._text_sink()
            return self._text
        if thinking.field is not None and delta.get(thinking.field):
            return self._thinking_sink(thinking.field)
        return self._call_sink(delta.get("tool_calls"))

    def _text_sink(self) -> FastPath:
        said, thinking, envelope = self._message.texts.said, self._message.thinking, self._envelope
        pieces, add = said.pieces, said.pieces.append
        read, learn = make_chunk_template("content")

        def sink(chunk: bytes, outputs: list[StreamOutput]) -> bool:
            content = read(chunk)
            if content is None:
                content = _only(_decode(chunk), "content", thinking, envelope)
                if type(content) is not str:
                    return False
                learn(chunk, content)
            elif not content:
                return False
            add(content)
            if len(pieces) >= FOLD_AT:
                said.fold()
            outputs.append(text_part(content))
            return True

        return sink

    def _thinking_sink(self, field: str) -> FastPath:
        thinking, envelope, shows = self._message.thinking, self._envelope, self._shows_thinking
        said, kept = thinking.said, thinking.state.pieces(field) if thinking.state.wanted else []
        read, learn = make_chunk_template(field)

        def sink(chunk: bytes, outputs: list[StreamOutput]) -> bool:
            thought = read(chunk)
            if thought is None:
                thought = _only(_decode(chunk), field, thinking, envelope)
                if type(thought) is not str:
                    return False
                learn(chunk, thought)
            elif not thought:
                return False
            said.add(thought)
            kept.append(thought)
            if shows:
                outputs.append(thinking_part(thought))
            return True

        return sink

    def _call_sink(self, wires: Any) -> FastPath | None:
        place = wires[0].get("index") if type(wires) is list and len(wires) == 1 and type(wires[0]) is dict else None
        if type(place) is not int:
            return None
        call = self._message.calls.at(place)
        if call is None or call.is_named_again:
            return None
        thinking, envelope = self._message.thinking, self._envelope
        add = call.json.pieces.append
        read, learn = make_chunk_template("arguments")

        def sink(chunk: bytes, _outputs: list[StreamOutput]) -> bool:
            arguments = read(chunk)
            if arguments is None:
                arguments = _arguments_for(place, _only(_decode(chunk), "tool_calls", thinking, envelope))
                if arguments is None:
                    return False
                learn(chunk, arguments)
            if arguments:
                add(arguments)
            return True

        return sink


def _arguments_for(place: int, elements: Any) -> str | None:
    """The piece of arguments of the one element that goes on with the call at a place; None for any other.

    Raises:
        ValueError: There is not exactly one element, or it is of another form; also a KeyError or TypeError.
    """
    if elements is None:
        return None
    (element,) = elements
    if type(element["index"]) is not int or element["index"] != place or element.keys() & _OF_CALLS:
        return None
    function = element["function"]
    arguments = function["arguments"]
    return arguments if type(arguments) is str and not function.get("name") else None


def _only(event: Any, name: str, thinking: Thinking, envelope: Envelope) -> Any:
    """The value of a field of the delta of a chunk that says nothing else; None where the chunk needs the long way.

    Raises:
        ValueError: There is not exactly one choice, or what holds it is of another form; also a KeyError or TypeError.
    """
    if _says_more(event, envelope):
        return None
    (choice,) = event.choices
    delta = choice["delta"]
    if type(delta) is not dict:
        return None
    if len(delta) > 1:
        for key, value in delta.items():
            if value:
                if key != name and key != "role":  # noqa: PLR1714 - a tuple of them takes twice as long
                    return None
            elif value == "" and key in _WATCHED and thinking.empty_field is None:
                return None
    if any(value and key not in _QUIET for key, value in choice.items()):
        return None
    return delta[name] or None


def _says_more(event: Any, envelope: Envelope) -> bool:
    """Whether a chunk says anything beside its choices."""
    is_error = event.error or event.x_groq or event.base_resp or event.object == "error"
    reports = event.usage is not None or event.citations or event.search_results
    return bool(is_error or reports or (event.provider and envelope.provider is None))


_OF_CALLS: Final = frozenset({"id", "type", "extra_content"})
"""The fields of an element that only the long way reads: those of the first delta of a call, mostly."""
