"""The response object in events and documents, and the fields of the request that it repeats.

Source: OpenResponses specification 2026-04-24, `ResponseResource`, all of whose fields are required. A field of the
request with a value that the schema does not have is not repeated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.outputs import Finish, InboundRequest

__all__ = ["new_response", "written_usage"]


def new_response(asked: InboundRequest, response_id: str, created_at: int) -> dict[str, Any]:
    """A whole response without status, output and end."""
    body = asked.body
    return {
        "id": response_id,
        "object": "response",
        "created_at": created_at,
        "completed_at": None,
        "incomplete_details": None,
        "model": asked.model,
        "output": [],
        "error": None,
        "usage": None,
        **{name: echo.of(body.get(name)) for name, echo in _ECHOES.items()},
        **{name: repeat(body.get(name)) for name, repeat in _ECHOED_IN_OTHER_FORM.items()},
    }


def written_usage(finish: Finish) -> dict[str, Any] | None:
    """The usage in its form on the wire; None if input or output is unknown.

    The schema demands the details as well: those that are not known are 0.
    """
    usage = finish.usage
    if usage is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    read = {"cached_tokens": usage.cached_tokens or 0}
    if usage.cache_write_tokens is not None:
        read["cache_write_tokens"] = usage.cache_write_tokens  # OpenAI's own field
    total = usage.total_tokens
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": read,
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": usage.input_tokens + usage.output_tokens if total is None else total,
    }


class _Echo(NamedTuple):
    """The row of a request field that the response repeats.

    Attributes:
        types: The types that the schema of the response has for it.
        default: What stands there otherwise.
    """

    types: tuple[type, ...]
    default: Any = None

    def of(self, value: Any) -> Any:
        """The value in the response for a value of the request."""
        return value if type(value) in self.types else self.default


_NUMBER: Final = (int, float)

_ECHOES: Final[dict[str, _Echo]] = {
    "previous_response_id": _Echo((str,)),
    "instructions": _Echo((str,)),
    "max_output_tokens": _Echo((int,)),
    "max_tool_calls": _Echo((int,)),
    "safety_identifier": _Echo((str,)),
    "prompt_cache_key": _Echo((str,)),
    # Not nullable in the schema.
    "temperature": _Echo(_NUMBER, 1.0),
    "top_p": _Echo(_NUMBER, 1.0),
    "presence_penalty": _Echo(_NUMBER, 0.0),
    "frequency_penalty": _Echo(_NUMBER, 0.0),
    "top_logprobs": _Echo((int,), 0),
    "parallel_tool_calls": _Echo((bool,), True),
    "store": _Echo((bool,), True),
    "background": _Echo((bool,), False),
    "service_tier": _Echo((str,), "default"),
    "metadata": _Echo((dict,), {}),
}


def _tools(tools: Any) -> list[dict[str, Any]]:
    """The functions, each with all five fields, null or not; the schema has no other tools."""
    return [
        {"type": "function", "name": tool["name"]} | {name: echo.of(tool.get(name)) for name, echo in _OF_TOOLS.items()}
        for tool in _functions(tools)
    ]


def _functions(listed: Any) -> list[dict[str, Any]]:
    return [
        one
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, dict) and one.get("type") == "function" and isinstance(one.get("name"), str)
    ]


_OF_TOOLS: Final = {"description": _Echo((str,)), "parameters": _Echo((dict,)), "strict": _Echo((bool,))}
_MODES: Final = ("none", "auto", "required")


def _tool_choice(choice: Any) -> Any:
    if not isinstance(choice, dict):
        return choice if choice in _MODES else "auto"
    if _functions([choice]):
        return {"type": "function", "name": choice["name"]}
    if choice.get("type") != "allowed_tools":
        return "auto"
    allowed = [{"type": "function", "name": tool["name"]} for tool in _functions(choice.get("tools"))]
    mode = choice.get("mode")
    return {"type": "allowed_tools", "tools": allowed, "mode": mode if mode in _MODES else "auto"}


def _text(text: Any) -> dict[str, Any]:
    """The schema wants `schema: null` in the echo of a JSON schema format."""
    said = text if isinstance(text, dict) else {}
    wanted = said.get("format")
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    echo: dict[str, Any] = {"format": {"type": "json_object" if kind == "json_object" else "text"}}
    if isinstance(wanted, dict) and kind == "json_schema":
        name, description = _Echo((str,), "").of(wanted.get("name")), _Echo((str,)).of(wanted.get("description"))
        named = {"name": name, "description": description}
        echo["format"] = {"type": "json_schema", **named, "schema": None, "strict": wanted.get("strict") is True}
    return echo | {"verbosity": said["verbosity"]} if said.get("verbosity") in _VERBOSITIES else echo


_VERBOSITIES: Final = ("low", "medium", "high")


def _reasoning(reasoning: Any) -> dict[str, Any] | None:
    """Both fields or null."""
    if not isinstance(reasoning, dict):
        return None
    return {name: reasoning[name] if reasoning.get(name) in known else None for name, known in _OF_REASONING.items()}


_OF_REASONING: Final = {
    "effort": ("none", "low", "medium", "high", "xhigh"),
    "summary": ("concise", "detailed", "auto"),
}


def _truncation(truncation: Any) -> str:
    return "auto" if truncation == "auto" else "disabled"


_ECHOED_IN_OTHER_FORM: Final[dict[str, Callable[[Any], Any]]] = {
    "tools": _tools,
    "tool_choice": _tool_choice,
    "text": _text,
    "reasoning": _reasoning,
    "truncation": _truncation,
}
