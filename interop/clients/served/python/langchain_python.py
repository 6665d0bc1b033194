"""Asks with LangChain's models: `langchain_python.py BASE_URL KEY WAY`."""

from __future__ import annotations
import sys
from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI
from lines import MOST_ROUNDS, Told, serve


def ask(way: str, base_url: str, key: str, trial: dict[str, Any], told: Told) -> None:
    """Streams, and runs the tools that the model calls."""
    tools = {one.name: one for one in (tool(told.weather), tool(told.time))}
    model: Any = MODELS[way](base_url, key, trial["model"])
    if trial["asks"] == "tools":
        model = model.bind_tools([*tools.values()])
    messages: list[Any] = [HumanMessage(trial["says"])]
    for _ in range(MOST_ROUNDS):
        message: Any = None
        chunks = model.stream(messages)
        for chunk in chunks:
            message = chunk if message is None else message + chunk
            if chunk.text and trial["asks"] == "leave":
                chunks.close()
                return
        _take(message, told)
        if not message.tool_calls:
            return
        messages.append(message)
        for call in message.tool_calls:
            messages.append(ToolMessage(tools[call["name"]].invoke(call["args"]), tool_call_id=call["id"]))


def _take(message: Any, told: Told) -> None:
    told.text = str(message.text)
    for block in message.content_blocks:
        if block["type"] == "reasoning":
            told.thinking += block.get("reasoning", "")
    usage = message.usage_metadata
    told.tokens = None if usage is None else [usage["input_tokens"], usage["output_tokens"]]


def _chat(base_url: str, key: str, model: str) -> ChatOpenAI:
    return ChatOpenAI(base_url=base_url, api_key=key, model=model, stream_usage=True, timeout=20)


def _responses(base_url: str, key: str, model: str) -> ChatOpenAI:
    reasoning = {"effort": "low", "summary": "auto"}
    return ChatOpenAI(
        base_url=base_url,
        api_key=key,
        model=model,
        use_responses_api=True,
        reasoning=reasoning,
        store=False,
        timeout=20,
    )


def _messages(base_url: str, key: str, model: str) -> ChatAnthropic:
    return ChatAnthropic(
        base_url=base_url, api_key=key, model=model, thinking={"type": "adaptive"}, max_tokens=4096, timeout=20
    )


def _gemini(base_url: str, key: str, model: str) -> ChatGoogleGenerativeAI:
    root = base_url.rpartition("/")[0]
    return ChatGoogleGenerativeAI(base_url=root, api_key=key, model=model, include_thoughts=True, timeout=20)


def _ollama(base_url: str, key: str, model: str) -> ChatOllama:
    headers = {"headers": {"authorization": f"Bearer {key}"}, "timeout": 20}
    return ChatOllama(base_url=base_url.removesuffix("/api"), model=model, reasoning=True, client_kwargs=headers)


MODELS = {"chat": _chat, "responses": _responses, "messages": _messages, "gemini": _gemini, "ollama": _ollama}

if __name__ == "__main__":
    url, given, chosen = sys.argv[1:]
    serve(lambda trial, told: ask(chosen, url, given, trial, told))
