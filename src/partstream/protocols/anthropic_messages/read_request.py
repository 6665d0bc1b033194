"""Reads a request of Anthropic Messages, as its server does.

What an answer depends on is read with care: the wrong type of it is refused with its place. A field that we do not know
is an option of the model, and goes on under its name; what a client wants of the server itself, and every block and
tool of an unknown type, is counted in :attr:`partstream.outputs.Asked.unmapped` and fails no request.

Source: `anthropic` 2.12.0, `types/message_create_params.py` and `types/beta/message_create_params.py`; what real
clients send beside it is in docs/wires/anthropic-messages.md#what-claude-code-sends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.messages import RequestOptions
from partstream.outputs import InboundRequest
from partstream.protocols.anthropic_messages.asked_messages import read_messages, read_system
from partstream.protocols.anthropic_messages.asked_options import read_thinking
from partstream.protocols.anthropic_messages.asked_tools import read_tools
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.read_request import Counts, checked, not_default, optional_text
from partstream.protocols.serve import RequestReaderSpec

if TYPE_CHECKING:
    from partstream.protocols.serve import WireRequest

__all__ = ["READ_REQUEST", "read_request"]


def read_request(request: WireRequest) -> InboundRequest:
    """What a request asks.

    Raises:
        InvalidRequestError: A field that the answer depends on has the wrong type, or a value that nothing here can do.
        RefusedRequestError: The client wants the server to remember the conversation.
    """
    body = request.body
    if body.get("thread") is not None:
        raise RefusedRequestError(_NO_THREADS, "thread", fields={"details": _UNSUPPORTED_THREAD})
    for name, (field_type, expected) in _TYPED_FIELDS.items():
        checked(body, name, field_type, expected)
    counts = Counts()
    system = read_system(body.get("system"), counts)
    messages = tuple(read_messages(body.get("messages"), counts))
    tools, tool_mode = read_tools(body, counts)
    effort, options = read_thinking(body)
    options |= {name: value for name, value in body.items() if name not in _READ_FIELDS and value is not None}
    if conversation := _conversation(request):
        options["_conversationId"] = conversation
    return InboundRequest(
        model=optional_text(body, "model"),
        messages=(*system, *messages),
        options=RequestOptions(tools, tool_mode, options, {"reasoningEffort": effort} if effort else {}),
        stream=body.get("stream") is True,
        unmapped={**not_default(body, _OF_THE_SERVER), **counts.numbers},
        body=body,
    )


_NO_THREADS: Final = "thread: this server remembers no conversation, expected all messages in each request"
_UNSUPPORTED_THREAD: Final = {"error_code": "thread_unsupported_request", "unsupported": ["thread"]}
"""What tells the official packages to send the whole conversation instead. Their `tool_runner` asks for a thread by
itself; to ignore that would lose what the person said, because its next request holds the results of tools alone
(`anthropic` 2.12.0, `lib/threads/_thread_state.py`)."""

_TYPED_FIELDS: Final[dict[str, tuple[type, str]]] = {
    "stream": (bool, "true or false"),
    "thinking": (dict, "an object with a type"),
    "output_config": (dict, "an object"),
    "metadata": (dict, "an object"),
    "context_management": (dict, "an object with edits"),
}
"""Fields that the answer depends on."""

_OF_THE_SERVER: Final[dict[str, Any]] = {
    "service_tier": "auto",
    "container": None,
    "inference_geo": None,
    "context_management": {"edits": []},
    "mcp_servers": [],
    "speed": "standard",
    "fallbacks": None,
    "fallback_credit_token": None,
    "diagnostics": None,
}
"""What a client wants of the server itself and not of a model, with the value that wants nothing."""

_READ_FIELDS: Final = frozenset(
    {
        "model",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "stream",
        "thinking",
        "output_config",
        "metadata",  # names the user, and of some clients the conversation
        "cache_control",  # a mark for the prompt cache says nothing of what is said
        *_OF_THE_SERVER,
    }
)
"""Fields that are no options of the model; all others are, under the names that they have here."""


def _conversation(request: WireRequest) -> str:
    """What the client calls the conversation: Claude Code says it in a header and in the name of the user."""
    for name in _SESSION_HEADERS:
        if request.headers.get(name):
            return request.headers[name]
    said = (request.body.get("metadata") or {}).get("user_id")
    try:
        user = loads(said) if isinstance(said, str) and said.startswith("{") else None
    except JSONDecodeError:
        return ""
    session = user.get("session_id") if isinstance(user, dict) else None
    return session if isinstance(session, str) else ""


_SESSION_HEADERS: Final = ("x-claude-code-session-id", "x-session-id")


READ_REQUEST: Final = RequestReaderSpec(read=read_request)
