"""Asks with the package `google-genai`, whose automatic function calling runs the loop: `… BASE_URL KEY WAY`."""

from __future__ import annotations
import json
import sys
from typing import Any

from google import genai
from google.genai import types
from lines import MOST_ROUNDS, SCHEMAS, Told, serve


def stream(client: genai.Client, trial: dict[str, Any], told: Told) -> None:
    """`generate_content_stream`."""
    chunks = client.models.generate_content_stream(
        model=trial["model"], contents=trial["says"], config=_config(trial, told)
    )
    for chunk in chunks:
        _take(chunk, told)
        if told.text and trial["asks"] == "leave":
            chunks.close()
            return


def document(client: genai.Client, trial: dict[str, Any], told: Told) -> None:
    """`generate_content`."""
    _take(
        client.models.generate_content(model=trial["model"], contents=trial["says"], config=_config(trial, told)), told
    )


def interactions(client: genai.Client, trial: dict[str, Any], told: Told) -> None:
    """`interactions.create(stream=True)`, with a loop of the program."""
    steps: list[Any] = [{"type": "user_input", "content": [{"type": "text", "text": trial["says"]}]}]
    tools = [
        {"type": "function", "name": name, "description": f"The {name}.", "parameters": schema}
        for name, schema in SCHEMAS.items()
    ]
    for _ in range(MOST_ROUNDS):
        offered = {"tools": tools} if trial["asks"] == "tools" else {}
        stream = client.interactions.create(
            model=trial["model"],
            input=steps,
            stream=True,
            store=False,
            generation_config={"thinking_summaries": "auto"},
            **offered,
        )
        said: list[dict[str, Any]] = []
        for event in stream:
            _take_event(event, said, told)
            if told.text and trial["asks"] == "leave":
                stream.close()
                return
        steps += said
        calls = [step for step in said if step["type"] == "function_call"]
        if not calls:
            return
        for call in calls:
            arguments = json.loads(call.pop("text")) if "text" in call else {}
            call["arguments"] = arguments
            result = told.run(call["name"], arguments)
            steps.append({"type": "function_result", "call_id": call["id"], "name": call["name"], "result": result})


def _take_event(event: Any, said: list[dict[str, Any]], told: Told) -> None:
    """Adds an event to the steps of the model, and to what the client shows."""
    match event.event_type:
        case "step.start":
            said.append(event.step.model_dump(exclude_none=True))
        case "step.delta":
            delta = event.delta
            if delta.type == "text":
                told.text += delta.text
                said[-1].setdefault("content", []).append({"type": "text", "text": delta.text})
            elif delta.type == "thought_summary":
                told.thinking += delta.content.text
                said[-1].setdefault("summary", []).append({"type": "text", "text": delta.content.text})
            elif delta.type == "thought_signature":
                said[-1]["signature"] = delta.signature
            elif delta.type == "arguments_delta":
                said[-1]["text"] = said[-1].get("text", "") + delta.arguments
        case "interaction.completed":
            usage = event.interaction.usage
            made = (usage.total_output_tokens or 0) + (usage.total_thought_tokens or 0)
            told.tokens = [usage.total_input_tokens or 0, made]
        case "error":
            raise RuntimeError(event.error.message)


def _config(trial: dict[str, Any], told: Told) -> types.GenerateContentConfig:
    thinking = types.ThinkingConfig(include_thoughts=True)
    tools = [told.weather, told.time] if trial["asks"] == "tools" else None
    return types.GenerateContentConfig(thinking_config=thinking, tools=tools)


def _take(chunk: Any, told: Told) -> None:
    for candidate in chunk.candidates or []:
        for part in (candidate.content and candidate.content.parts) or []:
            if part.thought:
                told.thinking += part.text or ""
            else:
                told.text += part.text or ""
    if chunk.usage_metadata is not None:
        usage = chunk.usage_metadata
        made = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        told.tokens = [usage.prompt_token_count or 0, made]


WAYS = {"stream": stream, "document": document, "interactions": interactions}

if __name__ == "__main__":
    base_url, key, way = sys.argv[1:]
    root, _, version = base_url.rpartition("/")
    options = types.HttpOptions(base_url=root, api_version=version, timeout=20_000)
    asking = genai.Client(api_key=key, http_options=options)
    serve(lambda trial, told: WAYS[way](asking, trial, told))
