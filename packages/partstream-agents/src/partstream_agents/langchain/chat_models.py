"""Asks chat models and chains of LangChain: no loop, so the host's tools are the only ones, every call is the host's.

A chain begins with a prompt, which has variables: a place for messages gets the conversation, and the one variable
beside it the person's last words. A chain that begins with another step gets the last words too. What its last step
gives in pieces is the answer; objects, as of a parser of JSON, count when they are whole.
"""

from __future__ import annotations
import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from langchain_core.messages.ai import AIMessage, AIMessageChunk, add_ai_message_chunks
from langchain_core.runnables.base import RunnableBindingBase, RunnableSequence

from partstream.errors import ToolArgumentsError
from partstream.lm.messages import ToolMode
from partstream.lm.outputs import Unmapped
from partstream.lm.parts import TextPart, tool_call_part
from partstream.runtime.simple import user_request
from partstream_agents.adapter import AgentOutput, AgentRequest, ExternalCalls, KeptState, ResultObject
from partstream_agents.langchain import conversation
from partstream_agents.langchain.events import function_schema
from partstream_agents.langchain.messages import Nodes, StreamedMessages


class ChatModelAdapter:
    """Asks chat models; see :class:`partstream_agents.adapter.AgentAdapter`."""

    framework = "LangChain"
    tested = "langchain-core 1.0-1.8"
    errors = conversation.CHAT_MODEL_ERRORS

    async def run(self, agent: Any, request: AgentRequest) -> AsyncGenerator[AgentOutput, None]:
        """Asks a model once."""
        messages = _messages(request)
        model = _with_tools(agent, request)
        given = _input_of(model, messages, request)
        if model is agent and request.tools:
            yield Unmapped("host tools that the chat model does not take", {})
        spoken = StreamedMessages(answer_nodes=None, nodes={(): Nodes(has_messages=False)})
        # The provider's name, by which a package for models describes itself, as in the metadata of a graph.
        described: Any = getattr(agent, "_get_ls_params", dict)()
        metadata = {"ls_provider": described.get("ls_provider") if isinstance(described, dict) else None}
        chunks: list[Any] = []
        result: Any = None
        options = {} if isinstance(model, RunnableSequence) else request.model_options
        async with aclosing(model.astream(given, **options)) as stream:
            async for chunk in stream:
                conversation.stop_if_cancelled(asyncio.current_task())
                if isinstance(chunk, str):
                    yield TextPart(chunk)
                    continue
                if not isinstance(chunk, AIMessage):
                    result = chunk if result is None or not hasattr(result, "__add__") else result + chunk
                    continue
                chunks.append(chunk)
                for output in spoken.read((), chunk, metadata):
                    yield output
        for output in spoken.close_all():
            yield output
        if result is not None:
            yield ResultObject(result)
        for output in _calls_of(chunks, messages, spoken):
            yield output
        yield spoken.finish


def _calls_of(chunks: list[Any], messages: list[Any], spoken: StreamedMessages) -> list[AgentOutput]:
    """The calls of an answer, and its state.

    Raises:
        ToolArgumentsError: The arguments of a call are not whole.
    """
    if not chunks:
        return []
    first, *others = chunks
    # All at once, which takes linear time (core 1.x, `add_ai_message_chunks`).
    answer = add_ai_message_chunks(first, *others) if isinstance(first, AIMessageChunk) else chunks[-1]
    for invalid in answer.invalid_tool_calls:
        raise ToolArgumentsError(
            call_id=invalid.get("id"), name=invalid.get("name"), arguments=str(invalid.get("args") or "")
        )
    calls = tuple(tool_call_part(call.get("id") or "", call["name"], call["args"]) for call in answer.tool_calls)
    spoken.arguments.check(calls)
    kept = conversation.messages_as_json([*messages, answer]) if calls else None
    return [*([ExternalCalls(calls)] if calls else []), *([KeptState({"messages": kept})] if kept is not None else [])]


def _messages(request: AgentRequest) -> list[Any]:
    """The conversation: as the model said it if it is known, else as the host knows it."""
    kept = None if request.resumed is None else conversation.messages_from_json(request.resumed.get("messages"))
    if kept is None:
        return [*conversation.system_message(request), *conversation.messages_of(request.turns)]
    own = [message for message in kept if message.type != "system"]
    return [
        *conversation.system_message(request),
        *conversation.with_results(own, request.results, lambda _message: False),
    ]


def _input_of(model: Any, messages: list[Any], request: AgentRequest) -> Any:
    """What a model or a chain is given.

    Raises:
        ValueError: A chain wants more than a conversation.
    """
    first = model
    while isinstance(first, RunnableBindingBase | RunnableSequence):
        first = first.first if isinstance(first, RunnableSequence) else first.bound
    if hasattr(first, "bind_tools") or hasattr(first, "fallbacks"):
        return messages
    last = user_request(request.messages)
    if not hasattr(first, "input_variables"):
        return last
    places = [name for name in (*first.input_variables, *first.optional_variables) if name in first.input_types]
    texts = [name for name in first.input_variables if name not in places]
    if len(texts) > 1:
        raise ValueError(f"the prompt of the chain has the variables {', '.join(texts)}, expected one")
    return dict.fromkeys(places, messages[:-1] if texts else messages) | dict.fromkeys(texts, last)


def _with_tools(model: Any, request: AgentRequest) -> Any:
    """The model with the host's tools; the model itself if it cannot call any."""
    if not request.tools:
        return model
    if isinstance(model, RunnableSequence):
        *before, last = model.steps
        added = _with_tools(last, request)
        return model if added is last else RunnableSequence(*before, added)
    if isinstance(model, RunnableBindingBase) and "bind_tools" not in dir(type(model)):
        # a retry or a configuration, which stays
        return model.model_copy(update={"bound": _with_tools(model.bound, request)})
    if not hasattr(model, "bind_tools"):
        return model
    choice = {"tool_choice": "any"} if request.tool_mode is ToolMode.REQUIRED else {}
    try:
        return model.bind_tools([function_schema(tool) for tool in request.tools], **choice)
    except NotImplementedError:
        return model


ADAPTER: Final = ChatModelAdapter()
"""The adapter of chat models."""
