"""The conversation as messages of LangChain, kept messages as JSON, and the guard that stops a run.

The guard stops a run where LangChain would go on: before a model reads a placeholder, and after a cancellation.
Imports the classes of LangChain that the person's file has loaded. Shapes: core 1.x, `langchain_core.messages`; content
blocks of `langchain_core.messages.content`.
"""

from __future__ import annotations
import asyncio
import inspect
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)

from partstream.codec.json_codec import dumps, loads
from partstream.conversation.media import MediaKind
from partstream.conversation.turns import Attachment, Call, Result, Text, Turn, TurnRole
from partstream.runtime.client_failures import FailureKind
from partstream_agents.adapter import AgentRequest
from partstream_agents.langchain.events import HostCallsPending, has_placeholder
from partstream_agents.langchain.messages import ASKED_BY

INSTRUCTIONS_ID: Final = "partstream-instructions"
"""The id of the message with the host's instructions: newer ones take its place in a graph that keeps messages."""


def messages_of(turns: Iterable[Turn]) -> list[Any]:
    """The turns as messages, without the host's instructions."""
    return [message for turn in turns for message in _OF_ROLE[turn.role](turn)]


def system_message(request: AgentRequest) -> list[Any]:
    """The host's instructions as a message; none without instructions."""
    return [SystemMessage(content=request.instructions, id=INSTRUCTIONS_ID)] if request.instructions else []


def result_message(result: Result, message_id: str | None = None) -> Any:
    """The result of a tool; `message_id` is that of the message whose place it takes, such as a placeholder."""
    return ToolMessage(
        content=_content(result.content),
        tool_call_id=result.call_id,
        name=result.name,
        status="error" if result.is_error else "success",
        id=message_id,
    )


def with_results(messages: Sequence[Any], results: Mapping[str, Result], is_placeholder: Callable[[Any], bool]) -> Any:
    """Messages with the host's results in place of their placeholders, and after calls that have none."""
    placed = [
        result_message(results[message.tool_call_id], message.id)
        if is_placeholder(message) and getattr(message, "tool_call_id", None) in results
        else message
        for message in messages
    ]
    answered = {message.tool_call_id for message in placed if message.type == "tool"}
    return [*placed, *(result_message(result) for call_id, result in results.items() if call_id not in answered)]


def _assistant(turn: Turn) -> list[Any]:
    calls = [
        {"name": piece.name, "args": dict(piece.input), "id": piece.call_id, "type": "tool_call"}
        for piece in turn.content
        if isinstance(piece, Call)
    ]
    return [AIMessage(content=_content(turn.content), tool_calls=calls)]


_OF_ROLE: Final[Mapping[TurnRole, Callable[[Turn], list[Any]]]] = {
    TurnRole.SYSTEM: lambda turn: [SystemMessage(content=_content(turn.content))],
    TurnRole.USER: lambda turn: [HumanMessage(content=_content(turn.content, between="\n\n"))],
    TurnRole.ASSISTANT: _assistant,
    TurnRole.TOOL: lambda turn: [result_message(piece) for piece in turn.content if isinstance(piece, Result)],
}


def _content(pieces: Iterable[object], between: str = "") -> Any:
    """Texts and files as content: one text where there is nothing else, which every model takes."""
    shown = [piece for piece in pieces if isinstance(piece, Text | Attachment)]
    if all(isinstance(piece, Text) for piece in shown):
        return between.join(piece.value for piece in shown if isinstance(piece, Text))
    blocks: list[dict[str, Any]] = []
    for piece in shown:
        kind = "image" if isinstance(piece, Attachment) and piece.kind is MediaKind.IMAGE else "file"
        if isinstance(piece, Text):
            blocks.append({"type": "text", "text": piece.value})
        elif piece.url:
            blocks.append({"type": kind, "url": piece.url})
        else:
            data = b64encode(piece.data).decode("ascii")
            blocks.append({"type": kind, "base64": data, "mime_type": piece.media_type})
    return blocks


def messages_as_json(messages: Sequence[Any]) -> list[Any] | None:
    """The messages as JSON values; None where one holds what is no JSON, such as an object of a tool."""
    # An artifact is for programs beside the model, and may be any object.
    plain = [one.model_copy(update={"artifact": None}) if hasattr(one, "artifact") else one for one in messages]
    try:
        found = loads(dumps(messages_to_dict(plain)))
    except (TypeError, ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def messages_from_json(kept: Any) -> list[Any] | None:
    """The messages again; None for JSON of another form, such as of an older version."""
    if not isinstance(kept, list):
        return None
    try:
        return messages_from_dict(kept)
    except (KeyError, TypeError, ValueError):
        return None


# ---- The guard of a run ----


def stop_if_cancelled(task: asyncio.Task[Any] | None) -> None:
    """Cancels once more where a cancellation was lost.

    `asyncio.wait_for`, which langchain-openai puts around each chunk, loses one that comes together with a chunk
    (Python 3.11, cpython issue 86296).
    """
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


class RunGuard(AsyncCallbackHandler):
    """LangChain calls it before every request to a model and at every chunk of its response, also for nodes, tools and
    agents below.

    Its methods are coroutines, which LangChain awaits together with those of other handlers, so that one that raises
    leaves no other running.
    """

    raise_error = True

    def __init__(self, task: asyncio.Task[Any] | None) -> None:
        self._task = task
        self._is_closed = False

    def close(self) -> None:
        """Notes that the run is no longer read."""
        self._is_closed = True

    async def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        """Refuses a request to a chat model that holds a placeholder.

        Raises:
            HostCallsPending: It holds one.
        """
        del serialized, kwargs
        if any(has_placeholder(batch) for batch in messages):
            raise HostCallsPending

    async def on_llm_start(self, serialized: Any, prompts: Any, **kwargs: Any) -> None:
        """As :meth:`on_chat_model_start`, for a model that takes texts."""
        del serialized, kwargs
        if has_placeholder(prompts):
            raise HostCallsPending

    async def on_llm_new_token(self, token: Any, **kwargs: Any) -> None:
        """Ends the stream of a model that has lost the cancellation of its run.

        Raises:
            asyncio.CancelledError: The run was cancelled, or is no longer read.
        """
        del token, kwargs
        stop_if_cancelled(self._task)
        if self._is_closed:
            raise asyncio.CancelledError


_NOT_ASKING: Final = ("langchain_core", "partstream_agents")
"""Packages whose code lies between a request to a model and the code that makes it."""


class AskedBy(AsyncCallbackHandler):
    """Notes in the metadata of each request to a model which module makes it: nothing else tells the request of an
    agent from that of a middleware in the same node. LangGraph gives the same metadata with each chunk.

    LangChain awaits a handler that runs inline from where the request is made, so the caller is among its frames.
    """

    run_inline = True

    async def on_chat_model_start(
        self, serialized: Any, messages: Any, *, metadata: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        """Notes it."""
        del serialized, messages, kwargs
        frame = inspect.currentframe()
        while frame is not None:
            module = str(frame.f_globals.get("__name__", ""))
            if metadata is not None and module.partition(".")[0] not in _NOT_ASKING:
                metadata[ASKED_BY] = module
                return
            frame = frame.f_back


# ---- Errors ----

ERRORS: Final[Mapping[str, FailureKind]] = MappingProxyType(
    {
        "GraphRecursionError": FailureKind.LIMIT,
        "ModelCallLimitExceededError": FailureKind.LIMIT,
        "ToolCallLimitExceededError": FailureKind.LIMIT,
        "StructuredOutputError": FailureKind.MODEL,
        "OutputParserException": FailureKind.MODEL,
        "ToolInvocationError": FailureKind.TOOL,
        "ToolException": FailureKind.TOOL,
        "InvalidUpdateError": FailureKind.USAGE,
        "EmptyInputError": FailureKind.USAGE,
        # Clients of openai and anthropic (one tree of names), of google-genai, and of ollama.
        "APITimeoutError": FailureKind.TIMEOUT,
        "APIConnectionError": FailureKind.CONNECTION,
        "APIStatusError": FailureKind.HTTP,
        "APIError": FailureKind.HTTP,
        "ChatGoogleGenerativeAIError": FailureKind.HTTP,
        "ResponseError": FailureKind.HTTP,
    }
)
"""What an exception of a run means, by the name of its class or of a base class."""

CHAT_MODEL_ERRORS: Final[Mapping[str, FailureKind]] = MappingProxyType(
    {
        **ERRORS,
        # httpx, and sockets. Tools of an agent raise them too; a chat model has none.
        "TimeoutException": FailureKind.TIMEOUT,
        "TransportError": FailureKind.CONNECTION,
        "ConnectionError": FailureKind.CONNECTION,
    }
)
"""The same for a chat model that is asked by itself."""
