"""Asks as programs with the official Python package do: for events, with its helper, for a document.

Reads one job a line from standard input and writes one result a line; `interop/clients/jobs.py` describes both.
"""

from __future__ import annotations
import json
import sys
from collections.abc import Callable
from typing import Any

import anthropic


def main() -> None:
    """Runs the jobs in the mode that the second argument names, against the base URL in the first."""
    root = sys.argv[1].removesuffix("/v1")  # the package adds it
    client = anthropic.Anthropic(base_url=root, api_key="made-up", max_retries=0, timeout=20)
    for line in sys.stdin:
        print(json.dumps(run(client, MODES[sys.argv[2]], json.loads(line))), flush=True)


def run(client: anthropic.Anthropic, ask: Callable[..., Any], job: dict[str, Any]) -> dict[str, Any]:
    """What one job shows, and the error that ended it."""
    rounds: list[dict[str, Any]] = []
    messages = list(job["messages"])
    try:
        if job["asks"] != "answer":
            return {"told": DOCUMENTS[job["asks"]](client, {**job["body"], "messages": messages}), "error": None}
        while len(rounds) < 3:
            content, told = ask(client, {**job["body"], "messages": messages})
            rounds.append(told)
            if not told["calls"]:
                break
            messages += [{"role": "assistant", "content": content}, {"role": "user", "content": results(told["calls"])}]
    except Exception as error:
        return {"rounds": rounds, "error": described(error)}
    return {"rounds": rounds, "error": None}


def described(error: Exception) -> dict[str, Any]:
    """An error in the fields that programs look at."""
    return {
        "kind": type(error).__name__,
        "status": getattr(error, "status_code", None),
        "message": str(error),
        "code": getattr(error, "type", None),
    }


def results(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A result for each call."""
    return [{"type": "tool_result", "tool_use_id": call["id"], "content": f"{call['name']} says yes"} for call in calls]


def ask_for_events(client: anthropic.Anthropic, body: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The events of a stream, joined as the reference tells programs to."""
    content: list[dict[str, Any]] = []
    inputs: dict[int, str] = {}
    stop, usage = None, {}
    for event in client.messages.create(**body, stream=True):
        if event.type == "message_start":
            usage = event.message.usage.to_dict()
        elif event.type == "content_block_start":
            content.append(event.content_block.to_dict())
        elif event.type == "content_block_delta":
            add_delta(content[event.index], event.delta, inputs, event.index)
        elif event.type == "message_delta":
            stop = event.delta.stop_reason
            usage |= {name: count for name, count in event.usage.to_dict().items() if count is not None}
    for index, text in inputs.items():
        content[index]["input"] = json.loads(text or "{}")
    return content, told(content, stop, usage)


def add_delta(block: dict[str, Any], delta: Any, inputs: dict[int, str], index: int) -> None:
    """Adds a delta to its block."""
    if delta.type == "text_delta":
        block["text"] += delta.text
    elif delta.type == "thinking_delta":
        block["thinking"] += delta.thinking
    elif delta.type == "signature_delta":
        block["signature"] = delta.signature
    elif delta.type == "citations_delta":
        block.setdefault("citations", []).append(delta.citation.to_dict())
    elif delta.type == "input_json_delta":
        inputs[index] = inputs.get(index, "") + delta.partial_json


def ask_with_helper(client: anthropic.Anthropic, body: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The helper `messages.stream`, which joins the events itself."""
    with client.messages.stream(**body) as stream:
        return of_message(stream.get_final_message())


def ask_for_document(client: anthropic.Anthropic, body: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The answer in one document."""
    return of_message(client.messages.create(**body))


def of_message(message: Any) -> tuple[Any, dict[str, Any]]:
    """The content to send back, as the package's own objects, and what it says."""
    content = [block.to_dict() for block in message.content]
    return message.content, told(content, message.stop_reason, message.usage.to_dict())


def told(content: list[dict[str, Any]], stop: str | None, usage: dict[str, Any]) -> dict[str, Any]:
    """A message in the form that all clients are compared in."""
    prompt = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return {
        "text": "".join(block["text"] for block in content if block["type"] == "text"),
        "thinking": "".join(block["thinking"] for block in content if block["type"] == "thinking"),
        "calls": [
            {name: block[name] for name in ("id", "name", "input")} for block in content if block["type"] == "tool_use"
        ],
        "finish": stop,
        "tokens": [sum(usage.get(name) or 0 for name in prompt), usage.get("output_tokens")],
        "sources": [one["url"] for block in content for one in block.get("citations") or []],
    }


def count(client: anthropic.Anthropic, body: dict[str, Any]) -> int:
    """The tokens of a request."""
    return client.messages.count_tokens(**body).input_tokens


def models(client: anthropic.Anthropic, _body: dict[str, Any]) -> list[str]:
    """The ids of all models; the package turns the pages."""
    return [model.id for model in client.models.list(limit=4)]


def model(client: anthropic.Anthropic, body: dict[str, Any]) -> list[Any]:
    """The server's description of one model."""
    said = client.models.retrieve(body["model"])
    thinks = said.capabilities is not None and said.capabilities.thinking.types.adaptive.supported
    return [said.id, said.display_name, said.max_input_tokens, said.max_tokens, thinks]


MODES = {"events": ask_for_events, "helper": ask_with_helper, "document": ask_for_document}
DOCUMENTS = {"count": count, "models": models, "model": model}

if __name__ == "__main__":
    main()
