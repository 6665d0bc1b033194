"""Reads with the package openai: the helpers that put a stream together."""

from __future__ import annotations
from typing import Any

from lines import arguments_of, serve
from openai import AsyncOpenAI

MESSAGES: Any = [{"role": "user", "content": "Hi"}]


async def chat(client: AsyncOpenAI, told: Any) -> None:
    options: Any = {"include_usage": True}
    async with client.chat.completions.stream(model="recorded", messages=MESSAGES, stream_options=options) as stream:
        async for event in stream:
            if event.type == "content.delta":
                told.text += event.delta
        final = await stream.get_final_completion()
    message = final.choices[0].message
    told.text = message.content or message.refusal or ""
    told.calls = [
        {"name": call.function.name, "input": arguments_of(call.function.arguments)}
        for call in message.tool_calls or ()
    ]
    if final.usage is not None:
        told.tokens = [final.usage.prompt_tokens, final.usage.completion_tokens]


async def responses(client: AsyncOpenAI, told: Any) -> None:
    async with client.responses.stream(model="recorded", input="Hi") as stream:
        async for event in stream:
            if event.type in {"response.output_text.delta", "response.refusal.delta"}:
                told.text += event.delta
        final = await stream.get_final_response()
    told.text = ""
    for item in final.output:
        if item.type == "message":
            told.text += "".join(one.text if one.type == "output_text" else one.refusal for one in item.content)
        elif item.type == "reasoning":
            told.thinking += "".join(one.text for one in (*(item.content or ()), *item.summary))
        elif item.type == "function_call":
            told.calls.append({"name": item.name, "input": arguments_of(item.arguments)})
    if final.usage is not None:
        told.tokens = [final.usage.input_tokens, final.usage.output_tokens]
    if final.error is not None:
        told.failed = f"{final.error.code}: {final.error.message}"


async def read(wire: str, url: str, told: Any) -> None:
    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
        await (responses if wire == "openresponses" else chat)(client, told)


serve(read)
