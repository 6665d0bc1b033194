"""Requests in the words that programs know: messages as dicts, options as keywords.

The dicts are the messages of Chat Completions, which the clients of most servers share; its folder reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict

from partstream.codec.checks import InvalidArgumentError, refuse
from partstream.errors import InvalidRequestError
from partstream.lm.messages import ChatMessage, RequestOptions, Tool, ToolMode
from partstream.protocols.protocol import PLAIN_MESSAGES, PROTOCOLS
from partstream.protocols.serve import WireRequest
from partstream.runtime.simple import UnknownKeywordError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ALSO_CALLED", "REQUEST_FIELDS", "Prompt", "RequestFields", "conversation_of", "options_with"]

Prompt: TypeAlias = str | Sequence[ChatMessage | Mapping[str, Any]]
"""What a model is asked: the user's text, or a conversation, oldest message first. A message is a
:class:`~partstream.ChatMessage` or a dict as Chat Completions has it: `{"role": "user", "content": "Hi"}`, where the
content is a text, or a list of parts such as `{"type": "text", "text": "Hi"}` and
`{"type": "image_url", "image_url": {"url": "data:image/png;base64,..."}}`."""


class RequestFields(TypedDict, total=False):
    """The options of one request, as keywords of :func:`ask` and of :meth:`~partstream.LanguageModelChat.ask`.

    Each goes to the server under the name that its protocol has for it, such as `max_output_tokens` for `max_tokens` in
    OpenResponses; an option that the protocol has no other name for goes as it is, and the server may refuse it.
    Options of one server alone go into `RequestOptions(model_options=...)`.

    Attributes:
        tools: The tools that the model may call.
        tool_mode: Whether it may or must call one.
        temperature: How much chance there is in the answer.
        top_p: The share of likely tokens that are chosen from.
        top_k: The number of likely tokens that are chosen from.
        max_tokens: The most tokens of the answer; `max_output_tokens` and `max_completion_tokens` mean the same.
        stop: The text, or the texts, at which the answer ends.
        seed: A number that makes answers repeatable, where the server can.
        presence_penalty: How much the model avoids tokens that were there before.
        frequency_penalty: How much it avoids those that were there often.
        response_format: The form of the answer, in the words of the server, such as `{"type": "json_object"}`.
        reasoning_effort: How long the model thinks, such as `low`.
        parallel_tool_calls: Whether the model may call several tools at once.
        user: Whom the request is for, as an id of the caller.
    """

    tools: Iterable[Tool]
    tool_mode: ToolMode
    temperature: float
    top_p: float
    top_k: int
    max_tokens: int
    max_output_tokens: int
    max_completion_tokens: int
    stop: str | Sequence[str]
    seed: int
    presence_penalty: float
    frequency_penalty: float
    response_format: Mapping[str, Any]
    reasoning_effort: str
    parallel_tool_calls: bool
    user: str


REQUEST_FIELDS: Final = tuple(RequestFields.__annotations__)
ALSO_CALLED: Final = {
    "max_new_tokens": "max_tokens",
    "num_predict": "max_tokens",
    "maxTokens": "max_tokens",
    "stop_sequences": "stop",
    "effort": "reasoning_effort",
    "reasoning": "reasoning_effort",
    "functions": "tools",
    "tool_choice": "tool_mode",
    "format": "response_format",
    "json": "response_format",
}
"""Other words for some options of a request."""
_PLACE: Final = re.compile(r"^messages\[(\d+)\]")
_MESSAGE: Final = (
    'a ChatMessage, such as ChatMessage.user("Hi"), or a dict of role and content, such as '
    '{"role": "user", "content": "Hi"}'
)


def options_with(
    options: RequestOptions, fields: Mapping[str, Any], given_to: str, known: Sequence[str] = REQUEST_FIELDS
) -> RequestOptions:
    """Options with those that were given as keywords, which win.

    Raises:
        UnknownKeywordError: There is no such keyword.
        InvalidArgumentError: A tool is none.
    """
    if not fields:
        return options
    for name in fields:
        if name not in REQUEST_FIELDS:
            raise UnknownKeywordError(name, tuple(known), given_to, ALSO_CALLED)
    tools, tool_mode = fields.get("tools", options.tools), fields.get("tool_mode", options.tool_mode)
    chosen = {name: value for name, value in fields.items() if name not in {"tools", "tool_mode"}}
    made = RequestOptions(tools, tool_mode, {**options.model_options, **chosen}, options.model_configuration)
    return replace(options, tools=made.tools, tool_mode=made.tool_mode, model_options=made.model_options)


def conversation_of(prompt: Prompt) -> Sequence[ChatMessage]:
    """The conversation of a prompt.

    Raises:
        InvalidArgumentError: The prompt is no text and no list of messages, or a dict among them is no message.
    """
    if isinstance(prompt, str):
        return [ChatMessage.user(prompt)]
    if isinstance(prompt, Mapping | ChatMessage | bytes) or not isinstance(prompt, Iterable):
        refuse("messages", prompt, f"a list or a tuple, each item {_MESSAGE}; or a text")
    return tuple(_messages(tuple(prompt)))


def _messages(given: Sequence[ChatMessage | Mapping[str, Any]]) -> Iterator[ChatMessage]:
    place = 0
    for is_plain, run in groupby(given, lambda one: isinstance(one, Mapping)):
        found = list(run)
        if is_plain:
            yield from _read([dict(one) for one in found if isinstance(one, Mapping)], place)
        for number, message in enumerate(() if is_plain else found):
            if not isinstance(message, ChatMessage):
                refuse(f"messages[{place + number}]", message, _MESSAGE)
            yield message
        place += len(found)


def _read(messages: list[dict[str, Any]], first: int) -> tuple[ChatMessage, ...]:
    """The messages of a run of dicts, of which the first has a place in the whole conversation."""
    corner = PROTOCOLS[PLAIN_MESSAGES].read_request
    if corner is None:
        raise AssertionError(f"{PLAIN_MESSAGES} reads no requests")
    try:
        asked = corner().read(WireRequest("", {"model": "", "messages": messages}))
    except InvalidRequestError as error:
        where = _PLACE.sub(lambda found: f"messages[{int(found[1]) + first}]", error.where)
        raise InvalidArgumentError(where, error.got, error.expected) from None
    for name in asked.unmapped:
        raise InvalidArgumentError("messages", f"a part in {name}", "parts of the types text, image_url and file")
    return asked.messages
