"""Asks chat models of LangChain: no loop, so the host's tools are the only ones, and every call is the host's."""

from __future__ import annotations
import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from langchain_core.messages.ai import AIMessageChunk, add_ai_message_chunks

from partstream.errors import ToolArgumentsError
from partstream.lm.messages import ToolMode
from partstream.lm.outputs import Unmapped
from partstream.lm.parts import tool_call_part
from partstream_agents.adapter import AgentOutput, AgentRequest, ExternalCalls, KeptState
from partstream_agents.langchain import conversation
from partstream_agents.langchain.events import function_schema
from partstream_agents.langchain.messages import StreamedMessages


class ChatModelAdapter:
    """Asks chat models; see :class:`partstream_agents.adapter.AgentAdapter`."""

    framework = "LangChain"
    tested = "langchain-core 1.0-1.7"
    errors = conversation.CHAT_MODEL_ERRORS

    async def run(self, agent: Any, request: AgentRequest) -> AsyncGenerator[AgentOutput, None]:
        """Asks a model once."""
        messages = _messages(request)
        model = _with_tools(agent, request)
        if model is agent and request.tools:
            yield Unmapped("host tools that the chat model does not take", {})
        spoken = StreamedMessages(answer_nodes=None, tool_nodes=())
        # The provider's name, by which a package for models describes itself, as in the metadata of a graph.
        described: Any = getattr(agent, "_get_ls_params", dict)()
        metadata = {"ls_provider": described.get("ls_provider") if isinstance(described, dict) else None}
        chunks: list[Any] = []
        async with aclosing(model.astream(messages, **request.model_options)) as stream:
            async for chunk in stream:
                conversation.stop_if_cancelled(asyncio.current_task())
                chunks.append(chunk)
                for output in spoken.read((), chunk, metadata):
                    yield output
        for output in spoken.close_all():
            yield output
        if chunks:
            first, *others = chunks
            # All at once, which takes linear time (core 1.x, `add_ai_message_chunks`).
            answer = add_ai_message_chunks(first, *others) if isinstance(first, AIMessageChunk) else chunks[-1]
            for invalid in answer.invalid_tool_calls:
                raise ToolArgumentsError(
                    call_id=invalid.get("id"), name=invalid.get("name"), arguments=str(invalid.get("args") or "")
                )
            calls = tuple(
                tool_call_part(call.get("id") or "", call["name"], call["args"]) for call in answer.tool_calls
            )
            spoken.arguments.check(calls)
            if calls:
                yield ExternalCalls(calls)
                if (kept := conversation.messages_as_json([*messages, answer])) is not None:
                    yield KeptState({"messages": kept})
        yield spoken.finish


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


def _with_tools(model: Any, request: AgentRequest) -> Any:
    """The model with the host's tools; the model itself if it cannot call any."""
    if not request.tools:
        return model
    choice = {"tool_choice": "any"} if request.tool_mode is ToolMode.REQUIRED else {}
    try:
        return model.bind_tools([function_schema(tool) for tool in request.tools], **choice)
    except NotImplementedError:
        return model


ADAPTER: Final = ChatModelAdapter()
"""The adapter of chat models."""
