"""Tools that the model's provider runs by itself: their calls and results as the agent's inner activity.

Source: Agent Framework 1.23, `ContentType` and the constructors of `Content`.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_to_bytes

from partstream.agents.adapter import AgentFile
from partstream.agents.agent_framework.call_pieces import parsed
from partstream.inner_activity import InnerCall, InnerResult
from partstream.parts import TextPart
from partstream.protocols.citations import markdown_link

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.agents.adapter import AgentOutput

__all__ = ["HOSTED_CALLS", "HOSTED_RESULTS", "file_of", "hosted_call", "hosted_result", "plain"]

HOSTED_CALLS: Final = {
    "code_interpreter_tool_call": ("code_interpreter", ("inputs",)),
    "image_generation_tool_call": ("image_generation", ()),
    "mcp_server_tool_call": ("mcp", ("arguments",)),
    "search_tool_call": ("search", ("arguments",)),
    "shell_tool_call": ("shell", ("commands",)),
    "computer_tool_call": ("computer", ("actions",)),
}
"""By the kind of content: the name of the tool, and the fields with what it is asked."""
HOSTED_RESULTS: Final = {
    "code_interpreter_tool_result": ("code_interpreter", ("outputs",)),
    "image_generation_tool_result": ("image_generation", ("outputs",)),
    "mcp_server_tool_result": ("mcp", ("output",)),
    "search_tool_result": ("search", ("result", "items")),
    "shell_tool_result": ("shell", ("outputs",)),
    "shell_command_output": ("shell", ("stdout", "stderr")),
    "computer_tool_result": ("computer", ("screenshot",)),
}
"""By the kind of content: the name of the tool, and the fields with what came out of it."""
_DATA: Final = "data:"
_BASE64: Final = ";base64"


def hosted_call(content: Any, step: int) -> InnerCall:
    """A call, from a content of one of the kinds in :data:`HOSTED_CALLS`."""
    kind, fields = HOSTED_CALLS[content.type]
    name = content.tool_name or content.name or kind
    given = {field: plain(value) for field in fields if (value := getattr(content, field, None)) is not None}
    arguments = parsed(given["arguments"]) if "arguments" in given else given
    return InnerCall(str(content.call_id or content.image_id or ""), name, arguments, step)


def hosted_result(content: Any, step: int, name: str | None = None) -> list[AgentOutput]:
    """A result, from a content of one of the kinds in :data:`HOSTED_RESULTS`, and the files in it."""
    kind, fields = HOSTED_RESULTS[content.type]
    values = [value for field in fields if (value := getattr(content, field, None)) is not None]
    value = plain(values[0]) if len(values) == 1 else [plain(one) for one in values]
    is_error = bool(content.exception or content.exit_code or content.timed_out)
    call_id = str(content.call_id or content.image_id or "")
    result = InnerResult(call_id, name or kind, value or None, is_error, step)
    files = [file for one in _contents(values) if (file := file_of(one)) is not None]
    return [result, *files]


def file_of(content: Any) -> AgentFile | TextPart | None:
    """A file of the answer: its bytes, or a link to a file that stands elsewhere; None for a content that is none."""
    if getattr(content, "type", None) not in {"data", "uri"} or not content.uri:
        return None
    uri = str(content.uri)
    if not uri.startswith(_DATA):
        link = markdown_link(uri, uri.rstrip("/").rsplit("/", 1)[-1])
        return None if link is None else TextPart(f"\n\n{link}\n\n")
    head, _, body = uri[len(_DATA) :].partition(",")
    try:
        data = base64.b64decode(body) if head.endswith(_BASE64) else unquote_to_bytes(body)
    except binascii.Error:
        return None
    return AgentFile(data, content.media_type or head.removesuffix(_BASE64) or "application/octet-stream")


def plain(value: Any) -> Any:
    """A value with contents of the framework as JSON's types, for people: texts as texts, files by their kind."""
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    kind = getattr(value, "type", None)
    if not isinstance(kind, str):
        return value
    if value.text is not None:
        return value.text
    if kind in {"data", "uri"}:
        return f"({value.media_type or kind})"
    fields = ("stdout", "stderr", "message", "file_id", "exit_code", "result", "output")
    return {field: one for field in fields if (one := getattr(value, field, None)) is not None}


def _contents(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        yield from value if isinstance(value, list | tuple) else (value,)
