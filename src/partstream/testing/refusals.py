"""The requests that the scripted model refuses, as real servers do: changed signatures, calls without results, and
results without calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.provider_state import ITEMS
from partstream.devtools.testing.scripted_model import is_signature, needs_other_thinking, signature
from partstream.errors import InvalidRequestError
from partstream.lm.parts import ThinkingPart, ToolCallPart, ToolResultPart
from partstream.testing.vendors.vendor import SignedState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from partstream.lm.messages import ChatMessage
    from partstream.lm.outputs import InboundRequest
    from partstream.testing.vendors.vendor import ThoughtfulCall

__all__ = ["check_calls", "check_request", "check_signatures", "check_signed_state"]

_STORED: Final = "previous_response_id"
"""The field of a request that continues a stored response: its results may belong to calls in that response."""


def check_request(asked: InboundRequest) -> None:
    """Refuses invalid requests.

    Raises:
        InvalidRequestError: A call has no result, a result has no call, or a signature does not fit.
    """
    check_calls(asked.messages, stored=_STORED in asked.unmapped)
    check_signatures(asked.messages)


def check_calls(messages: Iterable[ChatMessage], *, stored: bool = False) -> None:
    """Refuses calls without a later result, and results without an earlier call.

    Args:
        messages: The conversation.
        stored: Whether the conversation continues a stored response, which may hold the calls.

    Raises:
        InvalidRequestError: A call has no result, or a result has no call.
    """
    waiting: dict[str, str] = {}
    for number, message in enumerate(messages):
        for place, part in enumerate(message.content):
            where = f"messages[{number}].content[{place}]"
            if isinstance(part, ToolResultPart):
                if waiting.pop(part.call_id, None) is None and not stored:
                    raise InvalidRequestError(where, f"a result of {part.call_id!r}", "a call before it")
            elif isinstance(part, ToolCallPart):
                waiting[part.call_id] = where
    for call_id, where in waiting.items():
        raise InvalidRequestError(where, f"the call {call_id!r} without a result", "a result behind it")


def check_signatures(messages: Iterable[ChatMessage]) -> None:
    """Refuses signatures that do not belong to the text or call id beside them.

    Raises:
        InvalidRequestError: A signature does not fit.
    """
    for number, item in _items(messages):
        options = item.get("providerOptions")
        for provider, name, said in _SIGNED:
            beside = options.get(provider) if isinstance(options, Mapping) else None
            given = beside.get(name) if isinstance(beside, Mapping) else None
            if given is not None and given != signature(str(item.get(said))):
                where = f"messages[{number}].{provider}.{name}"
                raise InvalidRequestError(where, "a signature of something else", "the one that came with it")


def check_signed_state(brought: Iterable[SignedState | ThoughtfulCall], model: str) -> None:
    """Refuses what a request brings back under a wrong signature, and calls without the thinking that led to them.

    Args:
        brought: What it brings back.
        model: The model that is asked.

    Raises:
        RefusedRequestError: In the words of the protocol's servers.
    """
    for one in brought:
        if _is_forged(one) if isinstance(one, SignedState) else _lacks_thinking(one, model):
            raise one.refusal


def _is_forged(state: SignedState) -> bool:
    if state.signed is None:
        return not is_signature(state.signature)
    return state.signature != signature(state.signed)


def _lacks_thinking(call: ThoughtfulCall, model: str) -> bool:
    return needs_other_thinking(call.call_id, model, call.signatures)


_SIGNED: Final = (("anthropic", "signature", "text"), ("google", "thoughtSignature", "toolCallId"))
"""The provider, the name of its signature, and the signed field of the item."""


def _items(messages: Iterable[ChatMessage]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The items in the metadata of thinking, each with the number of its message."""
    for number, message in enumerate(messages):
        for part in message.content:
            listed = part.metadata.get(ITEMS) if isinstance(part, ThinkingPart) and part.metadata else None
            for item in listed if isinstance(listed, list | tuple) else ():
                if isinstance(item, Mapping):
                    yield number, item
