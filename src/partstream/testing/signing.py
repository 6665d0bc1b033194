"""What the made-up models sign, so that a client can be caught that brings it back changed, or to the wrong place.

Opaque state travels in the metadata of thinking, in the forms in which the readers of answers give it: a signature of
the thinking and one of the first of several calls, as the models behind a gateway sign them, or the encrypted content
of a server that stores nothing, where a client asks for that. A writer takes what its wire has a place for.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import InvalidRequestError
from partstream.parts import ThinkingPart, ToolCallPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from partstream.messages import ChatMessage
    from partstream.outputs import Asked
    from partstream.testing.scenarios import Outputs

__all__ = ["check_signatures", "signature", "signed"]

_ITEMS: Final = "reasoning_items"


def signature(text: str) -> str:
    """What the made-up models sign `text` with; whoever has both can tell whether they belong together."""
    return base64.b64encode(hashlib.sha256(f"signed: {text}".encode(errors="surrogatepass")).digest()).decode()


def signed(outputs: Outputs, asked: Asked) -> Outputs:
    """The same answer with the model's state behind each run of thinking, and before the first of several calls."""
    encrypts = _ENCRYPTED in (asked.body.get("include") or ())
    state = _EncryptedState() if encrypts else _SignedState()
    thought: list[str] = []
    calling = False
    for output in outputs:
        if isinstance(output, ThinkingPart):
            thought.append(output.value)
        elif thought:
            yield state.of_thinking("".join(thought))
            thought = []
        if isinstance(output, ToolCallPart) and not calling:
            yield from state.of_call(output.call_id)
        calling = isinstance(output, ToolCallPart)
        yield output


_ENCRYPTED: Final = "reasoning.encrypted_content"
"""What a client says that it wants included."""


class _SignedState:
    """Signatures, as Anthropic's models give them for thinking and Google's for the first call."""

    def __init__(self) -> None:
        self._items: list[dict[str, Any]] = []

    def of_thinking(self, text: str) -> ThinkingPart:
        options = {"anthropic": {"signature": signature(text)}}
        return self._listing({"type": "reasoning", "text": text, "providerOptions": options})

    def of_call(self, call_id: str) -> Iterator[ThinkingPart]:
        options = {"google": {"thoughtSignature": signature(call_id)}}
        yield self._listing({"type": "tool-call", "toolCallId": call_id, "providerOptions": options})

    def _listing(self, item: dict[str, Any]) -> ThinkingPart:
        self._items.append(item)
        return ThinkingPart("", None, {_ITEMS: list(self._items)})


class _EncryptedState:
    """Something opaque for each run of thinking."""

    def __init__(self) -> None:
        self._items: list[dict[str, Any]] = []

    def of_thinking(self, text: str) -> ThinkingPart:
        item = {"encrypted_content": signature(text)}
        self._items.append(item)
        return ThinkingPart("", None, {**item, _ITEMS: list(self._items)})

    def of_call(self, call_id: str) -> Iterator[ThinkingPart]:
        return iter(())


def check_signatures(messages: Iterable[ChatMessage]) -> None:
    """Refuses what the model signed and the client changed.

    Raises:
        InvalidRequestError: A signature belongs to something else than what it stands beside.
    """
    for place, item in _items(messages):
        options = item.get("providerOptions")
        if not isinstance(options, Mapping):
            continue
        for provider, name, said in (
            ("anthropic", "signature", item.get("text")),
            ("google", "thoughtSignature", item.get("toolCallId")),
        ):
            given = options[provider].get(name) if isinstance(options.get(provider), Mapping) else None
            if given is not None and given != signature(str(said)):
                where = f"messages[{place}].{provider}.{name}"
                raise InvalidRequestError(where, "a signature of something else", "the one that came with it")


def _items(messages: Iterable[ChatMessage]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for place, message in enumerate(messages):
        for part in message.content:
            if isinstance(part, ThinkingPart) and part.metadata:
                listed = part.metadata.get(_ITEMS)
                for item in listed if isinstance(listed, list | tuple) else ():
                    if isinstance(item, Mapping):
                        yield place, item
