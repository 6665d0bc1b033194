"""Asks as programs with Google's official Python package do: for chunks, with a chat, for a document.

Reads one job a line from standard input and writes one result a line; `interop/clients/jobs.py` describes both.
"""

from __future__ import annotations
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

import httpx2
from google import genai
from google.genai import errors, types

NO_FUNCTIONS = types.AutomaticFunctionCallingConfig(disable=True)


def main() -> None:
    """Runs the jobs in the mode that the second argument names, against the base URL in the first."""
    base_url, _, version = sys.argv[1].rpartition("/")
    options = types.HttpOptions(base_url=base_url, api_version=version, timeout=20_000)
    client = genai.Client(api_key="made-up", http_options=options)
    for line in sys.stdin:
        print(json.dumps(run(client, MODES[sys.argv[2]], json.loads(line))), flush=True)


def run(client: genai.Client, ask: Callable[..., Any], job: dict[str, Any]) -> dict[str, Any]:
    """The rounds of one job, and the error that ended it."""
    rounds: list[dict[str, Any]] = []
    try:
        if job["asks"] in DOCUMENTS:
            return {"told": DOCUMENTS[job["asks"]](client, job), "error": None}
        for chunks in ask(client, job):
            rounds.append(told(chunks))
    except (errors.APIError, httpx2.HTTPError) as error:
        return {"rounds": rounds, "error": described(error)}
    return {"rounds": rounds, "error": None}


def described(error: Exception) -> dict[str, Any]:
    """An error in the fields that programs look at."""
    return {
        "kind": type(error).__name__,
        "status": getattr(error, "code", None),
        "message": str(error),
        "code": getattr(error, "status", None),
    }


def config(job: dict[str, Any]) -> types.GenerateContentConfig:
    """The settings of a request, which asks for thoughts: the wire has none unasked."""
    fields = {name: value for name, value in job["body"].items() if name != "model"}
    thinking = types.ThinkingConfig(include_thoughts=True)
    return types.GenerateContentConfig(**fields, thinking_config=thinking, automatic_function_calling=NO_FUNCTIONS)


def responses(chunks: Iterable[Any]) -> list[types.Part]:
    """A response for each call."""
    return [
        types.Part(
            function_response=types.FunctionResponse(
                id=call.id, name=call.name, response={"output": f"{call.name} says yes"}
            )
        )
        for chunk in chunks
        for call in chunk.function_calls or []
    ]


def ask_for_chunks(client: genai.Client, job: dict[str, Any]) -> Any:
    """The chunks of a stream, whose parts go back as they came."""
    contents = list(job["messages"])
    for _ in range(3):
        chunks = list(
            client.models.generate_content_stream(model=job["body"]["model"], contents=contents, config=config(job))
        )
        yield chunks
        parts = [part for one in chunks for part in content_of(one).parts or []]
        answers = responses(chunks)
        if not answers:
            return
        contents += [types.Content(role="model", parts=parts), types.Content(role="user", parts=answers)]


def ask_in_chat(client: genai.Client, job: dict[str, Any]) -> Any:
    """A chat, which keeps the conversation itself."""
    chat = client.chats.create(model=job["body"]["model"], config=config(job))
    said: Any = [types.Part(**part) for part in job["messages"][0]["parts"]]
    for _ in range(3):
        chunks = list(chat.send_message_stream(said))
        yield chunks
        said = responses(chunks)
        if not said:
            return


def ask_for_document(client: genai.Client, job: dict[str, Any]) -> Any:
    """The answer in one document."""
    contents = list(job["messages"])
    for _ in range(3):
        response = client.models.generate_content(model=job["body"]["model"], contents=contents, config=config(job))
        yield [response]
        answers = responses([response])
        if not answers:
            return
        contents += [content_of(response), types.Content(role="user", parts=answers)]


def content_of(response: Any) -> types.Content:
    """The content of the first candidate; an empty one without."""
    found = response.candidates[0].content if response.candidates else None
    return found or types.Content(role="model", parts=[])


def told(chunks: list[Any]) -> dict[str, Any]:
    """An answer in the form that all clients are compared in."""
    parts = [part for one in chunks for part in content_of(one).parts or []]
    candidates = [one.candidates[0] for one in chunks if one.candidates]
    calls = [part.function_call for part in parts if part.function_call]
    finish = next((one.finish_reason for one in reversed(candidates) if one.finish_reason), None)
    usage = next((one.usage_metadata for one in reversed(chunks) if one.usage_metadata), None)
    return {
        "text": "".join(part.text or "" for part in parts if not part.thought),
        "thinking": "".join(part.text or "" for part in parts if part.thought),
        "calls": [{"id": call.id, "name": call.name, "input": call.args} for call in calls],
        "finish": None if finish is None else finish.value,
        "tokens": None if usage is None else tokens(usage),
        "sources": [source for one in candidates for source in sources(one.grounding_metadata)],
    }


def tokens(usage: Any) -> list[int]:
    """The tokens of the prompt and of the answer, of which thoughts are a part."""
    made = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    return [usage.prompt_token_count or 0, made]


def sources(grounding: Any) -> list[str]:
    """The addresses of the sources."""
    chunks = (grounding and grounding.grounding_chunks) or []
    return [(one.web or one.retrieved_context).uri for one in chunks]


def models(client: genai.Client, _job: dict[str, Any]) -> list[str]:
    """The names of all models."""
    return [one.name for one in client.models.list(config={"page_size": 1000})]


def count(client: genai.Client, job: dict[str, Any]) -> int:
    """The tokens of a request."""
    return client.models.count_tokens(model=job["body"]["model"], contents=job["messages"]).total_tokens


DOCUMENTS = {"models": models, "count": count}
MODES = {"chunks": ask_for_chunks, "chat": ask_in_chat, "document": ask_for_document}

if __name__ == "__main__":
    main()
