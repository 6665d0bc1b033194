"""OpenResponses, beside the types of the package `openai`."""

from __future__ import annotations
from typing import Final

from interop.freshness.facts import Fact, Wire
from partstream.protocols.openresponses.errors import INCOMPLETE_REASONS
from partstream.protocols.openresponses.read_response import EVENTS, ITEMS

__all__ = ["WIRE"]

_TYPES: Final = "openai.types.responses"
_SERVER_TOOL: Final = "a tool that the server runs: its item is counted, and its steps say no more"
_NOT_OFFERED: Final = "a call of a kind of tool that no request of ours offers"
_OTHER_TERM: Final = "no term for all providers: the server's word is kept"

WIRE: Final = Wire(
    "openresponses",
    "openai",
    "pypi",
    (
        Fact(
            "an event",
            f"{_TYPES}:ResponseStreamEvent",
            "type",
            EVENTS,
            {
                "response.audio.*": "audio, which no request of ours asks for",
                "response.code_interpreter_call*": _SERVER_TOOL,
                "response.custom_tool_call_input.*": _NOT_OFFERED,
                "response.file_search_call.*": _SERVER_TOOL,
                "response.mcp_call*": _SERVER_TOOL,
                "response.mcp_list_tools.*": _SERVER_TOOL,
                "response.shell_call_*": _NOT_OFFERED,
                "response.web_search_call.*": _SERVER_TOOL,
            },
            {
                "keepalive": "the server of the package, which does not document it",
                "response.error": "gateways",
                "response.reasoning.*": "the specification",
                "response.reasoning_content.*": "gateways",
                "response.reasoning_summary.*": "a title of the specification's schema",
            },
        ),
        Fact(
            "an item of the output",
            f"{_TYPES}:ResponseOutputItem",
            "type",
            {*ITEMS},
            {
                "additional_tools": "tools that the server adds by itself",
                "apply_patch_call": _NOT_OFFERED,
                "code_interpreter_call": _SERVER_TOOL,
                "computer_call": _NOT_OFFERED,
                "custom_tool_call": _NOT_OFFERED,
                "file_search_call": _SERVER_TOOL,
                "local_shell_call": _NOT_OFFERED,
                "*_output": "what a tool returned: of ours it is in the request, of the server's own it is counted",
                "mcp_*": _SERVER_TOOL,
                "program": _SERVER_TOOL,
                "shell_call": _NOT_OFFERED,
                "tool_search_call": _SERVER_TOOL,
                "web_search_call": _SERVER_TOOL,
            },
        ),
        Fact(
            "a reason why a response is incomplete",
            f"{_TYPES}.response:IncompleteDetails.reason",
            "",
            INCOMPLETE_REASONS,
            {"max_messages": _OTHER_TERM, "steered": _OTHER_TERM},
        ),
        Fact("a part of a message", f"{_TYPES}:ResponseOutputMessage.content", "type"),
        Fact("an annotation", f"{_TYPES}:ResponseOutputText.annotations", "type"),
        Fact("the usage", f"{_TYPES}:ResponseUsage"),
        Fact("the response", f"{_TYPES}:Response"),
    ),
)
