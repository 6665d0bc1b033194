"""Says whether a request is one of Chat Completions: by the published types of the official client, and by what servers
demand beside them.

Source: `openai.types.chat.completion_create_params` and the `*_param` modules beside it, openai-python 2; what goes
beyond it is what the rows of servers name.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

FIELDS = {
    *("model", "messages", "stream", "stream_options", "tools", "tool_choice", "max_tokens", "max_completion_tokens"),
    *("temperature", "top_p", "presence_penalty", "frequency_penalty", "stop", "seed", "n", "logit_bias", "logprobs"),
    *("top_logprobs", "parallel_tool_calls", "reasoning_effort", "response_format", "prompt_cache_key", "store"),
    *("service_tier", "user", "verbosity", "metadata", "modalities", "audio", "prediction", "web_search_options"),
}
"""The fields of the published type."""

MESSAGE_FIELDS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal", "audio", "function_call"},
    "tool": {"role", "content", "tool_call_id"},
}
PART_FIELDS = {
    "text": {"type": "text", "text": str},
    "image_url": {"type": "image_url", "image_url": {"url": str}},
    "input_audio": {"type": "input_audio", "input_audio": {"data": str, "format": str}},
    "file": {"type": "file", "file": {"filename": str, "file_data": str}},
}
PARTS = {"system": {"text"}, "developer": {"text"}, "user": set(PART_FIELDS), "assistant": {"text"}, "tool": {"text"}}


def validate_request(body: Mapping[str, Any]) -> None:
    """Fails for a body that is not exactly what the official client could send."""
    assert set(body) <= FIELDS, f"unknown fields: {set(body) - FIELDS}"
    assert isinstance(body["model"], str)
    assert body["stream"] is True
    assert isinstance(body["messages"], list)
    for index, message in enumerate(body["messages"]):
        where = f"messages[{index}]"
        role = message["role"]
        assert set(message) <= MESSAGE_FIELDS[role], f"{where}: {set(message) - MESSAGE_FIELDS[role]}"
        _validate_content(message, where)
    for tool in body.get("tools", ()):
        assert set(tool) == {"type", "function"}
        assert set(tool["function"]) <= {"name", "description", "parameters"}
        assert isinstance(tool["function"]["parameters"], dict)
        assert tool["function"].get("description", "x")
    assert body.get("tools", True), "an empty list of tools"
    check_demands(body)


def _validate_content(message: Mapping[str, Any], where: str) -> None:
    role, content = message["role"], message["content"]
    if content is None:
        assert role == "assistant", where
        assert message["tool_calls"], where
        return
    if isinstance(content, str):
        return
    assert isinstance(content, list), where
    assert content, where
    for part in content:
        assert part["type"] in PARTS[role], f"{where}: {part['type']} from {role}"
        _validate_part(part, PART_FIELDS[part["type"]], where)


def _validate_part(value: Any, form: Any, where: str) -> None:
    if isinstance(form, dict):
        assert set(value) == set(form), where
        for name, inner in form.items():
            _validate_part(value[name], inner, f"{where}.{name}")
    elif isinstance(form, type):
        assert isinstance(value, form), where
    else:
        assert value == form, where


def check_demands(body: Mapping[str, Any]) -> None:
    """What servers demand of a conversation, whatever fields they have beside the published ones."""
    owed: list[str] = []
    used: list[str] = []
    for index, message in enumerate(body["messages"]):
        where = f"messages[{index}]"
        if message["role"] == "tool":
            assert message["tool_call_id"] in owed, f"{where}: no call directly before it"
            owed.remove(message["tool_call_id"])
            assert message["content"], f"{where}: an empty result"
            continue
        assert not owed, f"{where}: calls without a result directly behind them: {owed}"
        calls = message.get("tool_calls", ())
        assert message["content"] or calls, f"{where}: neither content nor calls"
        assert calls or "tool_calls" not in message, f"{where}: an empty list of calls"
        for call in calls:
            assert {"id", "type", "function"} <= set(call) <= {"id", "type", "function", "extra_content"}
            assert set(call["function"]) == {"name", "arguments"}
            assert isinstance(json.loads(call["function"]["arguments"]), dict), where
        owed = [call["id"] for call in calls]
        used += owed
    assert not owed, f"calls without a result: {owed}"
    assert len(set(used)) == len(used), "two calls share an id"
    names = [call["function"]["name"] for one in body["messages"] for call in one.get("tool_calls", ())]
    names += [tool["function"]["name"] for tool in body.get("tools", ())]
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names), names
