"""Says whether what a server sends is valid by the published schema of OpenResponses."""

import re
from collections.abc import Mapping
from enum import EnumType
from typing import Any, get_args

import openresponses_types.types as schema
from pydantic import BaseModel

# The generated models take null for every optional field; the schema does not ("omitted, never null").
NEVER_NULL = {"encrypted_content", "logprobs", "phase", "verbosity", "annotations", "obfuscation", "headers"}


def _event_type(model: type[BaseModel]) -> str:
    constant = model.model_fields["type"].annotation
    if isinstance(constant, EnumType):
        (member,) = constant
        return str(member.value)
    (value,) = get_args(constant)
    return value


EVENT_MODELS = {
    _event_type(model): model
    for name, model in vars(schema).items()
    if name.endswith("StreamingEvent") and isinstance(model, type)
}


def validate_event(event: Mapping[str, Any]) -> None:
    assert event["type"] in EVENT_MODELS, f"{event['type']} is no event of the specification"
    EVENT_MODELS[event["type"]].model_validate(event)
    _refuse_nulls(event, event["type"])


def validate_response(response: Mapping[str, Any]) -> None:
    schema.ResponseResource.model_validate(response)
    _refuse_nulls(response, "response")


def _refuse_nulls(value: Any, where: str) -> None:
    if isinstance(value, Mapping):
        for name, child in value.items():
            assert child is not None or name not in NEVER_NULL, f"{where}.{name} is null"
            _refuse_nulls(child, f"{where}.{name}")
        assert value.get("type") != "reasoning" or value.get("content", ()) is not None, f"{where}.content is null"
    elif isinstance(value, list):
        for index, child in enumerate(value):
            _refuse_nulls(child, f"{where}[{index}]")


def validate_request(body: Mapping[str, Any]) -> None:
    """What the schema demands, and what servers demand beside it: every call has one result, behind it.

    The schema's models are asked for no more: what they would write has lost the parameters of the tools.
    """
    schema.CreateResponseBody.model_validate(body)
    calls = [item["call_id"] for item in body["input"] if item["type"] == "function_call"]
    assert len(calls) == len(set(calls)), "two calls share an id"
    waiting: set[str] = set()
    for item in body["input"]:
        if item["type"] == "function_call":
            waiting.add(item["call_id"])
        elif item["type"] == "function_call_output" and "previous_response_id" not in body:
            assert item["call_id"] in waiting, f"the result {item['call_id']} has no call before it"
            waiting.remove(item["call_id"])
    assert not waiting, f"calls without a result: {waiting}"
    names = [item["name"] for item in (*body["input"], *body.get("tools", ())) if "name" in item]
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)
