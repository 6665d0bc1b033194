"""Asks as programs with the official Python package do: for chunks, with its helper, for a document.

Reads one job a line from standard input and writes one result a line; `interop/clients/jobs.py` describes both.
"""

from __future__ import annotations
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import openai


def main() -> None:
    """Runs the jobs in the mode that the second argument names, against the base URL in the first."""
    client = openai.OpenAI(base_url=sys.argv[1], api_key="made-up", max_retries=0, timeout=20)
    for line in sys.stdin:
        print(json.dumps(run(client, MODES[sys.argv[2]], json.loads(line))), flush=True)


def run(client: openai.OpenAI, ask: Callable[..., Any], job: dict[str, Any]) -> dict[str, Any]:
    """The rounds of one job, and the error that ended it."""
    rounds: list[dict[str, Any]] = []
    messages = list(job["messages"])
    try:
        while len(rounds) < 3:
            message, told = ask(client, {**job["body"], "messages": messages})
            rounds.append(told)
            if not told["calls"]:
                break
            messages += [message, *results(told["calls"])]
    except openai.OpenAIError as error:
        return {"rounds": rounds, "error": described(error)}
    return {"rounds": rounds, "error": None}


def described(error: openai.OpenAIError) -> dict[str, Any]:
    """An error in the fields that programs look at."""
    return {
        "kind": type(error).__name__,
        "status": getattr(error, "status_code", None),
        "message": str(error),
        "code": getattr(error, "code", None),
    }


def results(calls: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """A result for each call."""
    for call in calls:
        yield {"role": "tool", "tool_call_id": call["id"], "content": f"{call['name']} says yes"}


def ask_for_chunks(client: openai.OpenAI, body: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The chunks of a stream, joined as the reference tells programs to."""
    texts: dict[str, list[str]] = {"content": [], "reasoning_content": []}
    calls: dict[int, dict[str, Any]] = {}
    lists: dict[str, list[Any]] = {}
    finish, usage = None, None
    options = {"include_usage": True}
    for chunk in client.chat.completions.create(**body, stream=True, stream_options=options):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            finish = choice.finish_reason or finish
            delta = choice.delta.to_dict()
            for name, pieces in texts.items():
                pieces.append(delta.get(name) or "")
            for name in ("reasoning_details", "annotations", "images"):
                lists.setdefault(name, []).extend(delta.get(name) or [])
            for call in choice.delta.tool_calls or []:
                known = calls.setdefault(call.index, {"id": call.id, "name": call.function.name, "arguments": ""})
                known["arguments"] += call.function.arguments or ""
    said = {name: "".join(pieces) for name, pieces in texts.items()}
    functions = [
        {"id": one["id"], "type": "function", "function": {"name": one["name"], "arguments": one["arguments"]}}
        for one in calls.values()
    ]
    kept = {"role": "assistant", **said, "reasoning_details": lists.get("reasoning_details", [])}
    message = {**kept, "tool_calls": functions} if functions else kept
    return message, told({**message, **lists}, finish, usage)


def ask_with_helper(client: openai.OpenAI, body: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The helper `chat.completions.stream`, which joins the chunks itself."""
    options = {"include_usage": True}
    with client.chat.completions.stream(**body, stream_options=options) as stream:
        completion = stream.get_final_completion()
    return of_completion(completion)


def ask_for_document(client: openai.OpenAI, body: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The answer in one document."""
    return of_completion(client.chat.completions.create(**body))


def of_completion(completion: Any) -> tuple[Any, dict[str, Any]]:
    """The message to send back, as the package's own object, and what it says."""
    choice = completion.choices[0]
    return choice.message, told(choice.message.to_dict(), choice.finish_reason, completion.usage)


def told(message: dict[str, Any], finish: str | None, usage: Any) -> dict[str, Any]:
    """A message in the form that all clients are compared in."""
    functions = [(call["id"], call["function"]) for call in message.get("tool_calls") or []]
    return {
        "text": message.get("content") or "",
        "thinking": message.get("reasoning_content") or "",
        "calls": [
            {"id": call_id, "name": one["name"], "input": json.loads(one["arguments"])} for call_id, one in functions
        ],
        "finish": finish,
        "tokens": None if usage is None else [usage.prompt_tokens, usage.completion_tokens],
        "sources": [one["url_citation"]["url"] for one in message.get("annotations") or []],
    }


MODES = {"chunks": ask_for_chunks, "helper": ask_with_helper, "document": ask_for_document}

if __name__ == "__main__":
    main()
